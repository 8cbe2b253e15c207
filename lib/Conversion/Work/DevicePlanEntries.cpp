//===- DevicePlanEntries.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla::plan_fields;

Value mla::allocateShared(OpBuilder &builder, Location loc,
                          ArrayRef<int64_t> shape) {
  constexpr int64_t kSharedSpace = 3; // of NVPTX
  auto type = MemRefType::get(shape, builder.getI32Type(), AffineMap(),
                              builder.getI64IntegerAttr(kSharedSpace));
  return memref::AllocaOp::create(builder, loc, type);
}

Value mla::rangeRow(IndexMath &ix, Value workRange, Value worker) {
  bool isOwn = cast<MemRefType>(workRange.getType()).getDimSize(0) == 1;
  return isOwn ? ix.constant(0) : worker;
}

std::pair<Value, Value> mla::loadWorkRange(OpBuilder &builder, Location loc,
                                           Value workRange, Value worker) {
  IndexMath ix{builder, loc};
  Value row = rangeRow(ix, workRange, worker);
  return {ix.load(workRange, {row, ix.constant(0)}),
          ix.load(workRange, {row, ix.constant(1)})};
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

Value mla::loadNumSplits(OpBuilder &builder, Location loc, Value splitList) {
  IndexMath ix{builder, loc};
  return ix.load(splitList, {ix.constant(0), ix.constant(0)});
}

SplitItem mla::loadSplitItem(OpBuilder &builder, Location loc, PlanOp plan,
                             Value splitList, Value index) {
  ItemMath ix(builder, loc, plan);
  index = ix.add(index, ix.one); // behind the number of them
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
