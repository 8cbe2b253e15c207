//===- Assemble.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "cuda/Link.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

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

static llvm::Expected<PtxReport> linkByDriver(const cuda::Context &context,
                                              const std::string &ptx) {
  auto image = cuda::linkPTX(context, ptx);
  if (!image)
    return image.takeError();
  PtxReport report = reportOfDriver(context, image->infoLog + image->errorLog);
  report.cubin = std::move(image->cubin);
  return report;
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

llvm::Expected<PtxReport> assemble(const std::string &ptx,
                                   const std::string &chip,
                                   const cuda::Context *context) {
  if (context)
    return linkByDriver(*context, ptx);
  auto gpu = mlir::mla::findGPUChip(chip);
  if (!gpu)
    return gpu.takeError();
  auto report = mlir::mla::assemble(ptx, *gpu);
  if (report)
    return report;
  llvm::Error error = report.takeError();
  if (!error.isA<mlir::mla::ToolNotFound>())
    return std::move(error);
  return createStringError(
      "stage 'cubin': requires an assembler: either a CUDA driver with a "
      "device of " +
      chip + ", or ptxas of a CUDA toolkit, but " +
      llvm::toString(std::move(error)));
}

llvm::Expected<std::string> describeCode(const PtxReport &report,
                                         const KernelInfo &info,
                                         bool withInstructions) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto sass = withInstructions
                  ? mlir::mla::countSass(report.cubin)
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
