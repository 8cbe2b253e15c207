//===- DevicePlanWork.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The pieces of a CTA. The work list holds for each rank of the groups the
// pieces of its row blocks in the order of the line, so that those of a CTA lie
// behind each other:
//
//   by group  rank (U + G) + m + g: m row blocks of the rank come before, g is
//             the group. From a piece to the next one, m or g grows.
//   by count  m: m pieces come before. There is one rank.
//
// With U units and G groups of S CTAs these are less than S (U + G) <= S U +
// workers, or than U x count: the entries that the buffer has (scope `piece`).
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;

void DevicePlanner::emitWork(Value worker, const WorkBuffers &buffers,
                             const SplitBuffers *splits) {
  placeWorker(worker);
  Value isLister = ix.equal(ix.add(worker, one), numWorkers);
  // One of them is 0.
  Value count = zero;
  if (mayGroup())
    count = emitWorkByGroup(buffers, splits, isLister);
  if (mayCount())
    count = ix.add(count, emitWorkByCount(buffers, splits, isLister));
  if (splits)
    when(isLister, [&] { ix.store(count, splits->splitCount, {zero, zero}); });
}

void DevicePlanner::placeWorker(Value worker) {
  group = worker, rank = zero;
  if (rowBlocks > 1) {
    Value size = ix.constant(rowBlocks);
    group = ix.select(narrow, worker, ix.floorDiv(worker, size));
    rank = ix.sub(worker, ix.mul(group, groupSize));
  }
  myBegin = ix.mul(group, share);
  myEnd = ix.add(myBegin, share);
}

//===----------------------------------------------------------------------===//
// By group
//===----------------------------------------------------------------------===//

Value DevicePlanner::emitWorkByGroup(const WorkBuffers &buffers,
                                     const SplitBuffers *splits,
                                     Value isLister) {
  bool lists = splits && !isWhole();
  if (lists)
    isLister = ix.both(isCut, isLister);
  // State: where the unit lies; of ragged queries also its ordinal, and row
  // blocks of this rank before it.
  bool countsBlocks = isRagged() && rowBlocks > 1;
  SmallVector<StringRef> kinds(isRagged() ? (countsBlocks ? 3 : 2) : 1, "sum");
  auto advance = [&](Unit &unit, ValueRange state) {
    State next = {ix.add(state[0], weight(unit))};
    if (isRagged())
      next.push_back(ix.add(state[1], one));
    if (countsBlocks)
      next.push_back(ix.add(state[2], ix.select(hasRowBlock(unit), one, zero)));
    return next;
  };
  auto listedBefore = [&](Unit &unit, ValueRange state) {
    if (countsBlocks)
      return state[2];
    if (rowBlocks == 1)
      return unit.ordinal;
    Value heads =
        ix.add(ix.mul(unit.item.request, ix.kvHeads), unit.item.kvHead);
    return ix.sub(unit.ordinal, ix.mul(heads, missingRowBlocks()));
  };
  Value totalWeight = scan(
      ix.select(byCount, zero, numbers), kinds,
      [&](Value number) {
        return forUnits(number, State(kinds.size(), zero), advance);
      },
      [&](Value number, ValueRange before, ValueRange own) {
        forUnits(number, before, [&](Unit &unit, ValueRange state) {
          unit.ordinal = isRagged() ? state[1] : number;
          Value stop = stopOf(unit, state[0], own);
          emitPiece(unit, state[0], stop, listedBefore(unit, state), buffers);
          if (lists)
            when(isLister,
                 [&] { stageSplit(unit, state[0], stop, splits->staging); });
          return advance(unit, state);
        });
      })[0];
  if (!lists)
    return zero;
  Value used = ix.ceilDiv(totalWeight, share);
  return packSplits(ix.select(isLister, used, zero), *splits);
}

Value DevicePlanner::hasRowBlock(const Unit &unit) {
  return rowBlocks == 1 ? ix.flag(true) : ix.less(rank, unit.blocks);
}

Value DevicePlanner::missingRowBlocks() {
  Value others = ix.mul(ix.sub(uniformUnits, one), groupSize);
  Value ofLast = ix.sub(uniformBlocks, others);
  return ix.select(ix.less(rank, ofLast), zero, one);
}

void DevicePlanner::emitPiece(const Unit &unit, Value start, Value stop,
                              Value listed, const WorkBuffers &buffers) {
  Value isMine = ix.both(ix.less(start, myEnd), ix.less(myBegin, stop));
  when(isMine, [&] {
    Value begins = ix.lessEqual(myBegin, start);
    Value low = zero, high = unit.tiles, isHere = begins;
    if (!isWhole()) {
      low = ix.max(ix.sub(myBegin, start), zero);
      high = ix.min(ix.sub(myEnd, start), unit.tiles);
      isHere = ix.less(low, high);
    }
    Value exists = hasRowBlock(unit);
    Value ofRank = ix.mul(rank, ix.add(totalUnits, groups));
    Value index = ix.add(ix.add(ofRank, listed), group);
    Value end = ix.select(exists, ix.add(index, one), index);
    storeBounds(unit, start, stop, ix.select(isHere, index, end), end, buffers);

    Value slot =
        ix.add(ix.mul(group, ix.constant(2)), ix.select(begins, one, zero));
    slot = ix.add(ix.mul(slot, groupSize), rank);
    Value isAll = ix.both(begins, ix.equal(high, unit.tiles));
    slot = ix.select(isPaired, ix.constant(kSlotOfPair), slot);
    when(ix.both(exists, isHere), [&] {
      emitEntry(unit, index, low, high, ix.select(isAll, ix.constant(-1), slot),
                buffers);
    });
  });
}

//===----------------------------------------------------------------------===//
// By count
//===----------------------------------------------------------------------===//

Value DevicePlanner::emitWorkByCount(const WorkBuffers &buffers,
                                     const SplitBuffers *splits,
                                     Value isLister) {
  // State: where the unit lies, pieces before it; of ragged queries also its
  // ordinal; and split units before it, if they are listed.
  SmallVector<StringRef> kinds(2 + isRagged() + bool(splits), "sum");
  auto advance = [&](Unit &unit, ValueRange state) {
    Value pieces = cut(unit).pieces;
    State next = {ix.add(state[0], unit.tiles), ix.add(state[1], pieces)};
    if (isRagged())
      next.push_back(ix.add(state[2], one));
    if (splits) {
      Value isSplit = ix.select(ix.less(one, pieces), one, zero);
      next.push_back(ix.add(state.back(), isSplit));
    }
    return next;
  };
  State sums = scan(
      ix.select(byCount, numbers, zero), kinds,
      [&](Value number) {
        return forUnits(number, State(kinds.size(), zero), advance);
      },
      [&](Value number, ValueRange before, ValueRange own) {
        forUnits(number, before, [&](Unit &unit, ValueRange state) {
          if (!isRagged())
            unit.pieces = own[1];
          State next = advance(unit, state);
          unit.ordinal = isRagged() ? state[2] : number;
          emitPieces(unit, state[0], next[0], state[1], buffers);
          if (splits)
            when(isLister, [&] { listSplit(unit, state.back(), *splits); });
          return next;
        });
      });
  return splits ? sums.back() : zero;
}

void DevicePlanner::emitPieces(const Unit &unit, Value start, Value stop,
                               Value listed, const WorkBuffers &buffers) {
  Value isMine = ix.both(ix.less(start, myEnd), ix.less(myBegin, stop));
  when(isMine, [&] {
    Cut all = cut(unit);
    Value low = ix.max(ix.sub(myBegin, start), zero);
    Value high = ix.min(ix.sub(myEnd, start), unit.tiles);
    Value first = ix.ceilDiv(low, all.size), end = ix.ceilDiv(high, all.size);
    storeBounds(unit, start, stop, ix.add(listed, first), ix.add(listed, end),
                buffers);

    Value firstSlot = ix.mul(unit.ordinal, pieceCount);
    Value isOnly = ix.equal(all.pieces, one);
    auto loop = scf::ForOp::create(ix.b, ix.loc, first, end, one);
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(loop.getBody());
    Value piece = loop.getInductionVar();
    Value from = ix.mul(piece, all.size);
    Value to = ix.min(ix.add(from, all.size), unit.tiles);
    emitEntry(unit, ix.add(listed, piece), from, to,
              ix.select(isOnly, ix.constant(-1), ix.add(firstSlot, piece)),
              buffers);
  });
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

void DevicePlanner::storeBounds(const Unit &unit, Value start, Value stop,
                                Value begin, Value end,
                                const WorkBuffers &buffers) {
  auto storeIf = [&](Value condition, Value bound, Value field) {
    when(condition, [&] { ix.store(bound, buffers.workRange, field); });
  };
  Value isLast = ix.equal(ix.add(unit.ordinal, one), totalUnits);
  storeIf(ix.lessEqual(start, myBegin), begin, zero);
  storeIf(ix.either(ix.lessEqual(myEnd, stop), isLast), end, one);
}

void DevicePlanner::emitEntry(const Unit &unit, Value index, Value from,
                              Value to, Value slot,
                              const WorkBuffers &buffers) {
  ItemValues item = unit.item;
  if (rowBlocks > 1) {
    item.firstRow = ix.add(item.firstRow, ix.mul(rank, ix.blockM));
    ix.fillRows(item, ix.blockM);
  }
  // The unit's tiles that the row block sees.
  Value first = ix.max(ix.add(unit.item.firstTile, from), item.firstTile);
  Value end = ix.min(ix.add(unit.item.firstTile, to),
                     ix.add(item.firstTile, item.numTiles));
  Value tiles = ix.max(ix.sub(end, first), zero);
  for (auto [i, field] :
       llvm::enumerate(std::array{item.request, item.kvHead, item.firstRow,
                                  first, tiles, slot, item.kvLen, item.qLen}))
    ix.store(field, buffers.workList, {index, ix.constant(i)});
}

void mla::emitDevicePlan(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                         bool pairs, Value worker, const WorkBuffers &buffers,
                         const SplitBuffers *splits) {
  // A CTA without work writes no range below. The scan of the totals, and its
  // barrier, come in between.
  IndexMath ix{builder, plan.getLoc()};
  Value none = ix.constant(0);
  for (int64_t bound : {0, 1})
    ix.store(none, buffers.workRange, ix.constant(bound));
  DevicePlanner(builder, plan, rowBlocks, pairs)
      .emitWork(worker, buffers, splits);
}
