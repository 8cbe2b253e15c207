//===- Placement.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What LLVM's CodeGenPrepare does that NVIDIA's assembler does not make up for,
// in a small part of its time.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_PLACEMENT_H
#define MLA_TARGET_PLACEMENT_H

namespace llvm {
class Function;
}

namespace mlir::mla {

/// Does comparisons again in each block where they are used: there are seven
/// predicates, and one that lives on from block to block ends in a register,
/// with instructions to move it there and back.
void sinkComparisons(llvm::Function &function);

/// Puts the sign extension of a loaded value beside the load, so that the load
/// extends.
void extendAtLoads(llvm::Function &function);

} // namespace mlir::mla

#endif // MLA_TARGET_PLACEMENT_H
