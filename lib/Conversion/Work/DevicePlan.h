//===- DevicePlan.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The scheduler of a GPU. Every CTA runs it by itself, from the lengths alone,
// and finds its own pieces of work. What is split, those that merge find in the
// same way while the others work; or one of these lists it, where there is no
// room for both. (Or an entry of its own does both, for all workers, and
// launches share it.)
//
// A unit is `row_blocks` neighbouring row blocks of a request and KV head.
// Groups of as many CTAs side by side do units, a CTA for each row block, so
// that they share pages through L2: CTA c is number c mod row_blocks of group
// c / row_blocks. (Pieces by count, and grids of less than row_blocks CTAs,
// have units and groups of one.) A piece is consecutive tiles of a unit, done
// by a group; it has the same slot arithmetic for all row blocks of the unit.
//
// With `pairs`, where the grid has two CTAs for each unit, and lengths are near
// to even, CTAs 2i and 2i + 1 do the halves of one, and merge them themselves.
//
// Limits: indices are 32 bits wide, so tiles of all units together, each with
// one more, must be below 2^31, and so must keys of a request + block_n.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_DEVICEPLAN_H
#define MLA_CONVERSION_WORK_DEVICEPLAN_H

#include "Items.h"

namespace mlir::mla {

/// Groups are at most so many, more than any GPU has SMs.
inline constexpr int64_t kMaxGroups = 256;

/// Where a CTA finds its work.
struct WorkBuffers {
  Value workList;  ///< ?x8xi32 of the workspace, counted by piece
  Value workRange; ///< 2xi32 of the CTA's own: begin and end of its entries
};

/// What is to be merged.
struct SplitBuffers {
  Value splitList;  ///< ?x8xi32 of the workspace, counted by piece
  Value splitCount; ///< ?x1xi32: the first one; if emitDevicePlan writes it
  Value staging;    ///< kMaxGroups x 8xi32 of the CTA's own
};

/// Emits the plan of one CTA's work, outside of roles. All threads of the CTA
/// see its part of the list afterwards. The last CTA, which has the least to
/// do, also lists what is split, if there are buffers for that.
void emitDevicePlan(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                    bool pairs, Value worker, const WorkBuffers &buffers,
                    const SplitBuffers *splits);

/// Emits, for the CTAs that merge, what emitDevicePlan splits for all workers.
/// Every CTA writes the same list, and sees it; the result is the number of its
/// entries.
Value emitDeviceSplits(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                       bool pairs, const SplitBuffers &buffers);

/// Where launches find a plan that they share; the last two are null where
/// nothing is split.
struct SharedPlan {
  Value workList, workRange;   ///< ?x8xi32 by piece, ?x2xi32 by worker
  Value splitList, splitCount; ///< ?x8xi32 by piece, ?x1xi32: the first one
};

/// Emits, for one worker, the plan that launches share: the ops that find it,
/// and stores of what these return.
void emitSharedPlan(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                    bool pairs, Value worker, const SharedPlan &lists);

/// The slot of a piece that two CTAs merge themselves.
inline constexpr int64_t kSlotOfPair = -2;

/// An entry of the work list: tiles [firstTile, firstTile + numTiles) of an
/// item. A piece of no tiles is done too: it stores zeros and -inf.
struct WorkItem {
  ItemValues item; ///< with the slot, where not whole
  Value whole;     ///< i1: the item's only piece
  Value index;     ///< of the entry
  Value firstTile, numTiles;
};
WorkItem loadWorkItem(OpBuilder &builder, Location loc, PlanOp plan,
                      Value workList, Value index);
/// The same without what the item's rows are and see.
WorkItem loadWorkFields(OpBuilder &builder, Location loc, PlanOp plan,
                        Value workList, Value index);

/// An entry of the list of items to merge, with its slots.
struct SplitItem {
  ItemValues item;
  Value pieces;
};
SplitItem loadSplitItem(OpBuilder &builder, Location loc, PlanOp plan,
                        Value splitList, Value index);

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_DEVICEPLAN_H
