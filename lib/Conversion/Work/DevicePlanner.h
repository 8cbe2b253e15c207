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
//   by count unit = its tiles; a piece is done where its first tile lies
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_DEVICEPLANNER_H
#define MLA_CONVERSION_WORK_DEVICEPLANNER_H

#include "DevicePlan.h"

namespace mlir::mla {

class DevicePlanner {
public:
  DevicePlanner(OpBuilder &builder, PlanOp plan, ScheduleAttr schedule,
                Value worker, Value numWorkers, const PlanBuffers &buffers);
  void emit();

private:
  struct Unit {
    ItemValues item; ///< with the hull of all its rows
    Value blocks;    ///< row blocks that exist
    Value tiles;     ///< of the hull, at least 1: without keys it is work too
    Value ordinal;   ///< of all units, on the line; known while placing
  };
  /// How a unit is cut by a count.
  struct Cut {
    Value size, pieces;
  };
  using State = SmallVector<Value>;

  //===--- DevicePlanner.cpp: where units lie -----------------------------===//

  void emitGroups();
  void emitTotals();
  void choosePolicy();
  Value leastPiece();

  /// Emits mla_gpu.scan. `then` may be null.
  State scan(Value count, ArrayRef<StringRef> kinds,
             llvm::function_ref<State(Value number)> values,
             llvm::function_ref<void(Value number, ValueRange before)> then);
  /// Visits the units of a number of the scans in order, with a state. Uniform
  /// queries: a number is a unit; ragged: a request.
  State forUnits(Value number, ValueRange init,
                 llvm::function_ref<State(Unit &, ValueRange)> visit);
  /// Unit `index` of a request with so many units and blocks a KV head.
  Unit unitAt(ItemValues request, Value index, Value units, Value blocks);
  Value unitsOf(Value blocks);
  Value blocksOf(const ItemValues &request);

  Value weight(const Unit &unit);
  Cut cut(const Unit &unit);
  /// One of two computations of `count` indices. Constant conditions leave no
  /// branch, here and below.
  State branch(Value condition, unsigned count,
               llvm::function_ref<State()> emitThen,
               llvm::function_ref<State()> emitElse);
  void when(Value condition, llvm::function_ref<void()> emitBody);

  //===--- DevicePlanEntries.cpp: what is written -------------------------===//

  void emitEntries();
  /// What the scan's counts are behind a unit.
  State advance(const Unit &unit, ValueRange state);
  Value hasRowBlock(const Unit &unit); ///< for this rank
  /// The entries of this CTA in a unit that lies at [start, stop); `listed`
  /// entries of its rank come before.
  void emitPieces(const Unit &unit, Value start, Value stop, Value listed);
  /// Tiles [from, to) of the unit.
  void emitEntry(const Unit &unit, Value index, Value from, Value to,
                 Value slot);
  /// `index`: of its entry in the list, by count.
  void emitSplit(const Unit &unit, Value start, Value stop, Value index);
  void emitSplitList();
  void emitPackedSplits(
      Value index, Value before,
      llvm::function_ref<Value(Value index, int64_t field)> staged);
  void storeSplit(Value index, ArrayRef<Value> fields);

  bool isWhole() { return plan.getSplit() == SplitPolicy::Whole; }
  bool isRagged() { return bool(plan.getQOffsets()); }
  bool mayCount() { return !isConstant(byCount, false); }
  bool mayStage() { return !isWhole() && !isConstant(byCount, true); }
  static bool isConstant(Value flag, bool value);

  PlanOp plan;
  ItemMath ix;
  Value zero, one;
  int64_t rowBlocks;
  Value worker, numWorkers;
  PlanBuffers buffers;

  Value byCount;    ///< i1: pieces by count, not by group
  Value pieceCount; ///< by count: most pieces of a unit
  Value narrow;     ///< i1: groups of one CTA; null if always so
  Value groupSize;  ///< CTAs of a group, row blocks of a unit
  Value group, rank, groups;
  Value isLister; ///< i1: this CTA lists what is split

  Value uniformBlocks, uniformUnits; ///< of a request and KV head
  Value perRequest;                  ///< units of a request
  Value numbers;                     ///< of the scans
  Value totalTiles, totalUnits, longest;

  Value roundTo, extra, share; ///< the line
  Value isCut;                 ///< i1: automatic, and units may be cut
  Value myBegin, myEnd;        ///< this group's cells
  Value totalWeight, countedSplits;
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_DEVICEPLANNER_H
