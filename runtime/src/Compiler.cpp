//===- Compiler.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "KernelDescription.h"
#include "ModuleText.h"
#include "TextNesting.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Pipelines/Pipelines.h"
#include "mla/Pipelines/Registration.h"
#include "mla/Target/Contained.h"
#include "mla/Target/Host.h"
#include "mla/Target/NVPTX.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace mlir;
using llvm::createStringError;

namespace mla_jit {

#ifdef NDEBUG
static constexpr bool kIsRelease = true;
#else
static constexpr bool kIsRelease = false;
#endif

namespace {

/// Times stages and gathers diagnostics.
class Compilation {
  /// What `body` returns; keeps how long it took.
  template <typename F> auto timed(const char *stage, F body) {
    auto start = std::chrono::steady_clock::now();
    auto value = body();
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.times.push_back({stage, elapsed.count()});
    return value;
  }

public:
  explicit Compilation(const CompileRequest &request)
      : request(request),
        context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return;
          isRefused |= mla::isUnsupported(diagnostic);
          llvm::raw_string_ostream stream(diagnostics);
          stream << (diagnostics.empty() ? "" : "\n");
          printLocation(stream, diagnostic.getLocation());
          stream << diagnostic;
          for (Diagnostic &note : diagnostic.getNotes())
            stream << "; note: " << note;
        }) {
    context.printOpOnDiagnostic(false);
  }

  llvm::Expected<CompileResult> run(Stage stage) {
    if (llvm::Error error = checkNesting(request.mlir))
      return mla::inStage("parse", std::move(error));
    ParserConfig config(&context);
    OwningOpRef<ModuleOp> module = timed("parse", [&] {
      return parseSourceString<ModuleOp>(request.mlir, config, request.name);
    });
    if (!module)
      return failure("parse");
    if (!request.symbol.empty())
      for (auto func : module->getOps<func::FuncOp>())
        func.setName(request.symbol);
    if (stage == Stage::Problem)
      return finish(textOf(*module));
    keep(Stage::Problem, *module);

    mla::ProblemToTileOptions options;
    options.cpu = request.cpu;
    options.chip = request.chip;
    options.queries = request.queries;
    options.alignedStrides = request.alignedStrides;
    options.sharedPlan = request.sharedPlan;
    options.split = request.rowLocalSplits ? "row_local" : "balanced";
    if (!lower("tile", *module, [&](OpPassManager &pm) {
          mla::buildProblemToTile(pm, options);
        }))
      return failure("tile");
    if (stage == Stage::Tile)
      return finish(textOf(*module));
    keep(Stage::Tile, *module);
    return request.chip.empty() ? runHost(*module, stage)
                                : runGPU(*module, stage);
  }

private:
  llvm::Expected<CompileResult> runHost(ModuleOp module, Stage stage) {
    if (!lower("host", module, mla::buildTileToHost))
      return failure("host");
    auto info = describeKernel(module);
    if (!info)
      return mla::inStage("host", info.takeError());
    result.info = *info;
    if (stage == Stage::Host)
      return finish(textOf(module));
    keep(Stage::Host, module);
    if (!lower("llvm", module, mla::buildHostToLLVM))
      return failure("llvm");
    if (stage == Stage::LLVM)
      return finish(textOf(module));
    keep(Stage::LLVM, module);
    return generate(module, stage);
  }

  llvm::Expected<CompileResult> runGPU(ModuleOp module, Stage stage) {
    mla::TileToGPUOptions options;
    options.verifyProtocol = request.verifyProtocol;
    if (!lower("gpu", module,
               [&](OpPassManager &pm) { mla::buildTileToGPU(pm, options); }))
      return failure("gpu");
    if (stage == Stage::GPU)
      return finish(textOf(module));
    keep(Stage::GPU, module);
    if (!lower("nvvm", module, mla::buildGPUToNVVM))
      return failure("nvvm");
    auto info = describeKernel(module);
    if (!info)
      return mla::inStage("nvvm", info.takeError());
    result.info = *info;
    result.info->chip = request.chip;
    if (stage == Stage::NVVM)
      return finish(textOf(module));
    // A thread for each entry, and one more.
    if (request.keepStages &&
        request.entryThreads > result.info->entries.size())
      nvvmText.emplace(module);
    else
      keep(Stage::NVVM, module);
    return generatePTX(module, stage);
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    mla::registerDialects(registry);
    return registry;
  }

  static void printLocation(llvm::raw_ostream &stream, Location location) {
    if (auto file = dyn_cast<FileLineColLoc>(location))
      stream << file.getFilename().getValue() << ":" << file.getLine() << ":"
             << file.getColumn() << ": ";
  }

  bool lower(const char *stage, ModuleOp module,
             llvm::function_ref<void(OpPassManager &)> build) {
    return timed(stage, [&] {
      PassManager pm(&context);
      // Between passes: of text, which may be anyone's; of specs in tests.
      pm.enableVerifier(request.verifyProtocol || !kIsRelease);
      build(pm);
      return succeeded(pm.run(module));
    });
  }

  llvm::Expected<CompileResult> generate(ModuleOp module, Stage stage) {
    auto machine = mla::createHostMachine(module);
    if (!machine)
      return mla::inStage("machine", machine.takeError());
    result.cpu = (*machine)->getTargetCPU().str();
    result.missingFeature = mla::findMissingFeature(module);
    llvm::LLVMContext llvmContext;
    mla::prepareContext(llvmContext);
    auto llvmModule = timed("translate", [&] {
      return mla::translateToLLVM(module, llvmContext, **machine);
    });
    if (!llvmModule)
      return failure("translate", llvmModule.takeError());
    if (llvm::Error error = timed(
            "optimize", [&] { return mla::optimize(**llvmModule, **machine); }))
      return mla::inStage("optimize", std::move(error));
    auto code = timed("codegen", [&] {
      return mla::emitMachineCode(**llvmModule, **machine,
                                  stage == Stage::Assembly
                                      ? mla::MachineFormat::Assembly
                                      : mla::MachineFormat::Object);
    });
    if (!code)
      return mla::inStage("codegen", code.takeError());
    if (llvm::Error error = mla::takeDiagnostics(llvmContext))
      return mla::inStage("codegen", std::move(error));
    return finish(std::move(*code));
  }

  /// LLVM IR after its passes, or PTX.
  llvm::Expected<CompileResult> generatePTX(ModuleOp module, Stage stage) {
    auto chip = mla::findGPUChip(request.chip);
    if (!chip)
      return chip.takeError();
    llvm::LLVMContext llvmContext;
    auto translated = timed("translate", [&] {
      return mla::translateToNVVM(module, llvmContext, *chip);
    });
    if (!translated)
      return translated.takeError();
    // MLIR has done its part.
    if (nvvmText)
      if (llvm::Error error =
              nvvmText->start([trail = request.trail](const std::string &text) {
                if (trail)
                  trail->reach(toString(Stage::NVVM), text);
              }))
        return std::move(error);
    llvm::Module &llvmModule = **translated;
    auto version =
        mla::ptxVersionFor(*chip, mla::findFeatures(llvmModule),
                           request.supportedPTX ? std::min(request.supportedPTX,
                                                           mla::kMaxPTXVersion)
                                                : mla::kMaxPTXVersion);
    if (!version)
      return version.takeError();
    if (request.entryThreads > 0 && stage != Stage::LLVM)
      return generateEntries(std::move(*translated), *chip, *version);
    auto machine = mla::createNVPTXMachine(*chip, *version);
    if (!machine)
      return machine.takeError();
    if (llvm::Error error = timed("optimize", [&] {
          return mla::optimizeForNVPTX(llvmModule, **machine);
        }))
      return std::move(error);
    if (stage == Stage::LLVM)
      return finish(textOf(llvmModule));
    keep(Stage::LLVM, llvmModule);
    auto ptx =
        timed("codegen", [&] { return mla::emitPTX(llvmModule, **machine); });
    if (!ptx)
      return ptx.takeError();
    return finish(std::move(*ptx));
  }

  template <typename T> void keep(Stage stage, const T &module) {
    if (!request.keepStages)
      return;
    std::string text = textOf(module);
    if (request.trail)
      request.trail->reach(toString(stage), text);
    result.stages.emplace_back(toString(stage), std::move(text));
  }

  /// PTX modules of the entries, one after the other.
  llvm::Expected<CompileResult>
  generateEntries(std::unique_ptr<llvm::Module> module,
                  const mla::GPUChip &chip, unsigned version) {
    auto entries = mla::emitEntries(std::move(module), chip, version,
                                    request.entryThreads);
    if (!entries)
      return entries.takeError();
    std::string text;
    double optimize = 0, codegen = 0;
    for (mla::EntryPTX &entry : *entries) {
      text += entry.ptx;
      optimize = std::max(optimize, entry.optimizeSeconds);
      codegen = std::max(codegen, entry.codegenSeconds);
    }
    result.times.push_back({"optimize", optimize});
    result.times.push_back({"codegen", codegen});
    if (nvvmText) {
      auto printed = nvvmText->wait();
      if (!printed)
        return printed.takeError();
      result.stages.emplace_back(toString(Stage::NVVM), std::move(*printed));
    }
    return finish(std::move(text));
  }

  llvm::Expected<CompileResult> finish(std::string text) {
    result.text = std::move(text);
    return std::move(result);
  }

  /// With what MLIR said of it, which is more.
  llvm::Error failure(const char *stage, llvm::Error error) const {
    std::string text = llvm::toString(std::move(error));
    return createStringError(std::string("stage '") + stage + "': " + text +
                             (diagnostics.empty() ? "" : ": " + diagnostics));
  }
  llvm::Error failure(const char *stage) const {
    std::string text =
        std::string("stage '") + stage +
        "': " + (diagnostics.empty() ? "failed without a reason" : diagnostics);
    if (isRefused)
      return llvm::make_error<UnsupportedError>(std::move(text));
    return createStringError(text);
  }

  const CompileRequest &request;
  MLIRContext context;
  std::string diagnostics;
  bool isRefused = false; ///< an error says that there is no lowering
  ScopedDiagnosticHandler handler;
  CompileResult result;
  std::optional<TextBeside>
      nvvmText; ///< of Stage::NVVM, if not printed at once
};

} // namespace

llvm::Expected<CompileResult> compile(const CompileRequest &request,
                                      Stage stage) {
  if (!request.chip.empty())
    if (auto chip = mla::findGPUChip(request.chip); !chip)
      return invalid(ofOption("target"), chip.takeError());
  // On a thread where LLVM's fatal errors do no harm.
  return mla::runContainedFor<CompileResult>(
      "compile", [request, stage] { return Compilation(request).run(stage); },
      request.timeLimit);
}

} // namespace mla_jit
