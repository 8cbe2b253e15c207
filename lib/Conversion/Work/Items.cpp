//===- Items.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Items.h"

using namespace mlir;
using namespace mlir::mla;

ItemMath::ItemMath(OpBuilder &builder, Location loc, PlanOp plan)
    : IndexMath{builder, loc}, plan(plan), zero(constant(0)), one(constant(1)),
      blockM(constant(plan.getBlockM())), blockN(constant(plan.getBlockN())),
      group(constant(plan.getGroup())), kvHeads(constant(plan.getKvHeads())) {}

Value ItemMath::batch() {
  return memref::DimOp::create(b, loc, plan.getSeqLens(), 0);
}

Value ItemMath::queryBase(Value request) {
  Value offsets = plan.getQOffsets();
  return offsets ? load(offsets, request) : zero;
}

ItemValues ItemMath::request(Value index) {
  ItemValues item;
  item.request = index;
  item.kvLen = max(load(plan.getSeqLens(), index), zero);
  item.qBase = queryBase(index);
  item.qLen = plan.getQOffsets()
                  ? max(sub(queryBase(add(index, one)), item.qBase), zero)
                  : plan.getQueries();
  return item;
}

void ItemMath::fillRows(ItemValues &item, Value blockRows) {
  item.numRows = min(sub(rows(item), item.firstRow), blockRows);
  Value lastRow = sub(add(item.firstRow, item.numRows), one);
  Value origin = sub(item.kvLen, item.qLen);
  Value firstQ = add(origin, floorDiv(item.firstRow, group));
  Value lastQ = add(origin, floorDiv(lastRow, group));
  item.keys = plan.getMask().buildRange(b, loc, firstQ, lastQ, item.kvLen,
                                        plan.getMaskParams());
  item.firstTile = floorDiv(item.keys.begin, blockN);
  Value tiles = sub(ceilDiv(item.keys.end, blockN), item.firstTile);
  Value empty =
      compare(arith::CmpIPredicate::sge, item.keys.begin, item.keys.end);
  item.numTiles = select(empty, zero, tiles);
}

std::pair<Value, Value> mla::fullTiles(ItemMath &math, const ItemValues &item,
                                       Value first, Value end) {
  auto clamp = [&](Value tile, Value low) {
    return math.max(math.min(tile, end), low);
  };
  Value begin = clamp(math.ceilDiv(item.keys.innerBegin, math.blockN), first);
  Value stop = clamp(math.floorDiv(item.keys.innerEnd, math.blockN), begin);
  return {begin, stop};
}
