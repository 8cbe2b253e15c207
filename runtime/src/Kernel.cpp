//===- Kernel.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "ArgumentRules.h"
#include "Engine.h"
#include "Failure.h"
#include "KernelEntry.h"
#include "KernelState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

KernelState::~KernelState() = default;

llvm::Error checkLimits(const KernelInfo &info) {
  if (info.arguments.size() > KernelInfo::kMaxArguments)
    return createStringError(
        formatv("the kernel has {0} arguments, over the limit of {1}",
                info.arguments.size(), KernelInfo::kMaxArguments));
  for (const KernelInfo::Entry &entry : info.entries)
    if (entry.params.size() > kMaxParams)
      return createStringError(
          formatv("entry '{0}' has {1} parameters, over the limit of {2}",
                  entry.symbol, entry.params.size(), kMaxParams));
  if (info.workspace.size() > Workspace::kMaxBuffers)
    return createStringError(
        formatv("the kernel has {0} workspace buffers, over the limit of {1}",
                info.workspace.size(), Workspace::kMaxBuffers));
  return llvm::Error::success();
}

Kernel::Kernel(std::unique_ptr<KernelState> loaded)
    : state(std::move(loaded)), description(state->info),
      rules(std::make_shared<ArgumentRules>(description)) {}
Kernel::~Kernel() = default;

const std::shared_ptr<const KernelInfo> &Kernel::info() const {
  return description;
}
const std::vector<StageTime> &Kernel::compileTimes() const {
  return state->times;
}
KernelOrigin Kernel::origin() const { return state->origin; }
const std::string &Kernel::digest() const { return state->digest; }
size_t Kernel::codeBytes() const { return state->codeBytes; }
size_t Kernel::deviceBytes() const { return state->deviceBytes; }

llvm::Expected<std::string> Kernel::stage(std::string_view name) const {
  std::vector<std::string_view> stages;
  if (state->entry)
    stages = stagesOf(*state->entry);
  if (llvm::is_contained(stages, name))
    return readStage(*state->entry, name);
  if (!state->report.empty()) {
    stages.push_back(toString(Stage::Report));
    if (name == stages.back())
      return state->report;
  }
  return invalid(ofArgument("stage"), "requires one of {0}, but got '{1}'",
                 stages.empty() ? "none (a kernel of MLIR text)"
                                : llvm::join(stages, ", "),
                 name);
}

int Kernel::numWorkers() const { return state->numWorkers(); }
size_t Kernel::workspaceAlignment() const { return state->alignment(); }

std::string_view Kernel::variant(int64_t batch, int64_t totalQueries) const {
  const KernelInfo &info = *state->info;
  auto paired = llvm::find_if(
      info.entries, [](const auto &entry) { return entry.launch.cluster > 1; });
  if (paired == info.entries.end())
    return "only";
  bool isUniform = info.find("q_offsets") < 0;
  int64_t workers = int64_t(numWorkers()) * paired->launch.ctasPerWorker;
  return isUniform && batch > 0 &&
                 info.hasPairs(batch, totalQueries / batch, workers)
             ? "paired"
             : "single";
}

int64_t Kernel::workersOf(const Arguments &arguments) const {
  return state->workspaceWorkers(arguments.maxWorkers());
}

size_t Kernel::workspaceBytes(const Arguments &arguments) const {
  return layOutWorkspace(*state->info, arguments, workersOf(arguments),
                         state->alignment(), nullptr, arguments.givenPlan())
      .bytes;
}

size_t Kernel::workspaceBound(int64_t batch, int64_t totalQueries,
                              int64_t maxSplits, WorkspacePart part) const {
  return mla_jit::workspaceBound(*state->info, part, batch, totalQueries,
                                 maxSplits, state->workspaceWorkers(),
                                 state->alignment());
}

/// Checks memory that a launch writes to, or reads.
static llvm::Error checkMemory(const char *name, const void *memory,
                               size_t given, size_t needed, size_t alignment) {
  if (given < needed)
    return fail(FailureKind::Workspace, ofArgument(name),
                "requires {0} bytes, but got {1}", needed, given);
  if (needed && !memory)
    return fail(FailureKind::Workspace, ofArgument(name),
                "requires {0} bytes, but got null", needed);
  if (reinterpret_cast<uintptr_t>(memory) % alignment)
    return fail(FailureKind::Workspace, ofArgument(name),
                "requires an alignment of {0} bytes, but got {1}", alignment,
                memory);
  return llvm::Error::success();
}

llvm::Error Kernel::check(const Arguments &arguments) const {
  if (arguments.info != description.get())
    return createStringError(
        "arguments require to be made for this kernel, but are another's");
  return arguments.check();
}

static LaunchKey withVersion(LaunchKey key, const KernelState &state) {
  if (key.usesPlan)
    key.plansVersion = state.plans->version();
  return key;
}

llvm::Error Kernel::launch(const Arguments &arguments, void *workspace,
                           size_t workspaceSize, void *stream,
                           const LaunchKey *givenKey) const {
  // Before the records are looked at.
  LaunchKey key = givenKey ? withVersion(*givenKey, *state) : LaunchKey();
  if (llvm::Error error = check(arguments))
    return error;
  const KernelInfo &info = *state->info;
  const void *plan = arguments.givenPlan();
  if (plan)
    if (llvm::Error error = checkHasPlan(info))
      return error;
  int64_t workers = workersOf(arguments);
  size_t alignment = state->alignment();
  Workspace laidOut =
      layOutWorkspace(info, arguments, workers, alignment, workspace, plan);
  if (llvm::Error error = checkMemory("workspace", workspace, workspaceSize,
                                      laidOut.bytes, alignment))
    return error;
  LaunchValues values(info, arguments, laidOut);
  if (!plan)
    return state->run(arguments, values, LaunchPart::All, stream, key);
  if (llvm::Error error =
          checkMemory("schedule", plan, arguments.givenPlanBytes(),
                      laidOut.planBytes, alignment))
    return error;
  if (llvm::Error error = state->plans->check(
          plan, info, planValues(info, arguments, values, workers)))
    return error;
  return state->run(arguments, values, LaunchPart::Work, stream, key);
}

llvm::Error Kernel::checkContents(const Arguments &arguments,
                                  void *stream) const {
  if (llvm::Error error = check(arguments))
    return error;
  return state->checkContents(arguments, stream);
}

llvm::Expected<bool> Kernel::repeat(const LaunchKey &key, void *stream) const {
  return state->repeat(withVersion(key, *state), stream);
}

llvm::Error Kernel::makePlan(const Arguments &arguments, void *plan,
                             size_t planSize, void *stream) const {
  if (llvm::Error error = check(arguments))
    return error;
  const KernelInfo &info = *state->info;
  if (llvm::Error error = checkHasPlan(info))
    return error;
  if (!plan)
    return fail(FailureKind::Workspace, ofArgument("schedule"),
                "requires a buffer, but got null");
  int64_t workers = workersOf(arguments);
  size_t alignment = state->alignment();
  Workspace laidOut =
      layOutWorkspace(info, arguments, workers, alignment, nullptr, plan);
  if (llvm::Error error =
          checkMemory("schedule", plan, planSize, laidOut.planBytes, alignment))
    return error;
  LaunchValues values(info, arguments, laidOut);
  if (llvm::Error error =
          state->run(arguments, values, LaunchPart::Plan, stream, {}))
    return error;
  if (!arguments.isEmpty())
    state->plans->add(plan, description,
                      planValues(info, arguments, values, workers));
  return llvm::Error::success();
}

} // namespace mla_jit
