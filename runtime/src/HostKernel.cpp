//===- HostKernel.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"
#include "HostCode.h"
#include "mla/Target/Contained.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using llvm::createStringError;

namespace mla_jit {

namespace {

class HostKernel final : public KernelState {
public:
  using KernelState::KernelState;

  int numWorkers() const override { return pool->size(); }
  int64_t workspaceWorkers(int limit) const override {
    return limit > 0 ? std::min(limit, pool->size()) : pool->size();
  }
  size_t alignment() const override { return kHostAlignment; }
  llvm::Error run(const Arguments &arguments, const LaunchValues &values,
                  LaunchPart part, void *stream,
                  const LaunchKey &key) const override;

  std::shared_ptr<WorkerPool> pool;
  std::optional<HostCode> code;
  /// By entry: takes a pointer to each parameter.
  std::vector<void (*)(void **)> functions;
};

/// Parameters of one entry, ready for all workers.
struct EntryCall {
  void (*function)(void **);
  int64_t numWorkers;
  size_t numParams;
  std::array<int64_t, kMaxParams> values;
  std::array<bool, kMaxParams> isWorker;
};

} // namespace

llvm::Expected<std::unique_ptr<KernelState>>
loadHostKernel(const CompileResult &compiled,
               std::shared_ptr<WorkerPool> pool) {
  if (!compiled.missingFeature.empty())
    return unsupported(ofOption("target"),
                       "requires a CPU that has what this machine has to run "
                       "the kernel, but got '{0}', of which it lacks {1}: it "
                       "can be compiled, not run",
                       compiled.cpu, compiled.missingFeature);
  auto start = std::chrono::steady_clock::now();
  auto state = std::make_unique<HostKernel>(compiled);
  state->pool = std::move(pool);
  state->pool->start();
  if (llvm::Error error = checkLimits(*state->info))
    return std::move(error);

  std::vector<std::string> symbols;
  for (const KernelInfo::Entry &entry : state->info->entries)
    symbols.push_back(entry.symbol + "_packed");
  auto code = mlir::mla::runContainedFor<HostCode>(
      "link", [&] { return HostCode::link(compiled.text, symbols); });
  if (!code)
    return code.takeError();
  for (void *address : code->addresses())
    state->functions.push_back(reinterpret_cast<void (*)(void **)>(address));
  state->code.emplace(std::move(*code));
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  state->times.push_back({"link", elapsed.count(), /*isLoading=*/true});
  return state;
}

static void runWorker(void *context, int worker) {
  EntryCall &call = *static_cast<EntryCall *>(context);
  int64_t index = worker;
  if (index >= call.numWorkers)
    return;
  std::array<void *, kMaxParams> pointers;
  for (size_t i = 0; i < call.numParams; ++i)
    pointers[i] = call.isWorker[i] ? &index : &call.values[i];
  call.function(pointers.data());
}

llvm::Error HostKernel::run(const Arguments &arguments,
                            const LaunchValues &values, LaunchPart /*part*/,
                            void *stream, const LaunchKey & /*key*/) const {
  if (stream)
    return invalid(
        ofArgument("stream"),
        "requires a null pointer for a kernel of the host, but got one");
  for (size_t e = 0; e < info->entries.size(); ++e) {
    const KernelInfo::Entry &entry = info->entries[e];
    EntryCall call;
    call.function = functions[e];
    call.numWorkers = workspaceWorkers(arguments.maxWorkers());
    call.numParams = entry.params.size();
    for (size_t i = 0; i < entry.params.size(); ++i) {
      const KernelInfo::Param &param = entry.params[i];
      call.isWorker[i] = param.source == KernelInfo::Source::Worker;
      if (param.source == KernelInfo::Source::NumWorkers)
        call.values[i] = call.numWorkers;
      else if (!call.isWorker[i])
        call.values[i] = values.word(param);
    }
    pool->run(runWorker, &call);
  }
  return llvm::Error::success();
}

} // namespace mla_jit
