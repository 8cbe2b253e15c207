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

  /// Has the driver assemble PTX, loads it and gets its functions.
  llvm::Error assemble(const std::string &ptx);
  /// The same of code that is assembled.
  llvm::Error loadCubin(const std::string &cubin);

  int numWorkers() const override { return workers; }
  int64_t workspaceWorkers(int limit) const override {
    return numCTAs(info->entries.front(), limit);
  }
  size_t alignment() const override { return kCudaAlignment; }
  llvm::Error run(const Arguments &arguments, const LaunchValues &values,
                  void *stream) const override;

private:
  using LibraryPtr = std::shared_ptr<const cuda::Library>;

  /// Checks that launches can marshal what the kernel takes.
  llvm::Error check() const;
  llvm::Error findFunctions(LibraryPtr library);
  llvm::Error allowShared() const;
  /// Keeps what the driver says of the code that it made.
  llvm::Error describeAssembly(const cuda::Library &library);
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

llvm::Error CudaKernel::check() const {
  if (info->entries.empty() || info->entries.size() > kMaxEntries)
    return createStringError(
        llvm::formatv("a kernel requires 1 to {0} entries, but has {1}",
                      kMaxEntries, info->entries.size()));
  if (llvm::Error error = checkLimits(*info))
    return error;
  return checkCudaParameters(*info);
}

llvm::Error CudaKernel::findFunctions(LibraryPtr library) {
  for (const KernelInfo::Entry &entry : info->entries) {
    llvm::SmallVector<size_t> bytes;
    for (const KernelInfo::Param &param : entry.params)
      bytes.push_back(parameterBytes(*info, param));
    auto function = cuda::Function::get(library, entry.symbol,
                                        llvm::ArrayRef<size_t>(bytes));
    if (!function)
      return function.takeError();
    functions.push_back(std::move(*function));
  }
  return llvm::Error::success();
}

llvm::Error CudaKernel::allowShared() const {
  for (auto [e, entry] : llvm::enumerate(info->entries))
    if (llvm::Error error =
            functions[e]->allowDynamicShared(entry.launch.sharedBytes))
      return error;
  return llvm::Error::success();
}

llvm::Error CudaKernel::assemble(const std::string &ptx) {
  if (llvm::Error error = check())
    return cuda::inStage("load", std::move(error));
  auto library = cuda::Library::assemble(context, ptx);
  if (!library)
    return cuda::inStage("assemble", library.takeError());
  // The driver may assemble as late as when a function is asked for.
  auto withLog = [&](const cuda::DriverError &e) -> llvm::Error {
    return llvm::make_error<cuda::DriverError>(
        e.kind(), e.result(), e.message() + "\n" + (*library)->assemblerLog());
  };
  if (llvm::Error error = findFunctions(*library))
    return cuda::inStage("assemble",
                         llvm::handleErrors(std::move(error), withLog));
  if (llvm::Error error = allowShared())
    return cuda::inStage("load", std::move(error));
  return describeAssembly(**library);
}

llvm::Error CudaKernel::loadCubin(const std::string &cubin) {
  auto load = [&]() -> llvm::Error {
    if (llvm::Error error = check())
      return error;
    auto library = cuda::Library::load(context, cubin);
    if (!library)
      return library.takeError();
    if (llvm::Error error = findFunctions(*library))
      return error;
    return allowShared();
  };
  return cuda::inStage("load", load());
}

llvm::Error CudaKernel::describeAssembly(const cuda::Library &library) {
  mlir::mla::PtxReport assembled =
      reportOfDriver(*context, library.assemblerLog());
  info->warnings = mlir::mla::findPerformanceLosses(assembled);
  auto text = describeCode(assembled, *info, /*withInstructions=*/false);
  if (!text)
    return text.takeError();
  report = std::move(*text);
  // The log is empty where the driver had the code in a cache of its own.
  for (const auto &function : functions)
    report += llvm::formatv("loaded {0}: {1} registers, {2} bytes of local "
                            "memory, {3} bytes of static shared memory\n",
                            function->info().symbol, function->info().registers,
                            function->info().localBytes,
                            function->info().staticSharedBytes)
                  .str();
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
loadCudaKernel(CompileResult compiled,
               std::shared_ptr<const cuda::Context> context, int maxWorkers) {
  auto start = Clock::now();
  std::string ptx = compiled.text, cubin = compiled.cubin;
  auto state = std::make_unique<CudaKernel>(std::move(compiled),
                                            std::move(context), maxWorkers);
  if (llvm::Error error =
          cubin.empty() ? state->assemble(ptx) : state->loadCubin(cubin))
    return std::move(error);
  state->times.push_back({cubin.empty() ? "assemble" : "load",
                          secondsSince(start), /*isLoading=*/true});
  return state;
}

} // namespace mla_jit
