//===- Host.cpp -----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/Host.h"
#include "PassPipeline.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Target/Contained.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <mutex>

using namespace mlir;

static constexpr const char *kTriple = "x86_64-unknown-linux-gnu";

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
mla::createHostMachine(ModuleOp module) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
  auto target = module->getAttrOfType<TargetAttr>(MLADialect::kTarget);
  if (!target || !target.isHost())
    return llvm::createStringError(
        "the module has no host target (mla.target)");
  llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return llvm::createStringError(error);
  // LLVM prefers 256-bit vectors on some CPUs with AVX-512; the schedule
  // decides.
  std::string features = target.getFeatures().str();
  if (target.getVectorBits() == 512)
    features += (features.empty() ? "" : ",") + std::string("-prefer-256-bit");
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.getCpu().getValue(), features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Whether LLVM selects instructions of a feature without being told to:
/// vectors and bit operations, unlike tiles, transactions or user interrupts,
/// which hypervisors like to hide.
static bool isSelected(StringRef feature) {
  for (StringRef family : {"sse", "ssse", "avx", "bmi"})
    if (feature.starts_with(family))
      return true;
  return llvm::is_contained({"fma", "f16c", "popcnt", "lzcnt", "movbe", "cx16"},
                            feature);
}

std::string mla::findMissingFeature(ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(MLADialect::kTarget);
  SmallVector<StringRef> needed, changes;
  llvm::X86::getFeaturesForCPU(target.getCpu().getValue(), needed);
  target.getFeatures().getValue().split(changes, ',', -1, /*KeepEmpty=*/false);
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (StringRef feature : needed) {
    auto found = host.find(feature);
    if (isSelected(feature) && found != host.end() && !found->second &&
        !llvm::is_contained(changes, ("-" + feature).str()))
      return feature.str();
  }
  return {};
}

/// Adds `<symbol>_packed(void **arguments)`, which loads each parameter of the
/// function and calls it.
static void addPackedEntry(llvm::Module &module, llvm::Function &function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy();
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), {pointer}, false);
  auto *packed = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                        function.getName() + "_packed", module);
  packed->copyAttributesFrom(&function);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", packed));
  SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : function.args()) {
    llvm::Value *slot = builder.CreateConstGEP1_64(pointer, packed->getArg(0),
                                                   argument.getArgNo());
    llvm::Value *address = builder.CreateLoad(pointer, slot);
    arguments.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&function, arguments);
  builder.CreateRetVoid();
  function.setLinkage(llvm::Function::InternalLinkage);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mla::translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                     llvm::TargetMachine &machine) {
  auto kernel = module->getAttrOfType<KernelAttr>(MLADialect::kKernel);
  if (!kernel)
    return llvm::createStringError(
        "the module has no mla.kernel: it is not at the llvm level");
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  prepareContext(context);
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "mla_kernel");
  if (!result)
    return llvm::createStringError("translation to LLVM IR failed");
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *result)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine.getTargetCPU());
      function.addFnAttr("target-features", machine.getTargetFeatureString());
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  for (EntryAttr entry : kernel.getEntries()) {
    llvm::Function *function =
        result->getFunction(entry.getSymbol().getValue());
    if (!function || function->arg_size() != entry.getParams().size())
      return llvm::createStringError(
          "entry '" + entry.getSymbol().getValue() +
          "' of mla.kernel does not describe its function");
    addPackedEntry(*result, *function);
  }
  return result;
}

// The schedule has vectorised and unrolled; what is left is to clean up after
// the lowering and to hoist. LLVM's -O2 takes 7 times as long for code as fast.
static constexpr const char *kPipeline =
    "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

llvm::Error mla::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  return runPassPipeline(module, machine, kPipeline);
}

llvm::Expected<std::string> mla::emitMachineCode(llvm::Module &module,
                                                 llvm::TargetMachine &machine,
                                                 MachineFormat format) {
  SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  auto type = format == MachineFormat::Object
                  ? llvm::CodeGenFileType::ObjectFile
                  : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError(
        "the target emits no machine code of this form");
  passes.run(module);
  if (llvm::Error error = takeDiagnostics(module.getContext()))
    return std::move(error);
  return code.str().str();
}
