//===- mla-translate.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From a module of the nvvm level to LLVM IR, PTX, a cubin, or what the
// assembler says of it. For the tests.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Target/Contained.h"
#include "mla/Target/NVPTX.h"
#include "mla/Target/PtxReport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

enum class Emit { NVVMIR, LLVM, PTX, Cubin, Report };

struct Request {
  std::string text;
  mla::GPUChip chip;
  unsigned supported;
  Emit emit;
  bool times;
};

/// Prints what each stage took.
class Times {
public:
  explicit Times(bool enabled) : enabled(enabled) {}
  void mark(const char *stage) {
    auto now = std::chrono::steady_clock::now();
    if (enabled)
      llvm::errs() << llvm::formatv(
          "{0,-10} {1:f2} ms\n", stage,
          std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
  }

private:
  bool enabled;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace

template <typename T> static std::string textOf(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// Runs inside runContained.
static llvm::Expected<std::string> compile(const Request &request) {
  Times times(request.times);
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, mla::MLADialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(request.text, &context);
  if (!module)
    return llvm::createStringError("stage 'parse': failed");
  times.mark("parse");

  llvm::LLVMContext llvmContext;
  auto translated = mla::translateToNVVM(*module, llvmContext, request.chip);
  if (!translated)
    return translated.takeError();
  times.mark("translate");
  llvm::Module &llvmModule = **translated;
  if (request.emit == Emit::NVVMIR)
    return textOf(llvmModule);

  auto version = mla::ptxVersionFor(request.chip, mla::findFeatures(llvmModule),
                                    request.supported);
  if (!version)
    return version.takeError();
  auto machine = mla::createNVPTXMachine(request.chip, *version);
  if (!machine)
    return machine.takeError();
  times.mark("machine");
  if (llvm::Error error = mla::optimizeForNVPTX(llvmModule, **machine))
    return std::move(error);
  times.mark("optimize");
  if (request.emit == Emit::LLVM)
    return textOf(llvmModule);
  auto ptx = mla::emitPTX(llvmModule, **machine);
  times.mark("codegen");
  return ptx;
}

static llvm::Expected<std::string> run(const Request &request,
                                       std::chrono::milliseconds timeLimit) {
  auto ptx = mla::runContainedFor<std::string>(
      "compile", [request] { return compile(request); }, timeLimit);
  if (!ptx || request.emit < Emit::Cubin)
    return ptx;
  Times times(request.times);
  auto assembler = mla::findAssembler();
  if (!assembler)
    return assembler.takeError();
  auto report = mla::assemble(*ptx, request.chip, *assembler);
  if (!report)
    return report.takeError();
  times.mark("assemble");
  if (request.emit == Emit::Cubin)
    return report->cubin;
  auto sass = mla::countSass(*report);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (sass)
    mla::printReport(stream, *report, &*sass);
  else if (llvm::Error error = sass.takeError();
           error.isA<mla::ToolNotFound>()) {
    llvm::consumeError(std::move(error));
    mla::printReport(stream, *report, nullptr);
  } else
    return std::move(error);
  times.mark("report");
  std::vector<std::string> losses = mla::findPerformanceLosses(*report);
  for (const std::string &loss : losses)
    stream << "loss: " << loss << "\n";
  stream << "losses: " << losses.size() << "\n";
  return text;
}

int main(int argc, char **argv) {
  cl::OptionCategory category("mla-translate");
  cl::opt<std::string> input(cl::Positional, cl::init("-"), cl::desc("<input>"),
                             cl::cat(category));
  cl::opt<std::string> output("o", cl::init("-"), cl::desc("Output file"),
                              cl::value_desc("file"), cl::cat(category));
  cl::opt<std::string> chipName("chip", cl::init("sm_90a"),
                                cl::desc("Chip to compile for"),
                                cl::cat(category));
  cl::opt<unsigned> supported("supported-ptx", cl::init(mla::kMaxPTXVersion),
                              cl::desc("Newest PTX version to write, times 10"),
                              cl::cat(category));
  cl::opt<Emit> emit(
      "emit", cl::init(Emit::PTX), cl::desc("What to write"),
      cl::values(clEnumValN(Emit::NVVMIR, "nvvm-ir", "LLVM IR as translated"),
                 clEnumValN(Emit::LLVM, "llvm", "LLVM IR after its passes"),
                 clEnumValN(Emit::PTX, "ptx", "PTX"),
                 clEnumValN(Emit::Cubin, "cubin", "Machine code, by ptxas"),
                 clEnumValN(Emit::Report, "report", "What ptxas says")),
      cl::cat(category));
  cl::opt<unsigned> timeLimit(
      "time-limit", cl::init(0),
      cl::desc("Limit of the compilation in ms; 0: none"), cl::cat(category));
  cl::opt<bool> times("times", cl::desc("Print what each stage took"),
                      cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "mla-jit GPU code generator\n");

  auto fail = [](const llvm::Twine &reason) {
    llvm::errs() << "mla-translate: error: " << reason << "\n";
    return 1;
  };
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!buffer)
    return fail("cannot read " + input + ": " + buffer.getError().message());
  auto chip = mla::findGPUChip(chipName);
  if (!chip)
    return fail(llvm::toString(chip.takeError()));
  auto result =
      run({(*buffer)->getBuffer().str(), *chip, supported, emit, times},
          std::chrono::milliseconds(timeLimit));
  if (!result)
    return fail(llvm::toString(result.takeError()));
  std::error_code error;
  llvm::ToolOutputFile file(output, error, llvm::sys::fs::OF_None);
  if (error)
    return fail("cannot write " + output + ": " + error.message());
  file.os() << *result;
  file.keep();
  return 0;
}
