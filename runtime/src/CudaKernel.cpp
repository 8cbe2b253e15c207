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
    // Row blocks that are done side by side need as many CTAs.
    workers = std::max<int64_t>(
        usedSMs(this->context->device(), maxWorkers),
        std::min<int64_t>(info->rowBlocks, this->context->device().numSMs));
  }

  /// Assembles PTX, loads it and gets its functions.
  llvm::Error load(const std::string &ptx);

  int numWorkers() const override { return workers; }
  int64_t workspaceWorkers() const override {
    return numCTAs(info->entries.front());
  }
  size_t alignment() const override { return 256; }
  llvm::Error run(const Arguments &arguments, const LaunchValues &values,
                  void *stream) const override;

private:
  int64_t numCTAs(const KernelInfo::Entry &entry) const {
    return static_cast<int64_t>(workers) * entry.launch.ctasPerWorker;
  }

  std::shared_ptr<const cuda::Context> context;
  int workers;
  std::vector<std::shared_ptr<const cuda::Function>> functions; ///< by entry
};

} // namespace

llvm::Error CudaKernel::load(const std::string &ptx) {
  if (info->entries.empty() || info->entries.size() > kMaxEntries)
    return createStringError(llvm::formatv(
        "stage 'load': a kernel requires 1 to {0} entries, but has {1}",
        kMaxEntries, info->entries.size()));
  if (llvm::Error error = checkLimits(*info))
    return cuda::inStage("load", std::move(error));
  if (llvm::Error error = checkCudaParameters(*info))
    return cuda::inStage("load", std::move(error));
  auto library = cuda::Library::assemble(context, ptx);
  if (!library)
    return cuda::inStage("assemble", library.takeError());
  // The driver may assemble as late as when a function is asked for.
  auto notAssembled = [&](llvm::Error error) -> llvm::Error {
    auto withLog = [&](const cuda::DriverError &e) -> llvm::Error {
      return llvm::make_error<cuda::DriverError>(
          e.kind(), e.result(),
          e.message() + "\n" + (*library)->assemblerLog());
    };
    return cuda::inStage("assemble",
                         llvm::handleErrors(std::move(error), withLog));
  };
  for (const KernelInfo::Entry &entry : info->entries) {
    llvm::SmallVector<size_t> bytes;
    for (const KernelInfo::Param &param : entry.params)
      bytes.push_back(parameterBytes(*info, param));
    auto function = cuda::Function::get(*library, entry.symbol,
                                        llvm::ArrayRef<size_t>(bytes));
    if (!function)
      return notAssembled(function.takeError());
    if (llvm::Error error =
            (*function)->allowDynamicShared(entry.launch.sharedBytes))
      return cuda::inStage("load", std::move(error));
    functions.push_back(std::move(*function));
  }
  mlir::mla::PtxReport report;
  mlir::mla::parseAssemblerLog((*library)->assemblerLog(), report);
  info->warnings = mlir::mla::findPerformanceLosses(report);
  return llvm::Error::success();
}

llvm::Error CudaKernel::run(const Arguments &arguments,
                            const LaunchValues &values, void *stream) const {
  if (arguments.batch() == 0)
    return llvm::Error::success();
  std::array<CudaParameters, kMaxEntries> parameters;
  for (auto [e, entry] : llvm::enumerate(info->entries))
    if (llvm::Error error =
            parameters[e].fill(entry, values, numCTAs(entry), *context))
      return error;
  for (auto [e, entry] : llvm::enumerate(info->entries)) {
    cuda::LaunchConfig config;
    config.grid[0] = static_cast<unsigned>(numCTAs(entry));
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

llvm::Expected<std::unique_ptr<KernelState>>
loadCudaKernel(CompileResult compiled,
               std::shared_ptr<const cuda::Context> context, int maxWorkers) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  auto start = Clock::now();
  std::string ptx = std::move(compiled.text);
  auto state = std::make_unique<CudaKernel>(std::move(compiled),
                                            std::move(context), maxWorkers);
  if (llvm::Error error = state->load(ptx))
    return std::move(error);
  state->times.push_back({"assemble", since(start)});
  return state;
}

} // namespace mla_jit
