//===- NVPTX.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From the nvvm level to PTX for an NVIDIA GPU, in process.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_NVPTX_H
#define MLA_TARGET_NVPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::mla {

//===----------------------------------------------------------------------===//
// Chips, instructions and PTX versions
//===----------------------------------------------------------------------===//

/// PTX versions are written as 10 times the version: 80 is PTX 8.0.
struct GPUChip {
  /// As ptxas and LLVM name it: "sm_90a".
  llvm::StringLiteral name;
  /// 90 of "sm_90a".
  unsigned smVersion;
  /// Ends in 'a': has instructions that no other architecture runs.
  bool archSpecific;
  /// The first PTX version that knows the chip.
  unsigned minPTXVersion;
};

/// Instructions that not every chip or PTX version has.
struct GPUFeature {
  llvm::StringLiteral name;
  unsigned minSMVersion;
  unsigned maxSMVersion;
  /// Requires a chip that ends in 'a'.
  bool archSpecific;
  unsigned minPTXVersion;
};

/// The newest PTX version that LLVM writes.
inline constexpr unsigned kMaxPTXVersion = 90;

/// The chips that are accepted.
ArrayRef<GPUChip> getGPUChips();
/// The chip of that name, or an error that lists those accepted.
llvm::Expected<GPUChip> findGPUChip(StringRef name);

/// "8.0" of 80.
std::string formatPTXVersion(unsigned version);

/// The features that the intrinsics and inline assembly of `module` use.
SmallVector<const GPUFeature *> findFeatures(const llvm::Module &module);

/// The oldest PTX version that has the chip and all features. It is an error,
/// which states what was found and what is required, if the chip lacks a
/// feature, or if `supported` (what LLVM, the assembler and the driver all
/// read) is older than that version.
llvm::Expected<unsigned> ptxVersionFor(const GPUChip &chip,
                                       ArrayRef<const GPUFeature *> features,
                                       unsigned supported = kMaxPTXVersion);

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//
//
// LLVM may end the process in any of these functions unless they run inside
// runContained (mla/Target/Contained.h).

/// A machine of the chip that writes PTX of that version.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createNVPTXMachine(const GPUChip &chip, unsigned ptxVersion);

/// Translates a module of llvm and nvvm ops, after lowering in place the nvvm
/// ops that stand for inline assembly. Prepares `context` (prepareContext). In
/// the result
/// - every call of inline assembly is convergent; with side effects it also
///   clobbers memory, without it is a function of its operands;
/// - so is every call that synchronises threads, and no asynchronous copy
///   promises what memory it touches;
/// - a kernel that reaches setmaxnreg has reqntid and minctasm, without which
///   the assembler drops it: anything else is an error.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToNVVM(ModuleOp module, llvm::LLVMContext &context,
                const GPUChip &chip);

/// Runs the few LLVM passes that pay for code that a schedule has shaped. None
/// moves, duplicates or merges convergent calls.
llvm::Error optimizeForNVPTX(llvm::Module &module,
                             llvm::TargetMachine &machine);

/// The module as PTX; leaves the module unusable.
llvm::Expected<std::string> emitPTX(llvm::Module &module,
                                    llvm::TargetMachine &machine);

/// PTX of one kernel, and what it took to make.
struct EntryPTX {
  std::string ptx;
  double optimizeSeconds = 0, codegenSeconds = 0;
};

/// Optimises and emits each kernel of the module as a module of its own, in
/// their order, on up to `threads` threads. To be called within runContained:
/// the other threads run contained calls, each with a context of its own.
llvm::Expected<std::vector<EntryPTX>>
emitEntries(std::unique_ptr<llvm::Module> module, const GPUChip &chip,
            unsigned ptxVersion, unsigned threads);

} // namespace mlir::mla

#endif // MLA_TARGET_NVPTX_H
