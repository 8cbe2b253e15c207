//===- PassPipeline.h -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_TARGET_PASSPIPELINE_H
#define MLA_LIB_TARGET_PASSPIPELINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::mla {

/// Runs a textual pipeline of LLVM passes over a module. Between passes a
/// thread whose time limit has passed stands still (see Contained.h).
llvm::Error runPassPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                            llvm::StringRef pipeline);

} // namespace mlir::mla

#endif // MLA_LIB_TARGET_PASSPIPELINE_H
