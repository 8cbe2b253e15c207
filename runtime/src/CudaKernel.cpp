//===- CudaKernel.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernel.h"
#include "Assemble.h"
#include "CudaParameters.h"
#include "cuda/Launch.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using llvm::createStringError;

namespace mla_jit {

int usedSMs(const cuda::Device &device, int maxWorkers) {
  return maxWorkers > 0 ? std::min(maxWorkers, device.numSMs) : device.numSMs;
}

namespace {

class CudaKernel final : public KernelState {
public:
  /// Launches keep the parameters of all entries on the stack.
  static constexpr size_t kMaxEntries = 4;

  CudaKernel(CompileResult compiled,
             std::shared_ptr<const cuda::Context> context, int maxWorkers)
      : KernelState(std::move(compiled)), context(std::move(context)) {
    workers = limited(usedSMs(this->context->device(), maxWorkers));
  }

  llvm::Error load(const std::string &cubin);

  int numWorkers() const override { return workers; }
  int64_t workspaceWorkers(int limit) const override {
    return numCTAs(info->entries.front(), limit);
  }
  size_t alignment() const override { return kCudaAlignment; }
  llvm::Error run(const Arguments &arguments, const LaunchValues &values,
                  void *stream) const override;

private:
  /// Row blocks that are done side by side need as many CTAs.
  int limited(int limit) const {
    return std::max<int64_t>(
        limit, std::min<int64_t>(info->rowBlocks, context->device().numSMs));
  }
  int64_t numCTAs(const KernelInfo::Entry &entry, int limit) const {
    int64_t used = limit > 0 ? std::min(limited(limit), workers) : workers;
    return used * entry.launch.ctasPerWorker;
  }

  std::shared_ptr<const cuda::Context> context;
  int workers;
  std::vector<std::shared_ptr<const cuda::Function>> functions; ///< by entry
};

} // namespace

llvm::Error CudaKernel::load(const std::string &cubin) {
  if (info->entries.empty() || info->entries.size() > kMaxEntries)
    return createStringError(
        llvm::formatv("a kernel requires 1 to {0} entries, but has {1}",
                      kMaxEntries, info->entries.size()));
  if (llvm::Error error = checkLimits(*info))
    return error;
  if (llvm::Error error = checkCudaParameters(*info))
    return error;
  auto library = cuda::Library::load(context, cubin);
  if (!library)
    return library.takeError();
  for (const KernelInfo::Entry &entry : info->entries) {
    llvm::SmallVector<size_t> bytes;
    for (const KernelInfo::Param &param : entry.params)
      bytes.push_back(parameterBytes(*info, param));
    auto function = cuda::Function::get(*library, entry.symbol,
                                        llvm::ArrayRef<size_t>(bytes));
    if (!function)
      return function.takeError();
    if (llvm::Error error =
            (*function)->allowDynamicShared(entry.launch.sharedBytes))
      return error;
    functions.push_back(std::move(*function));
  }
  return llvm::Error::success();
}

llvm::Error CudaKernel::run(const Arguments &arguments,
                            const LaunchValues &values, void *stream) const {
  if (arguments.batch() == 0)
    return llvm::Error::success();
  int limit = arguments.maxWorkers();
  std::array<CudaParameters, kMaxEntries> parameters;
  for (auto [e, entry] : llvm::enumerate(info->entries))
    if (llvm::Error error =
            parameters[e].fill(entry, values, numCTAs(entry, limit), *context))
      return error;
  for (auto [e, entry] : llvm::enumerate(info->entries)) {
    cuda::LaunchConfig config;
    config.grid[0] = static_cast<unsigned>(numCTAs(entry, limit));
    config.block[0] = static_cast<unsigned>(entry.launch.threads);
    config.dynamicShared = static_cast<unsigned>(entry.launch.sharedBytes);
    config.stream = static_cast<cuda::StreamHandle>(stream);
    config.programmaticDependent = entry.launch.dependent;
    if (llvm::Error error =
            cuda::launch(*functions[e], config, parameters[e].pointers()))
      return error;
  }
  return llvm::Error::success();
}

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

llvm::Expected<std::unique_ptr<KernelState>>
loadCubin(CompileResult compiled, std::shared_ptr<const cuda::Context> context,
          int maxWorkers) {
  auto start = Clock::now();
  std::string cubin = compiled.text;
  auto state = std::make_unique<CudaKernel>(std::move(compiled),
                                            std::move(context), maxWorkers);
  if (llvm::Error error = state->load(cubin))
    return cuda::inStage("load", std::move(error));
  state->times.push_back({"load", secondsSince(start)});
  return state;
}

llvm::Expected<std::unique_ptr<KernelState>>
loadCudaKernel(CompileResult compiled,
               std::shared_ptr<const cuda::Context> context, int maxWorkers) {
  auto start = Clock::now();
  auto report = assembleByDriver(*context, compiled.text);
  if (!report)
    return cuda::inStage("assemble", report.takeError());
  compiled.times.push_back({"assemble", secondsSince(start)});
  compiled.info->warnings = mlir::mla::findPerformanceLosses(*report);
  compiled.text = std::move(report->cubin);
  return loadCubin(std::move(compiled), std::move(context), maxWorkers);
}

} // namespace mla_jit
