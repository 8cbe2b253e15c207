//===- Assemble.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "EntryLibraries.h"
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

AssemblerChoice chooseAssembler(const cuda::Context *context) {
  if (context)
    return {"driver " + cuda::versionText(context->driver().version()),
            static_cast<unsigned>(context->driver().ptxVersion()),
            /*makesCubin=*/false};
  auto assembler = mlir::mla::findAssembler();
  if (assembler)
    return {"ptxas " + assembler->release, assembler->ptxVersion,
            /*makesCubin=*/true};
  llvm::consumeError(assembler.takeError());
  return {"none"};
}

std::string nameDriversAssembler(const cuda::Driver &driver) {
  return driver.release().empty()
             ? "driver of CUDA " + cuda::versionText(driver.version())
             : "driver " + driver.release();
}

std::string namePtxas() {
  auto assembler = mlir::mla::findAssembler();
  if (!assembler) {
    llvm::consumeError(assembler.takeError());
    return "";
  }
  const mlir::mla::AssemblerVersion &version = assembler->version;
  return llvm::formatv("ptxas {0}.{1}.{2}", version.major, version.minor,
                       version.patch);
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

llvm::Expected<PtxReport>
assemble(const std::string &ptx, const KernelInfo &info, bool needsCubin,
         const std::shared_ptr<const cuda::Context> &context,
         std::chrono::milliseconds timeLimit) {
  auto gpu = mlir::mla::findGPUChip(info.chip);
  if (!gpu)
    return gpu.takeError();
  mlir::mla::AssembleOptions options;
  options.timeLimit = timeLimit;
  auto report = mlir::mla::assemble(ptx, *gpu, options);
  if (report)
    return report;
  llvm::Error error = report.takeError();
  if (!error.isA<mlir::mla::ToolNotFound>())
    return std::move(error);
  if (context) {
    llvm::consumeError(std::move(error));
    return assembleByDriver(ptx, info, needsCubin, context);
  }
  return createStringError(
      "stage 'cubin': requires an assembler: either a CUDA driver with a "
      "device of " +
      info.chip + ", or ptxas of a CUDA toolkit, but " +
      llvm::toString(std::move(error)));
}

llvm::Expected<std::string> describeCode(const PtxReport &report,
                                         const KernelInfo &info,
                                         bool withInstructions) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  bool hasCode = withInstructions && !report.cubin.empty();
  auto sass = hasCode ? mlir::mla::countSass(report.cubin)
                      : llvm::make_error<mlir::mla::ToolNotFound>("cubin");
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
