//===- WorkLoops.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;

namespace {

/// How an item is cut in pieces of `size` tiles from tile `origin`, up to
/// `limit`.
struct Pieces {
  Value automatic; // i1: by the worker's range, not by a count
  Value perItem;   // slots of an item when not automatic
  Value size;
};

class PlanExpander {
public:
  PlanExpander(OpBuilder &builder, PlanOp plan, Location loc)
      : plan(plan), ix(builder, loc, plan), zero(ix.zero), one(ix.one),
        batch(ix.batch()) {
    // Each worker owns `share` of the total weight.
    total = forItems({zero}, /*onlyTotals=*/true,
                     [&](const ItemValues &, Value weight, ValueRange state) {
                       return SmallVector<Value>{
                           ix.add(state[0], ix.mul(weight, ix.kvHeads))};
                     })[0];
    share = ix.max(ix.ceilDiv(total, plan.getWorkers()), one);
    if (plan.getSplits())
      splits = ix.max(ix.cast(plan.getSplits()), zero);
  }

  /// Visits every item in order with its weight and hull. With `onlyTotals` KV
  /// heads, which are alike, are visited once.
  SmallVector<Value>
  forItems(ValueRange init, bool onlyTotals,
           llvm::function_ref<SmallVector<Value>(const ItemValues &,
                                                 Value weight, ValueRange)>
               visit) {
    OpBuilder &b = ix.b;
    Location loc = ix.loc;
    auto requests = scf::ForOp::create(b, loc, zero, batch, one, init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(requests.getBody());
    ItemValues item = ix.request(requests.getInductionVar());
    Value rows = ix.rows(item);

    scf::ForOp heads;
    ValueRange state = requests.getRegionIterArgs();
    if (!onlyTotals) {
      heads = scf::ForOp::create(b, loc, zero, ix.kvHeads, one, state);
      b.setInsertionPointToStart(heads.getBody());
      state = heads.getRegionIterArgs();
    }
    item.kvHead = heads ? heads.getInductionVar() : zero;

    auto blocks = scf::ForOp::create(b, loc, zero, rows, ix.blockM, state);
    b.setInsertionPointToStart(blocks.getBody());
    item.firstRow = blocks.getInductionVar();
    ix.fillRows(item, ix.blockM);
    // An empty hull still is an item: someone writes its zeros.
    Value weight = ix.max(item.numTiles, one);
    scf::YieldOp::create(b, loc,
                         visit(item, weight, blocks.getRegionIterArgs()));

    if (heads) {
      b.setInsertionPointToEnd(heads.getBody());
      scf::YieldOp::create(b, loc, blocks.getResults());
    }
    b.setInsertionPointToEnd(requests.getBody());
    scf::YieldOp::create(b, loc,
                         heads ? heads.getResults() : blocks.getResults());
    return llvm::to_vector_of<Value>(requests.getResults());
  }

  /// How an item of this weight is cut.
  Pieces pieces(Value weight) {
    Value no = ix.flag(false), yes = ix.flag(true);
    switch (plan.getSplit()) {
    case SplitPolicy::Whole:
      return {no, one, weight};
    case SplitPolicy::Balanced: {
      if (!splits)
        return {yes, one, weight};
      Value automatic = ix.equal(splits, zero);
      Value count = ix.max(splits, one);
      Value size = ix.select(automatic, weight, ix.ceilDiv(weight, count));
      return {automatic, count, size};
    }
    case SplitPolicy::RowLocal: {
      Value most = ix.constant(kMaxRowLocalSplits);
      Value count = most;
      if (splits)
        count = ix.select(ix.equal(splits, zero), most, splits);
      Value size =
          ix.max(ix.ceilDiv(weight, count), ix.constant(plan.getSplitTiles()));
      return {no, count, size};
    }
    }
    llvm_unreachable("unknown split policy");
  }

  PlanOp plan;
  ItemMath ix;
  Value zero, one, batch;
  Value total, share;
  Value splits; // null when the launch gives none
};

} // namespace

void mla::expandForWork(
    OpBuilder &builder, ForWorkOp op, PlanOp plan,
    llvm::function_ref<void(const ItemValues &, Value, Value, Value)> body) {
  Location loc = op.getLoc();
  PlanExpander expander(builder, plan, loc);
  ItemMath &ix = expander.ix;
  Value zero = expander.zero, one = expander.one;
  Value begin = ix.mul(op.getWorker(), expander.share);
  Value end = ix.add(begin, expander.share);

  // State: weight of the items before, and how many they are.
  expander.forItems(
      {zero, zero}, /*onlyTotals=*/false,
      [&](ItemValues item, Value weight, ValueRange state) {
        Value start = state[0], ordinal = state[1];
        Value stop = ix.add(start, weight);
        Value mine = ix.both(ix.less(start, end), ix.less(begin, stop));
        auto branch =
            scf::IfOp::create(builder, loc, mine, /*withElseRegion=*/false);
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(branch.thenBlock());
          Pieces pieces = expander.pieces(weight);
          // My units of the item, counted from its start.
          Value low = ix.max(ix.sub(begin, start), zero);
          Value high = ix.min(ix.sub(end, start), weight);
          // Pieces by count belong to whoever owns their first unit.
          Value origin = ix.select(pieces.automatic, low, zero);
          Value limit = ix.select(pieces.automatic, high, weight);
          Value firstPiece =
              ix.select(pieces.automatic, zero, ix.ceilDiv(low, pieces.size));
          Value lastPiece =
              ix.select(pieces.automatic, one, ix.ceilDiv(high, pieces.size));

          auto loop =
              scf::ForOp::create(builder, loc, firstPiece, lastPiece, one);
          builder.setInsertionPointToStart(loop.getBody());
          Value piece = loop.getInductionVar();
          Value from = ix.add(origin, ix.mul(piece, pieces.size));
          Value to = ix.min(ix.add(from, pieces.size), limit);
          Value whole = ix.equal(ix.sub(to, from), weight);
          Value two = ix.constant(2);
          Value mySlot = ix.add(ix.mul(op.getWorker(), two),
                                ix.select(ix.equal(low, zero), one, zero));
          Value countedSlot = ix.add(ix.mul(ordinal, pieces.perItem), piece);
          item.slot = ix.select(pieces.automatic, mySlot, countedSlot);
          body(item, ix.add(item.firstTile, from),
               ix.add(item.firstTile, ix.min(to, item.numTiles)), whole);
        }
        return SmallVector<Value>{stop, ix.add(ordinal, one)};
      });
}

void mla::expandForSplit(
    OpBuilder &builder, ForSplitOp op, PlanOp plan,
    llvm::function_ref<void(const ItemValues &, Value)> body) {
  Location loc = op.getLoc();
  PlanExpander expander(builder, plan, loc);
  ItemMath &ix = expander.ix;
  Value zero = expander.zero, one = expander.one, share = expander.share;

  // State: weight of the items before, how many they are, how many were split.
  expander.forItems(
      {zero, zero, zero}, /*onlyTotals=*/false,
      [&](ItemValues item, Value weight, ValueRange state) {
        Value start = state[0], ordinal = state[1], numSplit = state[2];
        Value stop = ix.add(start, weight);
        Pieces pieces = expander.pieces(weight);
        Value firstWorker = ix.floorDiv(start, share);
        Value lastWorker = ix.floorDiv(ix.sub(stop, one), share);
        Value count = ix.select(pieces.automatic,
                                ix.add(ix.sub(lastWorker, firstWorker), one),
                                ix.ceilDiv(weight, pieces.size));
        Value isSplit = ix.less(one, count);
        Value turn =
            arith::RemUIOp::create(builder, loc, numSplit, plan.getWorkers());
        Value mine = ix.both(isSplit, ix.equal(turn, op.getWorker()));
        auto branch =
            scf::IfOp::create(builder, loc, mine, /*withElseRegion=*/false);
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(branch.thenBlock());
          // The slots that expandForWork gave: the first piece begins within
          // its worker's range, the others at their worker's start.
          Value two = ix.constant(2);
          Value base = ix.select(pieces.automatic, ix.mul(firstWorker, two),
                                 ix.mul(ordinal, pieces.perItem));
          item.firstSlot = ix.add(base, ix.select(pieces.automatic, one, zero));
          item.nextSlot = ix.add(base, ix.select(pieces.automatic, two, one));
          item.slotStride = ix.select(pieces.automatic, two, one);
          body(item, count);
        }
        Value more = ix.add(numSplit, ix.select(isSplit, one, zero));
        return SmallVector<Value>{stop, ix.add(ordinal, one), more};
      });
}

std::pair<Value, Value> mla::expandFullTiles(OpBuilder &builder, FullTilesOp op,
                                             PlanOp plan,
                                             const ItemValues &item,
                                             Value first, Value end) {
  ItemMath math(builder, op.getLoc(), plan);
  return fullTiles(math, item, first, end);
}
