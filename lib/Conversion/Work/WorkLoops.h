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

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/IR/Builders.h"

namespace mlir::mla {

/// What an `!mla.item` stands for; values of type index.
struct ItemValues {
  Value request, kvHead;
  Value qBase;     ///< ragged: index of the request's first query; uniform: 0
  Value qLen;      ///< queries of the request
  Value kvLen;     ///< keys of the request
  Value firstRow;  ///< first row of the block, of qLen * group
  Value numRows;   ///< rows of the block that exist, 1..block_m
  KeyRange keys;   ///< what the block's rows see
  Value firstTile; ///< of the hull
  Value numTiles;  ///< of the hull; 0 where no row sees a key
  Value slot;      ///< for_work: partial slot of this piece
  Value firstSlot, nextSlot,
      slotStride; ///< for_split: the pieces' slots:
                  ///< firstSlot, then nextSlot + i * slotStride
};

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
