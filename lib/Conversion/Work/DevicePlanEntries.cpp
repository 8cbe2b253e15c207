//===- DevicePlanEntries.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the plan writes. The work list holds for each rank of the groups the
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
// The list of what is split has at most S min(U, G) or U entries. By group, a
// unit that is split is known by the group that it begins in (another one that
// begins there is whole), and is staged at S U + g <= S U + workers, behind the
// list itself; then it is packed.
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;

namespace {
/// Fields of an entry of the work list, and of the list of what is split; of a
/// staged unit, kRowBlocks takes the place of the first slot.
enum WorkField { kRequest, kKVHead, kFirstRow, kTile, kTiles, kSlot, kKeys };
enum SplitField { kPieces = kFirstRow + 1, kFirst, kNext, kStride };
constexpr int64_t kQueries = 7;
constexpr int64_t kRowBlocks = kFirst;
} // namespace

void DevicePlanner::storeSplit(Value index, ArrayRef<Value> fields) {
  for (auto [i, field] : llvm::enumerate(fields))
    if (field)
      ix.store(field, buffers.splitList, {index, ix.constant(i)});
}

void DevicePlanner::emitEntries() {
  // State: where the unit lies, entries of this rank before it, its ordinal,
  // and entries of the list of splits (by count).
  State totals = scan(
      numbers, {"sum", "sum", "sum", "sum"},
      [&](Value number) {
        return forUnits(
            number, {zero, zero, zero, zero},
            [&](Unit &unit, ValueRange state) { return advance(unit, state); });
      },
      [&](Value number, ValueRange before) {
        forUnits(number, before, [&](Unit &unit, ValueRange state) {
          State next = advance(unit, state);
          unit.ordinal = state[2];
          emitPieces(unit, state[0], next[0], state[1]);
          if (!isWhole())
            when(isLister,
                 [&] { emitSplit(unit, state[0], next[0], state[3]); });
          return next;
        });
      });
  totalWeight = totals[0], countedSplits = totals[3];
}

SmallVector<Value> DevicePlanner::advance(const Unit &unit, ValueRange state) {
  State listed = branch(
      byCount, 2,
      [&] {
        Value pieces = cut(unit).pieces;
        return State{pieces, ix.select(ix.less(one, pieces), one, zero)};
      },
      [&] { return State{ix.select(hasRowBlock(unit), one, zero), zero}; });
  return {ix.add(state[0], weight(unit)), ix.add(state[1], listed[0]),
          ix.add(state[2], one), ix.add(state[3], listed[1])};
}

Value DevicePlanner::hasRowBlock(const Unit &unit) {
  return rowBlocks == 1 ? ix.flag(true) : ix.less(rank, unit.blocks);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void DevicePlanner::emitPieces(const Unit &unit, Value start, Value stop,
                               Value listed) {
  Value isMine = ix.both(ix.less(start, myEnd), ix.less(myBegin, stop));
  when(isMine, [&] {
    // Pieces [first, end) of the unit: piece i is tiles from origin + i size,
    // up to limit.
    Value low = ix.max(ix.sub(myBegin, start), zero);
    Value high = ix.min(ix.sub(myEnd, start), unit.tiles);
    State pieces = branch(
        byCount, 8,
        [&] {
          Cut all = cut(unit);
          return State{ix.ceilDiv(low, all.size),
                       ix.ceilDiv(high, all.size),
                       zero,
                       all.size,
                       unit.tiles,
                       listed,
                       ix.mul(unit.ordinal, pieceCount),
                       ix.select(ix.equal(all.pieces, one), one, zero)};
        },
        [&] {
          Value begins = ix.lessEqual(myBegin, start);
          if (isWhole())
            high = unit.tiles;
          Value isHere = isWhole() ? begins : ix.less(low, high);
          Value slot = ix.add(ix.mul(group, ix.constant(2)),
                              ix.select(begins, one, zero));
          Value isWholeUnit = ix.both(begins, ix.equal(high, unit.tiles));
          Value ofRank = ix.mul(rank, ix.add(totalUnits, groups));
          return State{ix.select(isHere, zero, one),
                       one,
                       isWhole() ? zero : low,
                       unit.tiles,
                       high,
                       ix.add(ix.add(ofRank, listed), group),
                       ix.add(ix.mul(slot, groupSize), rank),
                       ix.select(isWholeUnit, one, zero)};
        });
    Value exists = hasRowBlock(unit);
    Value first = ix.select(exists, pieces[0], zero);
    Value end = ix.select(exists, pieces[1], zero);
    Value origin = pieces[2], size = pieces[3], limit = pieces[4];
    Value index = pieces[5], slot = pieces[6];
    Value isOnly = ix.equal(pieces[7], one);

    auto storeBound = [&](Value condition, Value piece, Value field) {
      when(condition, [&] {
        ix.store(ix.add(index, piece), buffers.workRange, {worker, field});
      });
    };
    Value isLast = ix.equal(ix.add(unit.ordinal, one), totalUnits);
    storeBound(ix.lessEqual(start, myBegin), first, zero);
    storeBound(ix.either(ix.lessEqual(myEnd, stop), isLast), end, one);

    auto loop = scf::ForOp::create(ix.b, ix.loc, first, end, one);
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(loop.getBody());
    Value piece = loop.getInductionVar();
    Value from = ix.add(origin, ix.mul(piece, size));
    Value to = ix.min(ix.add(from, size), limit);
    Value none = ix.constant(-1);
    emitEntry(unit, ix.add(index, piece), from, to,
              ix.select(isOnly, none, ix.add(slot, piece)));
  });
}

void DevicePlanner::emitEntry(const Unit &unit, Value index, Value from,
                              Value to, Value slot) {
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

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

void DevicePlanner::emitSplit(const Unit &unit, Value start, Value stop,
                              Value index) {
  const ItemValues &item = unit.item;
  if (mayCount())
    when(byCount, [&] {
      Value pieces = cut(unit).pieces;
      when(ix.less(one, pieces), [&] {
        Value slot = ix.mul(unit.ordinal, pieceCount);
        storeSplit(index, {item.request, item.kvHead, item.firstRow, pieces,
                           slot, ix.add(slot, one), one, item.qLen});
      });
    });
  when(isCut, [&] {
    // The last unit that begins in a group says what is split there, and that
    // nothing is in the groups that no unit begins in.
    Value firstGroup = ix.floorDiv(start, share);
    Value lastGroup =
        ix.floorDiv(ix.sub(ix.add(start, unit.tiles), one), share);
    Value isLast = ix.equal(ix.add(unit.ordinal, one), totalUnits);
    Value next = ix.floorDiv(stop, share);
    Value past = ix.add(ix.floorDiv(ix.sub(stop, one), share), one);
    next = ix.select(isLast, past, next);
    when(ix.less(firstGroup, next), [&] {
      Value staging = ix.mul(totalUnits, groupSize);
      Value pieces = ix.add(ix.sub(lastGroup, firstGroup), one);
      storeSplit(ix.add(staging, firstGroup),
                 {item.request, item.kvHead, item.firstRow, pieces, unit.blocks,
                  Value(), Value(), item.qLen});
      auto loop =
          scf::ForOp::create(ix.b, ix.loc, ix.add(firstGroup, one), next, one);
      OpBuilder::InsertionGuard guard(ix.b);
      ix.b.setInsertionPointToStart(loop.getBody());
      ix.store(zero, buffers.splitList,
               {ix.add(staging, loop.getInductionVar()), ix.constant(kPieces)});
    });
  });
}

void DevicePlanner::emitSplitList() {
  Value count = countedSplits;
  if (mayStage()) {
    Value staging = ix.mul(totalUnits, groupSize);
    auto field = [&](Value index, int64_t i) {
      return ix.load(buffers.splitList,
                     {ix.add(staging, index), ix.constant(i)});
    };
    Value used = ix.select(ix.both(isLister, isCut),
                           ix.ceilDiv(totalWeight, share), zero);
    Value packed = scan(
        used, {"sum"},
        [&](Value index) {
          Value isSplit = ix.less(one, field(index, kPieces));
          return State{branch(
              isSplit, 1, [&] { return State{field(index, kRowBlocks)}; },
              [&] { return State{zero}; })};
        },
        [&](Value index, ValueRange before) {
          Value pieces = field(index, kPieces);
          when(ix.less(one, pieces),
               [&] { emitPackedSplits(index, before[0], field); });
        })[0];
    count = mayCount() ? ix.select(byCount, count, packed) : packed;
  }
  when(isLister, [&] { ix.store(count, buffers.splitCount, {zero, zero}); });
}

void DevicePlanner::emitPackedSplits(
    Value index, Value before,
    llvm::function_ref<Value(Value index, int64_t field)> staged) {
  Value request = staged(index, kRequest), head = staged(index, kKVHead);
  Value row = staged(index, kFirstRow), pieces = staged(index, kPieces);
  Value queries = staged(index, kQueries), blocks = staged(index, kRowBlocks);
  auto loop = scf::ForOp::create(ix.b, ix.loc, zero, blocks, one);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(loop.getBody());
  Value block = loop.getInductionVar();
  // The first piece begins its unit, the others their groups.
  Value stride = ix.mul(ix.constant(2), groupSize);
  Value base = ix.add(ix.mul(index, stride), block);
  storeSplit(ix.add(before, block),
             {request, head, ix.add(row, ix.mul(block, ix.blockM)), pieces,
              ix.add(base, groupSize), ix.add(base, stride), stride, queries});
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void mla::emitDevicePlan(OpBuilder &builder, PlanOp plan, ScheduleAttr schedule,
                         Value worker, Value numWorkers,
                         const PlanBuffers &buffers) {
  DevicePlanner(builder, plan, schedule, worker, numWorkers, buffers).emit();
}

std::pair<Value, Value> mla::loadWorkRange(OpBuilder &builder, Location loc,
                                           Value workRange, Value worker) {
  IndexMath ix{builder, loc};
  return {ix.load(workRange, {worker, ix.constant(0)}),
          ix.load(workRange, {worker, ix.constant(1)})};
}

/// Fields of an entry that both lists have, at the same place.
static ItemValues loadItem(IndexMath &ix, Value list, Value index) {
  auto field = [&](int64_t i) {
    return ix.load(list, {index, ix.constant(i)});
  };
  ItemValues item;
  item.request = field(kRequest);
  item.kvHead = field(kKVHead);
  item.firstRow = field(kFirstRow);
  item.qLen = field(kQueries);
  return item;
}

WorkItem mla::loadWorkItem(OpBuilder &builder, Location loc, PlanOp plan,
                           Value workList, Value index) {
  ItemMath ix(builder, loc, plan);
  auto field = [&](int64_t i) {
    return ix.load(workList, {index, ix.constant(i)});
  };
  WorkItem work;
  work.item = loadItem(ix, workList, index);
  work.item.kvLen = field(kKeys);
  work.item.slot = field(kSlot);
  work.item.qBase = ix.queryBase(work.item.request);
  ix.fillRows(work.item, ix.blockM);
  work.whole = ix.less(work.item.slot, ix.zero);
  work.firstTile = field(kTile);
  work.numTiles = field(kTiles);
  return work;
}

SplitItem mla::loadSplitItem(OpBuilder &builder, Location loc, PlanOp plan,
                             Value splitList, Value index) {
  ItemMath ix(builder, loc, plan);
  auto field = [&](int64_t i) {
    return ix.load(splitList, {index, ix.constant(i)});
  };
  SplitItem split;
  split.item = loadItem(ix, splitList, index);
  split.item.qBase = ix.queryBase(split.item.request);
  split.item.numRows =
      ix.min(ix.sub(ix.rows(split.item), split.item.firstRow), ix.blockM);
  split.item.firstSlot = field(kFirst);
  split.item.nextSlot = field(kNext);
  split.item.slotStride = field(kStride);
  split.pieces = field(kPieces);
  return split;
}
