//===- Kernel.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla_jit/Kernel.h"
#include "KernelState.h"
#include "mla_jit/Engine.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

KernelState::~KernelState() = default;

llvm::Error checkLimits(const KernelInfo &info) {
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

static bool parsesAsStage(std::string_view name) {
  auto stage = parseStage(name);
  if (stage)
    return true;
  llvm::consumeError(stage.takeError());
  return false;
}

Kernel::Kernel(std::unique_ptr<KernelState> loaded)
    : state(std::move(loaded)), description(state->info) {}
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

llvm::Expected<std::string_view> Kernel::stage(std::string_view name) const {
  llvm::SmallVector<cache::Section> stages;
  if (state->entry)
    for (const cache::Section &section : state->entry->sections())
      if (parsesAsStage(section.name))
        stages.push_back(section);
  if (!state->report.empty())
    stages.push_back({toString(Stage::Report), state->report});
  std::string names;
  for (const cache::Section &stage : stages) {
    if (stage.name == name)
      return stage.content;
    names += (names.empty() ? "" : ", ") + std::string(stage.name);
  }
  return createStringError(
      formatv("argument 'stage' requires one of {0}, but got '{1}'",
              names.empty() ? "none (a kernel of MLIR text)" : names, name));
}

int Kernel::numWorkers() const { return state->numWorkers(); }
size_t Kernel::workspaceAlignment() const { return state->alignment(); }

size_t Kernel::workspaceBytes(const Arguments &arguments) const {
  return layOutWorkspace(*state->info, arguments,
                         state->workspaceWorkers(arguments.maxWorkers()),
                         state->alignment(), nullptr)
      .bytes;
}

size_t Kernel::workspaceBound(int64_t batch, int64_t totalQueries,
                              int64_t maxSplits) const {
  return mla_jit::workspaceBound(*state->info, batch, totalQueries, maxSplits,
                                 state->workspaceWorkers(), state->alignment());
}

llvm::Error Kernel::launch(const Arguments &arguments, void *workspace,
                           size_t workspaceSize, void *stream) const {
  if (arguments.info.get() != description.get())
    return createStringError(
        "arguments require to be made for this kernel, but are another's");
  if (llvm::Error error = arguments.check())
    return error;
  Workspace laidOut = layOutWorkspace(
      *state->info, arguments, state->workspaceWorkers(arguments.maxWorkers()),
      state->alignment(), workspace);
  if (workspaceSize < laidOut.bytes)
    return createStringError(
        formatv("argument 'workspace' requires {0} bytes, but got {1}",
                laidOut.bytes, workspaceSize));
  if (laidOut.bytes && !workspace)
    return createStringError(
        formatv("argument 'workspace' requires {0} bytes, but got null",
                laidOut.bytes));
  if (reinterpret_cast<uintptr_t>(workspace) % state->alignment())
    return createStringError(formatv(
        "argument 'workspace' requires an alignment of {0} bytes, but got {1}",
        state->alignment(), workspace));
  LaunchValues values(*state->info, arguments, laidOut);
  return state->run(arguments, values, stream);
}

} // namespace mla_jit
