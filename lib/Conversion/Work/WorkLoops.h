//===- WorkLoops.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Expansion of mla.plan, mla.for_work and mla.for_split into loops over the
// lengths: the scheduler, shared by all targets. Nothing is stored: every
// worker scans the lengths, which are few, and finds its own pieces.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_WORKLOOPS_H
#define MLA_CONVERSION_WORK_WORKLOOPS_H

#include "Items.h"

namespace mlir::mla {

/// Emits the loops of a worker's pieces; calls `body` once, at the place where
/// the code of a piece belongs.
void expandForWork(OpBuilder &builder, ForWorkOp op, PlanOp plan,
                   llvm::function_ref<void(const ItemValues &, Value first,
                                           Value end, Value whole)>
                       body);

/// The same for the items that were split.
void expandForSplit(
    OpBuilder &builder, ForSplitOp op, PlanOp plan,
    llvm::function_ref<void(const ItemValues &, Value pieces)> body);

/// Expands mla.full_tiles to [begin, end).
std::pair<Value, Value> expandFullTiles(OpBuilder &builder, FullTilesOp op,
                                        PlanOp plan, const ItemValues &item,
                                        Value first, Value end);

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_WORKLOOPS_H
