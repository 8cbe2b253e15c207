//===- Compiler.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Pipelines/Pipelines.h"
#include "mla/Pipelines/Registration.h"
#include "mla/Target/Host.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace mlir;
using llvm::createStringError;

namespace mla_jit {

//===----------------------------------------------------------------------===//
// #mla.kernel to plain data
//===----------------------------------------------------------------------===//

template <typename T> static std::string textOf(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static DType dtypeOf(Type type) { return parseDType(textOf(type)); }

static llvm::Expected<ArgumentInfo>
describeArgument(mla::ArgumentAttr argument) {
  ArgumentInfo info;
  info.name = argument.getName().str();
  auto memref = dyn_cast<MemRefType>(argument.getType());
  info.isTensor = static_cast<bool>(memref);
  info.dtype = dtypeOf(memref ? memref.getElementType() : argument.getType());
  if (argument.getType().isIndex())
    info.dtype = DType::I64;
  if (info.dtype == DType::None)
    return createStringError("argument '" + info.name + "' of type " +
                             textOf(argument.getType()) +
                             " cannot be passed at launch");
  if (!memref)
    return info;
  if (memref.getRank() > Tensor::kMaxRank)
    return createStringError("argument '" + info.name + "' has rank " +
                             std::to_string(memref.getRank()) +
                             ", over the limit of 4");
  info.rank = memref.getRank();
  auto [strides, offset] = memref.getStridesAndOffset();
  if (offset != 0 && !ShapedType::isDynamic(offset))
    return createStringError("argument '" + info.name +
                             "' requires offset 0, but has " +
                             std::to_string(offset));
  auto orDynamic = [](int64_t v) { return ShapedType::isDynamic(v) ? -1 : v; };
  for (int i = 0; i < info.rank; ++i) {
    info.shape[i] = orDynamic(memref.getDimSize(i));
    info.stride[i] = orDynamic(strides[i]);
  }
  return info;
}

static KernelInfo::Buffer describeBuffer(mla::BufferAttr buffer) {
  KernelInfo::Buffer info;
  auto type = cast<MemRefType>(buffer.getType());
  info.name = buffer.getName().str();
  info.perSlot = buffer.getScope() == mla::BufferScope::Slot;
  info.rank = type.getRank();
  info.bytesEach = type.getElementTypeBitWidth() / 8;
  for (int i = 0; i < info.rank; ++i) {
    info.shape[i] = i ? type.getDimSize(i) : -1;
    if (i)
      info.bytesEach *= type.getDimSize(i);
  }
  return info;
}

static llvm::Expected<std::shared_ptr<KernelInfo>>
describeKernel(ModuleOp module) {
  auto kernel =
      module->getAttrOfType<mla::KernelAttr>(mla::MLADialect::kKernel);
  if (!kernel)
    return createStringError(
        "the module has no mla.decode and no tile entry to compile");
  auto info = std::make_shared<KernelInfo>();
  for (mla::ArgumentAttr argument : kernel.getArguments()) {
    auto described = describeArgument(argument);
    if (!described)
      return described.takeError();
    info->arguments.push_back(*described);
  }
  for (mla::BufferAttr buffer : kernel.getWorkspace())
    info->workspace.push_back(describeBuffer(buffer));

  for (mla::EntryAttr entry : kernel.getEntries()) {
    KernelInfo::Entry described{entry.getSymbol().str(), {}};
    for (mla::ParamAttr param : entry.getParams()) {
      StringRef name = param.getName();
      KernelInfo::Param p{static_cast<KernelInfo::ParamKind>(param.getKind()),
                          KernelInfo::Source::Argument, -1,
                          static_cast<int>(param.getDim())};
      if (name == mla::argument_names::kWorker)
        p.source = KernelInfo::Source::Worker;
      else if (name == mla::argument_names::kNumWorkers)
        p.source = KernelInfo::Source::NumWorkers;
      else if (p.index = info->find(name); p.index < 0) {
        p.source = KernelInfo::Source::Workspace;
        for (auto [i, buffer] : llvm::enumerate(info->workspace))
          if (buffer.name == name)
            p.index = i;
        if (p.index < 0)
          return createStringError(
              "parameter '" + name + "' of entry '" + described.symbol +
              "' is neither an argument nor in the workspace");
      }
      described.params.push_back(p);
    }
    info->entries.push_back(std::move(described));
  }
  info->schedule = textOf(kernel.getSchedule());
  info->mask = textOf(kernel.getMask());
  info->blockM = kernel.getSchedule().getBlockM();
  info->kvHeads = kernel.getKvHeads();
  info->group = kernel.getGroup();
  if (kernel.getSchedule().getSplit() == mla::SplitPolicy::RowLocal)
    info->defaultSplits = mla::kMaxRowLocalSplits;
  return info;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {

/// Times stages and gathers diagnostics.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request)
      : request(request),
        context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return;
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
    OwningOpRef<ModuleOp> module;
    ParserConfig config(&context);
    time("parse", [&] {
      module = parseSourceString<ModuleOp>(request.mlir, config, request.name);
    });
    if (!module)
      return failure("parse");
    if (stage == Stage::Problem)
      return finish(textOf(*module));

    mla::ProblemToTileOptions options;
    options.cpu = request.cpu;
    options.split = request.rowLocalSplits ? "row_local" : "balanced";
    if (!lower("tile", *module, [&](OpPassManager &pm) {
          mla::buildProblemToTile(pm, options);
        }))
      return failure("tile");
    if (stage == Stage::Tile)
      return finish(textOf(*module));
    if (!lower("host", *module, mla::buildTileToHost))
      return failure("host");
    auto info = describeKernel(*module);
    if (!info)
      return info.takeError();
    result.info = *info;
    if (stage == Stage::Host)
      return finish(textOf(*module));
    if (!lower("llvm", *module, mla::buildHostToLLVM))
      return failure("llvm");
    if (stage == Stage::LLVM)
      return finish(textOf(*module));
    return generate(*module, stage);
  }

private:
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

  template <typename F> void time(const char *stage, F body) {
    auto start = std::chrono::steady_clock::now();
    body();
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.times.push_back({stage, elapsed.count()});
  }

  bool lower(const char *stage, ModuleOp module,
             llvm::function_ref<void(OpPassManager &)> build) {
    bool ok = false;
    time(stage, [&] {
      PassManager pm(&context);
      build(pm);
      ok = succeeded(pm.run(module));
    });
    return ok;
  }

  llvm::Expected<CompileResult> generate(ModuleOp module, Stage stage) {
    auto machine = mla::createHostMachine(module);
    if (!machine)
      return machine.takeError();
    result.cpu = (*machine)->getTargetCPU().str();
    result.missingFeature = mla::findMissingFeature(module);
    llvm::LLVMContext llvmContext;
    std::unique_ptr<llvm::Module> llvmModule;
    llvm::Error error = llvm::Error::success();
    time("translate", [&] {
      auto translated = mla::translateToLLVM(module, llvmContext, **machine);
      if (translated)
        llvmModule = std::move(*translated);
      else
        error = translated.takeError();
    });
    if (error)
      return std::move(error);
    time("optimize", [&] { error = mla::optimize(*llvmModule, **machine); });
    if (error)
      return std::move(error);
    std::string code;
    time("codegen", [&] {
      auto emitted = mla::emitMachineCode(*llvmModule, **machine,
                                          stage == Stage::Assembly
                                              ? mla::MachineFormat::Assembly
                                              : mla::MachineFormat::Object);
      if (emitted)
        code = std::move(*emitted);
      else
        error = emitted.takeError();
    });
    if (error)
      return std::move(error);
    return finish(std::move(code));
  }

  llvm::Expected<CompileResult> finish(std::string text) {
    result.text = std::move(text);
    return std::move(result);
  }

  llvm::Error failure(const char *stage) {
    return createStringError(
        "stage '" + llvm::Twine(stage) + "': " +
        (diagnostics.empty() ? "failed without a reason" : diagnostics));
  }

  const CompileRequest &request;
  MLIRContext context;
  std::string diagnostics;
  ScopedDiagnosticHandler handler;
  CompileResult result;
};

} // namespace

llvm::Expected<TargetInfo> describeTarget(const std::string &cpu) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<mla::MLADialect>();
  std::string reason;
  FailureOr<mla::TargetAttr> target =
      mla::makeHostTarget(&context, cpu, reason);
  if (failed(target))
    return createStringError("option 'cpu' " + reason);
  return TargetInfo{target->getCpu().str(),  target->getFeatures().str(),
                    target->getVectorBits(), target->getVectorRegisters(),
                    target->getL1Bytes(),    target->getL2Bytes()};
}

llvm::Expected<CompileResult> compile(const CompileRequest &request,
                                      Stage stage) {
  return Compilation(request).run(stage);
}

} // namespace mla_jit
