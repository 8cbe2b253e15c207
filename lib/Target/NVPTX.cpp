//===- NVPTX.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/NVPTX.h"
#include "PassPipeline.h"
#include "Placement.h"
#include "mla/Target/Contained.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace mlir::mla;
using llvm::createStringError;

static constexpr const char *kTriple = "nvptx64-nvidia-cuda";
static constexpr const char *kReqntid = "nvvm.reqntid";
static constexpr const char *kMinctasm = "nvvm.minctasm";
static constexpr StringRef kIntrinsicPrefix = "llvm.nvvm.";

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const GPUChip &chip, unsigned ptxVersion) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  if (ptxVersion < chip.minPTXVersion || ptxVersion > kMaxPTXVersion)
    return createStringError(chip.name + " requires a PTX version from " +
                             formatPTXVersion(chip.minPTXVersion) + " to " +
                             formatPTXVersion(kMaxPTXVersion) + ", but got " +
                             formatPTXVersion(ptxVersion));
  llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(error);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip.name, "+ptx" + std::to_string(ptxVersion), {}, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Default));
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
mla::createNVPTXMachine(const GPUChip &chip, unsigned ptxVersion) {
  return runStage("machine", [&] { return createMachine(chip, ptxVersion); });
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

/// Says of a call of inline assembly what MLIR has no words for.
static void pinInlineAsm(llvm::CallBase &call) {
  auto *assembly = cast<llvm::InlineAsm>(call.getCalledOperand());
  call.setConvergent();
  std::string constraints = assembly->getConstraintString().str();
  bool clobbers = StringRef(constraints).contains("~{memory}");
  if (!assembly->hasSideEffects() && !clobbers) {
    call.setDoesNotAccessMemory();
    return;
  }
  if (!clobbers)
    constraints += (constraints.empty() ? "" : ",") + std::string("~{memory}");
  call.setCalledOperand(llvm::InlineAsm::get(
      assembly->getFunctionType(), assembly->getAsmString(), constraints,
      /*hasSideEffects=*/true, assembly->isAlignStack(), assembly->getDialect(),
      assembly->canThrow()));
}

/// Some intrinsics promise LLVM more than they keep: fences, commits and waits
/// of asynchronous copies are not declared convergent, and such a copy to touch
/// its operands alone, though it lasts until a wait.
static void pinIntrinsic(llvm::Function &function) {
  StringRef name = function.getName().drop_front(kIntrinsicPrefix.size());
  bool copies = name.starts_with("cp.async") || name.starts_with("cp.reduce");
  if (copies)
    function.setMemoryEffects(llvm::MemoryEffects::unknown());
  static constexpr StringLiteral kFamilies[] = {
      "cp.",         "mbarrier.", "barrier.", "fence.",  "wgmma.",
      "setmaxnreg.", "elect.",    "griddep",  "tcgen05."};
  if (copies || llvm::any_of(kFamilies, [&](StringRef family) {
        return name.starts_with(family);
      }))
    for (llvm::User *user : function.users())
      if (auto *call = dyn_cast<llvm::CallBase>(user))
        call->setConvergent();
}

/// The assembler ignores setmaxnreg (C7508) if it does not know how many
/// registers a thread starts with.
static llvm::Error checkRegisterBudgets(llvm::Module &module) {
  SmallVector<llvm::Function *> worklist;
  llvm::SmallPtrSet<llvm::Function *, 8> reaching;
  auto add = [&](llvm::Function *function) {
    if (reaching.insert(function).second)
      worklist.push_back(function);
  };
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::CallBase>(&instruction)) {
        llvm::Function *callee = call->getCalledFunction();
        StringRef text;
        if (callee)
          text = callee->getName();
        else if (call->isInlineAsm())
          text =
              cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
        if (text.contains("setmaxnreg"))
          add(&function);
      }
  while (!worklist.empty()) {
    llvm::Function *function = worklist.pop_back_val();
    if (function->getCallingConv() == llvm::CallingConv::PTX_Kernel)
      for (const char *attribute : {kReqntid, kMinctasm})
        if (!function->hasFnAttribute(attribute))
          return createStringError("kernel '" + function->getName() +
                                   "' uses setmaxnreg, which "
                                   "requires " +
                                   attribute + ", but has none");
    for (llvm::User *user : function->users())
      if (auto *call = dyn_cast<llvm::CallBase>(user))
        add(call->getFunction());
  }
  return llvm::Error::success();
}

/// Lowers in place the nvvm ops that stand for inline assembly, and translates.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context) {
  MLIRContext *mlirContext = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  mlirContext->appendDialectRegistry(registry);

  std::string reasons;
  ScopedDiagnosticHandler handler(mlirContext, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    llvm::raw_string_ostream stream(reasons);
    stream << (reasons.empty() ? "" : "\n") << diagnostic;
    return success();
  });
  auto fail = [&] {
    return createStringError("translation to LLVM IR failed: " +
                             (reasons.empty() ? "no reason given" : reasons));
  };
  PassManager passes(mlirContext);
  // The LLVM IR is.
  passes.enableVerifier(false);
  passes.addPass(createConvertNVVMToLLVMPass());
  if (failed(passes.run(module)))
    return fail();
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "mla_kernel");
  if (!result)
    return fail();
  return result;
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
translateAndPin(ModuleOp module, llvm::LLVMContext &context,
                const GPUChip &chip) {
  prepareContext(context);
  auto result = translate(module, context);
  if (!result)
    return result.takeError();
  llvm::Module &llvmModule = **result;
  llvm::Triple triple(kTriple);
  llvmModule.setTargetTriple(triple);
  llvmModule.setDataLayout(triple.computeDataLayout());
  for (llvm::Function &function : llvmModule) {
    if (function.getName().starts_with(kIntrinsicPrefix)) {
      pinIntrinsic(function);
      continue;
    }
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::NoUnwind);
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::CallBase>(&instruction))
        if (call->isInlineAsm())
          pinInlineAsm(*call);
  }
  // Any PTX version: that is the caller's question.
  if (auto version = ptxVersionFor(chip, findFeatures(llvmModule), ~0u);
      !version)
    return version.takeError();
  if (llvm::Error error = checkRegisterBudgets(llvmModule))
    return std::move(error);
  if (llvm::Error error = takeDiagnostics(context))
    return std::move(error);
  return result;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mla::translateToNVVM(ModuleOp module, llvm::LLVMContext &context,
                     const GPUChip &chip) {
  return runStage("translate",
                  [&] { return translateAndPin(module, context, chip); });
}

//===----------------------------------------------------------------------===//
// Passes and code
//===----------------------------------------------------------------------===//

// Schedules unroll and the assembler schedules, hoists and allocates; what is
// left is to clean up after the lowering. Loops are not rotated and branches
// not merged, so that every convergent call stays where and as often as it was.
static constexpr const char *kPipeline =
    "always-inline,globaldce,"
    "function(sroa,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,"
    "simplifycfg<no-hoist-common-insts;no-sink-common-insts>,"
    "loop-mssa(licm),early-cse,adce)";

static llvm::Error runPasses(llvm::Module &module,
                             llvm::TargetMachine &machine) {
  if (llvm::Error error = runPassPipeline(module, machine, kPipeline))
    return error;
  for (llvm::Function &function : module) {
    sinkComparisons(function);
    extendAtLoads(function);
  }
  return takeDiagnostics(module.getContext());
}

llvm::Error mla::optimizeForNVPTX(llvm::Module &module,
                                  llvm::TargetMachine &machine) {
  ContainedStage stage("optimize");
  if (llvm::Error error = runPasses(module, machine))
    return inStage("optimize", std::move(error));
  return llvm::Error::success();
}

namespace {
/// Passes that LLVM's backend runs before it selects instructions, in a third
/// of its time, to no effect on code that runPasses() has been over; but for
/// loop strength reduction, whose additional counters cost registers. Those of
/// functions are asked for by their argument, those of loops by their name.
/// Straight-line strength reduction stays: without it, score code may spill.
class BackendPasses : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef name, StringRef) const override {
    static constexpr StringLiteral kSkipped[] = {
        "nary-reassociate",
        "Loop Strength Reduction",
        "Canonicalize Freeze Instructions in Loops",
        "load-store-vectorizer",
        "early-cse",
        "codegenprepare"};
    return !llvm::is_contained(kSkipped, name);
  }
};
} // namespace

static llvm::Expected<std::string> emit(llvm::Module &module,
                                        llvm::TargetMachine &machine) {
  static BackendPasses backendPasses;
  module.getContext().setOptPassGate(backendPasses);
  SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return createStringError("the target emits no PTX");
  passes.run(module);
  if (llvm::Error error = takeDiagnostics(module.getContext()))
    return std::move(error);
  return code.str().str();
}

llvm::Expected<std::string> mla::emitPTX(llvm::Module &module,
                                         llvm::TargetMachine &machine) {
  return runStage("codegen", [&] { return emit(module, machine); });
}
