//===- DevicePlanSplits.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is to be merged: at most S min(U, G) or U entries, for U units and G
// groups of S CTAs. By group, a unit that is split is known by the group that
// it begins in (another one that begins there is whole), and is staged by that
// number; then the list is packed.
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla::plan_fields;

static void storeFields(IndexMath &ix, Value list, Value index,
                        ArrayRef<Value> fields) {
  for (auto [i, field] : llvm::enumerate(fields))
    if (field)
      ix.store(field, list, {index, ix.constant(i)});
}

Value DevicePlanner::emitSplits(const SplitBuffers &buffers) {
  if (isWhole())
    return zero;
  Value grouped = mayGroup() ? emitSplitsByGroup(buffers) : zero;
  // One of them is 0.
  return mayCount() ? ix.add(grouped, emitSplitsByCount(buffers)) : grouped;
}

//===----------------------------------------------------------------------===//
// By count
//===----------------------------------------------------------------------===//

Value DevicePlanner::emitSplitsByCount(const SplitBuffers &buffers) {
  // State: units before that are split; of ragged queries also all.
  SmallVector<StringRef> kinds(isRagged() ? 2 : 1, "sum");
  auto advance = [&](Unit &unit, ValueRange state) {
    Value isSplit = ix.less(one, cut(unit).pieces);
    State next = {ix.add(state[0], ix.select(isSplit, one, zero))};
    if (isRagged())
      next.push_back(ix.add(state[1], one));
    return next;
  };
  return scan(
      ix.select(byCount, numbers, zero), kinds,
      [&](Value number) {
        return forUnits(number, State(kinds.size(), zero), advance);
      },
      [&](Value number, ValueRange before, ValueRange) {
        forUnits(number, before, [&](Unit &unit, ValueRange state) {
          unit.ordinal = isRagged() ? state[1] : number;
          listSplit(unit, state[0], buffers);
          return advance(unit, state);
        });
      })[0];
}

void DevicePlanner::listSplit(const Unit &unit, Value index,
                              const SplitBuffers &buffers) {
  const ItemValues &item = unit.item;
  Value pieces = cut(unit).pieces;
  when(ix.less(one, pieces), [&] {
    Value slot = ix.mul(unit.ordinal, pieceCount);
    storeFields(ix, buffers.splitList, index,
                {item.request, item.kvHead, item.firstRow, pieces, slot,
                 ix.add(slot, one), one, item.qLen});
  });
}

//===----------------------------------------------------------------------===//
// By group
//===----------------------------------------------------------------------===//

Value DevicePlanner::emitSplitsByGroup(const SplitBuffers &buffers) {
  // State: where the unit lies; of ragged queries also its ordinal.
  SmallVector<StringRef> kinds(isRagged() ? 2 : 1, "sum");
  auto advance = [&](Unit &unit, ValueRange state) {
    State next = {ix.add(state[0], weight(unit))};
    if (isRagged())
      next.push_back(ix.add(state[1], one));
    return next;
  };
  Value totalWeight = scan(
      ix.select(isCut, numbers, zero), kinds,
      [&](Value number) {
        return forUnits(number, State(kinds.size(), zero), advance);
      },
      [&](Value number, ValueRange before, ValueRange own) {
        forUnits(number, before, [&](Unit &unit, ValueRange state) {
          unit.ordinal = isRagged() ? state[1] : number;
          stageSplit(unit, state[0], stopOf(unit, state[0], own),
                     buffers.staging);
          return advance(unit, state);
        });
      })[0];
  return packSplits(ix.ceilDiv(totalWeight, share), buffers);
}

Value DevicePlanner::packSplits(Value count, const SplitBuffers &buffers) {
  auto field = [&](Value index, int64_t i) {
    return ix.load(buffers.staging, {index, ix.constant(i)});
  };
  return scan(
      count, {"sum"},
      [&](Value index) {
        Value isSplit = ix.less(one, field(index, kPieces));
        return State{ix.select(isSplit, field(index, kRowBlocks), zero)};
      },
      [&](Value index, ValueRange before, ValueRange) {
        when(ix.less(one, field(index, kPieces)),
             [&] { emitPackedSplits(index, before[0], buffers); });
      })[0];
}

void DevicePlanner::stageSplit(const Unit &unit, Value start, Value stop,
                               Value staging) {
  // The last unit that begins in a group says what is split there, and that
  // nothing is in the groups that no unit begins in.
  const ItemValues &item = unit.item;
  Value firstGroup = ix.floorDiv(start, share);
  Value lastGroup = ix.floorDiv(ix.sub(ix.add(start, unit.tiles), one), share);
  Value isLast = ix.equal(ix.add(unit.ordinal, one), totalUnits);
  Value next = ix.floorDiv(stop, share);
  Value past = ix.add(ix.floorDiv(ix.sub(stop, one), share), one);
  next = ix.select(isLast, past, next);
  when(ix.less(firstGroup, next), [&] {
    Value pieces = ix.add(ix.sub(lastGroup, firstGroup), one);
    storeFields(ix, staging, firstGroup,
                {item.request, item.kvHead, item.firstRow, pieces, unit.blocks,
                 Value(), Value(), item.qLen});
    auto loop =
        scf::ForOp::create(ix.b, ix.loc, ix.add(firstGroup, one), next, one);
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(loop.getBody());
    ix.store(zero, staging, {loop.getInductionVar(), ix.constant(kPieces)});
  });
}

void DevicePlanner::emitPackedSplits(Value index, Value before,
                                     const SplitBuffers &buffers) {
  auto field = [&](int64_t i) {
    return ix.load(buffers.staging, {index, ix.constant(i)});
  };
  Value request = field(kRequest), head = field(kKVHead);
  Value row = field(kFirstRow), pieces = field(kPieces);
  Value queries = field(kQueries), blocks = field(kRowBlocks);
  auto loop = scf::ForOp::create(ix.b, ix.loc, zero, blocks, one);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(loop.getBody());
  Value block = loop.getInductionVar();
  // The first piece begins its unit, the others their groups.
  Value stride = ix.mul(ix.constant(2), groupSize);
  Value base = ix.add(ix.mul(index, stride), block);
  storeFields(ix, buffers.splitList, ix.add(before, block),
              {request, head, ix.add(row, ix.mul(block, ix.blockM)), pieces,
               ix.add(base, groupSize), ix.add(base, stride), stride, queries});
}

Value mla::emitDeviceSplits(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                            bool pairs, const SplitBuffers &buffers) {
  return DevicePlanner(builder, plan, rowBlocks, pairs).emitSplits(buffers);
}
