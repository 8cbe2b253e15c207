//===- Assemble.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "EntryLibraries.h"
#include "Failure.h"
#include "cuda/Link.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using llvm::createStringError;
using llvm::formatv;
using mlir::mla::PtxReport;

namespace mla_jit {

PtxReport reportOfDriver(const cuda::Context &context, std::string log) {
  PtxReport report;
  report.release =
      cuda::versionText(context.driver().version()) + " (the driver's)";
  report.log = std::move(log);
  mlir::mla::parseAssemblerLog(report.log, report);
  return report;
}

void addLoaded(PtxReport &report, llvm::ArrayRef<FunctionPtr> functions) {
  for (const FunctionPtr &function : functions) {
    const cuda::FunctionInfo &known = function->info();
    auto kernel =
        llvm::find_if(report.kernels, [&](const mlir::mla::KernelReport &k) {
          return k.name == known.symbol;
        });
    if (kernel == report.kernels.end())
      kernel = report.kernels.emplace(kernel);
    kernel->name = known.symbol;
    kernel->entry = true;
    kernel->registers = known.registers;
    kernel->stackBytes = known.localBytes;
    kernel->staticSharedBytes = known.staticSharedBytes;
  }
}

static constexpr llvm::StringLiteral kDefaultPtxas =
    "/usr/local/cuda/bin/ptxas";

llvm::Expected<AssemblerChoice> chooseAssembler(const cuda::Context *context,
                                                const EngineOptions &options) {
  AssemblerChoice choice;
  if (context) {
    choice.name = "driver " + cuda::versionText(context->driver().version());
    choice.ptxVersion = static_cast<unsigned>(context->driver().ptxVersion());
    return choice;
  }
  if (options.ptxas && options.ptxas->empty())
    return choice;
  auto ptxas = mlir::mla::askAssembler(options.ptxas ? *options.ptxas
                                                     : kDefaultPtxas.str());
  if (!ptxas) {
    llvm::Error error = ptxas.takeError();
    if (!error.isA<mlir::mla::ToolNotFound>())
      return std::move(error);
    if (options.ptxas)
      return invalid(ofOption("ptxas"), std::move(error));
    llvm::consumeError(std::move(error));
    return choice;
  }
  choice.name = mlir::mla::nameOf(*ptxas);
  choice.ptxVersion = ptxas->ptxVersion;
  choice.ptxas = std::move(*ptxas);
  return choice;
}

mlir::mla::AssembleOptions assembleOptions(const EngineOptions &options) {
  mlir::mla::AssembleOptions assembling;
  assembling.timeLimit = options.timeLimit;
  if (options.cache.mode == CacheMode::ReadWrite &&
      !options.cache.directory.empty())
    assembling.scratch.push_back(options.cache.directory);
  return assembling;
}

std::string nameDriversAssembler(const cuda::Driver &driver) {
  return driver.release().empty()
             ? "driver of CUDA " + cuda::versionText(driver.version())
             : "driver " + driver.release();
}

/// The driver's linker assembles for linking with other code, where setmaxnreg
/// is ignored: not the code that is loaded.
static llvm::Expected<PtxReport> linkByDriver(const cuda::Context &context,
                                              const std::string &ptx) {
  if (llvm::StringRef(ptx).contains("setmaxnreg"))
    return createStringError(
        "stage 'cubin': requires ptxas of a CUDA toolkit for a kernel that "
        "uses setmaxnreg, but it was not found: the driver assembles such a "
        "kernel only as it loads it, and keeps the code");
  auto image = cuda::linkPTX(context, ptx);
  if (!image)
    return image.takeError();
  PtxReport report = reportOfDriver(context, image->infoLog + image->errorLog);
  report.cubin = std::move(image->cubin);
  return report;
}

/// Of the code as it is loaded, which cannot be had.
static llvm::Expected<PtxReport>
loadByDriver(const std::shared_ptr<const cuda::Context> &context,
             const std::string &ptx, const KernelInfo &info) {
  auto loaded = loadEntries(context, ptx, info, 1);
  if (loaded && !llvm::StringRef(loaded->assemblerLog).contains("ptxas")) {
    // From the driver's cache, which goes by the text and keeps no log.
    auto now = std::chrono::system_clock::now().time_since_epoch().count();
    loaded = loadEntries(context, ptx + "\n// " + std::to_string(now) + "\n",
                         info, 1);
  }
  if (!loaded)
    return loaded.takeError();
  PtxReport report = reportOfDriver(*context, std::move(loaded->assemblerLog));
  addLoaded(report, loaded->functions);
  return report;
}

llvm::Expected<PtxReport>
assembleByDriver(const std::string &ptx, const KernelInfo &info,
                 bool needsCubin,
                 const std::shared_ptr<const cuda::Context> &context) {
  return needsCubin ? linkByDriver(*context, ptx)
                    : loadByDriver(context, ptx, info);
}

llvm::Expected<PtxReport> assembleByPtxas(const std::string &ptx,
                                          const KernelInfo &info,
                                          const mlir::mla::Assembler &ptxas,
                                          const EngineOptions &options) {
  auto gpu = mlir::mla::findGPUChip(info.chip);
  if (!gpu)
    return gpu.takeError();
  return mlir::mla::assemble(ptx, *gpu, ptxas, assembleOptions(options));
}

llvm::Expected<PtxReport>
assemble(const std::string &ptx, const KernelInfo &info, bool needsCubin,
         const AssemblerChoice &assembler,
         const std::shared_ptr<const cuda::Context> &context,
         const EngineOptions &options) {
  if (assembler.ptxas)
    return assembleByPtxas(ptx, info, *assembler.ptxas, options);
  if (context)
    return assembleByDriver(ptx, info, needsCubin, context);
  return createStringError(
      "stage 'cubin': requires an assembler: either a CUDA driver with a "
      "device of " +
      info.chip + ", or ptxas of a CUDA toolkit, but " +
      (options.ptxas ? "the option 'ptxas' names none"
                     : "there is no " + kDefaultPtxas.str()));
}

llvm::Expected<std::string> describeCode(const PtxReport &report,
                                         const KernelInfo &info,
                                         bool withInstructions) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto sass = withInstructions
                  ? mlir::mla::countSass(report)
                  : llvm::make_error<mlir::mla::ToolNotFound>("not asked for");
  if (sass) {
    mlir::mla::printReport(stream, report, &*sass);
  } else {
    llvm::Error error = sass.takeError();
    if (!error.isA<mlir::mla::ToolNotFound>())
      return std::move(error);
    llvm::consumeError(std::move(error));
    mlir::mla::printReport(stream, report, nullptr);
  }
  for (const KernelInfo::Entry &entry : info.entries)
    stream << formatv("launch {0}: {1} threads, {2} bytes of dynamic shared "
                      "memory, {3} CTA(s) a worker{4}\n",
                      entry.symbol, entry.launch.threads,
                      entry.launch.sharedBytes, entry.launch.ctasPerWorker,
                      entry.launch.dependent ? ", dependent" : "");
  std::vector<std::string> losses = mlir::mla::findPerformanceLosses(report);
  for (const std::string &loss : losses)
    stream << "loss: " << loss << "\n";
  stream << "losses: " << losses.size() << "\n";
  return text;
}

} // namespace mla_jit
