//===- Host.h ------------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From the llvm level to machine code for a CPU, in process.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_HOST_H
#define MLA_TARGET_HOST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::mla {

/// A machine of the module's `#mla.target`.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostMachine(ModuleOp module);

/// A feature whose instructions the target's code may hold and this machine has
/// not; empty if it has all.
std::string findMissingFeature(ModuleOp module);

/// Translates a module of the llvm level. For each entry of its `mla.kernel`
/// there is a function `<symbol>_packed(void **)` beside it, which takes a
/// pointer to each parameter: the form in which the runtime calls.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                llvm::TargetMachine &machine);

/// Runs the few LLVM passes that pay for code that a schedule has shaped.
llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// A relocatable object (ELF), or assembly.
enum class MachineFormat { Object, Assembly };
llvm::Expected<std::string> emitMachineCode(llvm::Module &module,
                                            llvm::TargetMachine &machine,
                                            MachineFormat format);

} // namespace mlir::mla

#endif // MLA_TARGET_HOST_H
