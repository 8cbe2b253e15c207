//===- DevicePlanEntries.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlan.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

using namespace mlir;
using namespace mlir::mla;

void mla::emitSharedPlan(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                         bool pairs, Value worker, const SharedPlan &lists) {
  Location loc = plan.getLoc();
  IndexMath ix{builder, loc};
  Value zero = ix.constant(0), one = ix.constant(1);
  auto work = mla_gpu::PlanWorkOp::create(builder, loc, plan, worker, rowBlocks,
                                          pairs, lists.workList,
                                          lists.splitList, lists.splitCount);
  ix.store(work.getBegin(), lists.workRange, {worker, zero});
  ix.store(work.getEnd(), lists.workRange, {worker, one});
}

WorkItem mla::loadWorkFields(OpBuilder &builder, Location loc, PlanOp plan,
                             Value workList, Value index) {
  ItemMath ix(builder, loc, plan);
  auto entry = mla_gpu::WorkItemOp::create(builder, loc, workList, index);
  WorkItem work;
  ItemValues &item = work.item;
  item.request = entry.getRequest();
  item.kvHead = entry.getKvHead();
  item.firstRow = entry.getFirstRow();
  item.qLen = entry.getQueries();
  item.kvLen = entry.getKeys();
  item.slot = entry.getSlot();
  item.qBase = ix.queryBase(item.request);
  work.whole = ix.less(item.slot, ix.zero);
  work.index = index;
  work.firstTile = entry.getFirstTile();
  work.numTiles = entry.getTiles();
  return work;
}

WorkItem mla::loadWorkItem(OpBuilder &builder, Location loc, PlanOp plan,
                           Value workList, Value index) {
  WorkItem work = loadWorkFields(builder, loc, plan, workList, index);
  ItemMath ix(builder, loc, plan);
  ix.fillRows(work.item, ix.blockM);
  return work;
}

SplitItem mla::loadSplitItem(OpBuilder &builder, Location loc, PlanOp plan,
                             Value splitList, Value index) {
  ItemMath ix(builder, loc, plan);
  auto entry = mla_gpu::SplitItemOp::create(builder, loc, splitList, index);
  SplitItem split;
  ItemValues &item = split.item;
  item.request = entry.getRequest();
  item.kvHead = entry.getKvHead();
  item.firstRow = entry.getFirstRow();
  item.qLen = entry.getQueries();
  item.qBase = ix.queryBase(item.request);
  item.numRows = ix.min(ix.sub(ix.rows(item), item.firstRow), ix.blockM);
  item.firstSlot = entry.getFirstSlot();
  item.nextSlot = entry.getNextSlot();
  item.slotStride = entry.getSlotStride();
  split.pieces = entry.getPieces();
  return split;
}
