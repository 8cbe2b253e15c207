//===- Combine.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combine.h"
#include "../Work/DevicePlan.h"
#include "Plan.h"
#include "Rows.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::mla;

static constexpr int64_t kWarps = 8;
/// Most rows with which `keys_as_m` leaves registers for two CTAs of the merge.
static constexpr int64_t kRowsBesideTwo = 16;
/// Requests of a launch that another one may follow before it ends.
static constexpr int64_t kMostChained = 16;

namespace {
/// The ops of the entry.
struct CombineEntry {
  PlanOp plan;
  ForSplitOp split;
  CombineOp combine;
  StoreOp store;
  ScheduleAttr schedule;
};
} // namespace

/// The only op of that kind, or null.
template <typename Op> static Op findOnly(func::FuncOp func) {
  SmallVector<Op> found;
  func.walk([&](Op op) { found.push_back(op); });
  return found.size() == 1 ? found.front() : Op();
}

/// As many CTAs as fit an SM beside one of the main entry's: all are ready when
/// that one ends. Those that come later would plan then. (With rows as M there
/// is no room for any.)
static int64_t getCtasPerWorker(ScheduleAttr schedule) {
  bool fitsOne = schedule.getDataflow() == "keys_as_m" &&
                 int64_t(schedule.getBlockM()) > kRowsBesideTwo;
  return fitsOne ? 1 : 2;
}

bool mla::listsSplits(ScheduleAttr schedule) {
  return schedule.getDataflow() == "rows_as_m";
}

/// The CTAs [0, groups * parts) divide the entries of the list: group i does
/// entries i, i + groups, ..., and each of its CTAs a part of their columns.
/// All but the partial results is there before the main entry ends.
static void emitMerges(OpBuilder &b, CombineEntry entry, Value ctas, Value list,
                       Value entries) {
  PlanOp plan = entry.plan;
  Location loc = plan.getLoc();
  IndexMath ix{b, loc};
  Value one = ix.constant(1);
  Value cta = entry.split.getWorker();
  Value parts = ix.max(ix.floorDiv(ctas, ix.max(entries, one)), one);
  Value groups = ix.floorDiv(ctas, parts), group = ix.floorDiv(cta, parts);
  Value part = ix.sub(cta, ix.mul(group, parts));
  Value first = ix.select(ix.less(group, groups), group, entries);

  auto loop = scf::ForOp::create(b, loc, first, entries, groups);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SplitItem split = loadSplitItem(b, loc, plan, list, loop.getInductionVar());
  mla_gpu::GridWaitOp::create(b, loc);
  const ItemValues &item = split.item;
  Value out = rowsOfItem(b, loc, plan, item, entry.store.getOut());
  Value lse = entry.store.getLse();
  if (lse)
    lse = rowsOfItem(b, loc, plan, item, lse);
  mla_gpu::MergeOp::create(
      b, loc, entry.combine.getPartialOut(), entry.combine.getPartialLse(),
      item.firstSlot, item.nextSlot, item.slotStride, split.pieces,
      item.numRows, part, parts, out, lse, entry.store.getLseScale(),
      entry.store.getLseEmpty(), item.firstRow,
      promisesAlignedRows(entry.schedule, out));
}

/// Where that is asked for, lets the next launch begin, so that it is set up
/// when this one ends. It takes SMs as they get free, which is worth it for
/// small work only.
static void emitChain(IndexMath &ix, func::FuncOp func, PlanOp plan) {
  Value asked =
      appendArgument(func, argument_names::kPDLTrigger, ix.b.getI32Type());
  Value batch =
      memref::DimOp::create(ix.b, ix.loc, plan.getSeqLens(), int64_t(0));
  Value zero = arith::ConstantIntOp::create(ix.b, ix.loc, 0, 32);
  Value isAsked = ix.compare(arith::CmpIPredicate::ne, asked, zero);
  Value isSmall = ix.lessEqual(batch, ix.constant(kMostChained));
  auto branch = scf::IfOp::create(ix.b, ix.loc, ix.both(isAsked, isSmall),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(branch.thenBlock());
  mla_gpu::GridLaunchDependentsOp::create(ix.b, ix.loc);
}

/// Lists what the main entry splits; gives the number of entries. The plan is
/// of that entry's workers.
static Value listSplits(IndexMath &ix, PlanOp plan, ScheduleAttr schedule,
                        Value splitList) {
  plan.getWorkersMutable().assign(
      ix.floorDiv(plan.getWorkers(), ix.constant(getCtasPerWorker(schedule))));
  ix.b.setInsertionPointAfter(plan);
  return mla_gpu::PlanSplitsOp::create(ix.b, ix.loc, plan,
                                       schedule.getRowBlocks(),
                                       schedule.getCluster() == 2, splitList)
      .getCount();
}

LogicalResult mla::emitCombine(func::FuncOp func, ScheduleAttr schedule) {
  CombineEntry entry = {findOnly<PlanOp>(func), findOnly<ForSplitOp>(func),
                        findOnly<CombineOp>(func), findOnly<StoreOp>(func),
                        schedule};
  if (!entry.plan || !entry.split || !entry.combine || !entry.store)
    return func.emitError("requires one each of mla.plan, mla.for_split, "
                          "mla.combine and mla.store as the second entry");
  OpBuilder b(entry.plan);
  Type i32 = b.getI32Type();
  Location loc = entry.plan.getLoc();
  IndexMath ix{b, loc};
  Value splitList =
      appendArgument(func, argument_names::kSplitList,
                     MemRefType::get({ShapedType::kDynamic, 8}, i32));
  emitChain(ix, func, entry.plan);
  Value ctas = entry.plan.getWorkers(), splits;
  bool isShared = schedule.getPlan() == PlanPolicy::Shared;
  if (isShared || listsSplits(schedule)) {
    // A shared plan is there before the main entry begins, which lets this one
    // begin.
    if (!isShared)
      mla_gpu::GridWaitOp::create(b, loc);
    Value count =
        appendArgument(func, argument_names::kSplitCount,
                       MemRefType::get({ShapedType::kDynamic, 1}, i32));
    splits = ix.load(count, {ix.constant(0), ix.constant(0)});
  } else {
    splits = listSplits(ix, entry.plan, schedule, splitList);
  }
  emitMerges(b, entry, ctas, splitList, splits);
  // Also where there is nothing to merge: launches must not overtake.
  mla_gpu::GridWaitOp::create(b, loc);
  func->setAttr("mla_gpu.ctas_per_worker",
                b.getI64IntegerAttr(getCtasPerWorker(schedule)));
  func->setAttr("mla_gpu.warps", b.getI64IntegerAttr(kWarps));

  entry.split.erase();
  finishPlan(entry.plan);
  return success();
}
