//===- DevicePlanner.h ---------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What emitDevicePlan is made of. Units lie on a line in the order of the list
// (request, KV head, rows), each with a weight; group g owns the cells
// [g share, (g + 1) share) of it. How long units are on the line and what share
// is decides everything:
//
//   whole    unit = longest unit, share = so many units a group
//   aligned  unit = its tiles, rounded up to pieces; share = one piece
//   ranges   unit = its tiles + 1; share = the mean
//   pairs    unit = two halves of the longest unit; share = one
//   by count unit = its tiles; a piece is done where its first tile lies
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_DEVICEPLANNER_H
#define MLA_CONVERSION_WORK_DEVICEPLANNER_H

#include "DevicePlan.h"

namespace mlir::mla {

/// Fields of an entry of the work list, and of the list of what is split; of a
/// staged unit, kRowBlocks takes the place of the first slot.
namespace plan_fields {
enum WorkField { kRequest, kKVHead, kFirstRow, kTile, kTiles, kSlot, kKeys };
enum SplitField { kPieces = kFirstRow + 1, kFirst, kNext, kStride };
inline constexpr int64_t kQueries = 7;
inline constexpr int64_t kRowBlocks = kFirst;
} // namespace plan_fields

class DevicePlanner {
public:
  DevicePlanner(OpBuilder &builder, PlanOp plan, int64_t rowBlocks, bool pairs);
  /// Writes the pieces of one CTA. With `splits`, the last CTA also lists what
  /// all together split, and how many they are, by the scans of its own work.
  void emitWork(Value worker, const WorkBuffers &buffers,
                const SplitBuffers *splits);
  /// Lists what all CTAs together split, and returns the number of entries.
  Value emitSplits(const SplitBuffers &buffers);

private:
  struct Unit {
    ItemValues item; ///< with the hull of all its rows
    Value blocks;    ///< row blocks that exist
    Value tiles;     ///< of the hull, at least 1: without keys it is work too
    Value ordinal;   ///< of all units, on the line; known while placing
    Value pieces;    ///< by count; null: not known yet
  };
  /// How a unit is cut by a count.
  struct Cut {
    Value size, pieces;
  };
  using State = SmallVector<Value>;

  //===--- DevicePlanner.cpp: where units lie -----------------------------===//

  void emitGroups();
  void emitRatios(Value units);
  void emitTotals();
  void choosePolicy();
  void choosePairs(Value isWhole, Value aim);
  Value leastPiece();

  /// Emits mla_gpu.scan; `own` is what `values` gave. `then` may be null.
  State
  scan(Value count, ArrayRef<StringRef> kinds,
       llvm::function_ref<State(Value number)> values,
       llvm::function_ref<void(Value number, ValueRange before, ValueRange own)>
           then);
  /// Visits the units of a number of the scans in order, with a state. Uniform
  /// queries: a number is a unit; ragged: a request.
  State forUnits(Value number, ValueRange init,
                 llvm::function_ref<State(Unit &, ValueRange)> visit);
  /// Unit `index` of a request with so many units and blocks a KV head.
  Unit unitAt(ItemValues request, Value index, Value units, Value blocks);
  Value unitsOf(Value blocks);
  Value blocksOf(const ItemValues &request);

  Value weight(const Unit &unit);
  /// Where a unit that begins at `start` stops: `own` is what its number gave.
  Value stopOf(const Unit &unit, Value start, ValueRange own) {
    return ix.add(start, isRagged() ? weight(unit) : own[0]);
  }
  Cut cut(const Unit &unit);
  /// One of two computations of `count` indices. Constant conditions leave no
  /// branch, here and below.
  State branch(Value condition, unsigned count,
               llvm::function_ref<State()> emitThen,
               llvm::function_ref<State()> emitElse);
  void when(Value condition, llvm::function_ref<void()> emitBody);

  //===--- DevicePlanWork.cpp: what a CTA does ----------------------------===//

  void placeWorker(Value worker);
  /// Both return the number of entries that are listed in `splits`, which may
  /// be null, if this CTA is the lister.
  Value emitWorkByGroup(const WorkBuffers &buffers, const SplitBuffers *splits,
                        Value isLister);
  Value emitWorkByCount(const WorkBuffers &buffers, const SplitBuffers *splits,
                        Value isLister);
  /// The entry of this CTA in a unit that lies at [start, stop); `listed`
  /// entries of its rank come before.
  void emitPiece(const Unit &unit, Value start, Value stop, Value listed,
                 const WorkBuffers &buffers);
  /// The same by count, where there may be many.
  void emitPieces(const Unit &unit, Value start, Value stop, Value listed,
                  const WorkBuffers &buffers);
  /// Stores the CTA's range's begin or end, if they are in this unit.
  void storeBounds(const Unit &unit, Value start, Value stop, Value begin,
                   Value end, const WorkBuffers &buffers);
  /// Tiles [from, to) of the unit.
  void emitEntry(const Unit &unit, Value index, Value from, Value to,
                 Value slot, const WorkBuffers &buffers);
  Value hasRowBlock(const Unit &unit); ///< for this rank
  /// Units of a request and KV head that have none for this rank: 0 or 1.
  Value missingRowBlocks();

  //===--- DevicePlanSplits.cpp: what is to be merged ---------------------===//

  Value emitSplitsByGroup(const SplitBuffers &buffers);
  Value emitSplitsByCount(const SplitBuffers &buffers);
  void listSplit(const Unit &unit, Value index, const SplitBuffers &buffers);
  void stageSplit(const Unit &unit, Value start, Value stop, Value staging);
  /// Lists what is staged of so many groups; returns the number of entries.
  Value packSplits(Value count, const SplitBuffers &buffers);
  void emitPackedSplits(Value index, Value before, const SplitBuffers &buffers);

  bool isWhole() { return plan.getSplit() == SplitPolicy::Whole; }
  bool isRagged() { return bool(plan.getQOffsets()); }
  bool mayCount() { return !isConstant(byCount, false); }
  bool mayGroup() { return !isConstant(byCount, true); }
  static bool isConstant(Value flag, bool value);

  PlanOp plan;
  ItemMath ix;
  Value zero, one;
  int64_t rowBlocks;
  bool pairs;
  Value numWorkers;

  Value byCount;    ///< i1: pieces by count, not by group
  Value pieceCount; ///< by count: most pieces of a unit
  Value narrow;     ///< i1: groups of one CTA; null if always so
  Value groupSize;  ///< CTAs of a group, row blocks of a unit
  Value groups;
  Value group, rank; ///< of the CTA whose work is written

  Value uniformBlocks, uniformUnits; ///< of a request and KV head
  Value perRequest;                  ///< units of a request
  Value numbers;                     ///< of the scans
  Value totalTiles, totalUnits, longest;
  Value unitsPerGroup, groupsPerUnit; ///< at most, and at least 1

  Value roundTo, extra, share; ///< the line
  Value isCut;          ///< i1: automatic, and units may be cut for the merge
  Value isPaired;       ///< i1: units of two pieces are merged by their CTAs
  Value myBegin, myEnd; ///< this group's cells
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_DEVICEPLANNER_H
