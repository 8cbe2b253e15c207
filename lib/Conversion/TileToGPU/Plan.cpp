//===- Plan.cpp -----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "Combine.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::mla;

/// Warps of the entry that plans.
static constexpr int64_t kPlanWarps = 8;

static MemRefType listType(MLIRContext *context, int64_t fields) {
  return MemRefType::get({ShapedType::kDynamic, fields},
                         IntegerType::get(context, 32));
}

/// The number of the CTA, by its name; an error if the function has none.
static FailureOr<Value> findWorker(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  MLADialect::kName);
    if (name && name.getValue() == argument_names::kWorker)
      return Value(argument);
  }
  return func.emitError("requires an argument named '")
         << argument_names::kWorker << "'";
}

FailureOr<func::FuncOp> mla::makePlanEntry(const TileEntry &main, bool pairs) {
  func::FuncOp original = main.func;
  OpBuilder b(original);
  MLIRContext *context = b.getContext();
  auto func = cast<func::FuncOp>(b.clone(*original));
  func.setSymName((original.getSymName() + "_plan").str());
  func->removeAttr(MLADialect::kSchedule);
  func->setAttr("mla_gpu.warps", b.getI64IntegerAttr(kPlanWarps));

  FailureOr<Value> worker = findWorker(func);
  if (failed(worker))
    return failure();
  (*func.getOps<ForWorkOp>().begin()).erase();
  SharedPlan lists;
  lists.workList =
      appendArgument(func, argument_names::kWorkList, listType(context, 8));
  lists.workRange =
      appendArgument(func, argument_names::kWorkRange, listType(context, 2));
  if (main.storePartial) {
    lists.splitList =
        appendArgument(func, argument_names::kSplitList, listType(context, 8));
    lists.splitCount =
        appendArgument(func, argument_names::kSplitCount, listType(context, 1));
  }
  PlanOp plan = *func.getOps<PlanOp>().begin();
  b.setInsertionPointAfter(plan);
  emitSharedPlan(b, plan, main.schedule.getRowBlocks(), pairs, *worker, lists);
  finishPlan(plan);

  // What only the work took.
  func->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  llvm::BitVector unused(func.getNumArguments());
  for (BlockArgument argument : func.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  if (failed(func.eraseArguments(unused)))
    return failure();
  return func;
}

void mla::finishPlan(PlanOp plan) {
  if (plan.use_empty())
    return plan.erase();
  auto name = StringAttr::get(plan.getContext(), "plan");
  plan->setLoc(NameLoc::get(name, plan.getLoc()));
}

LogicalResult mla::emitPlan(TileEntry &entry) {
  func::FuncOp func = entry.func;
  FailureOr<Value> worker = findWorker(func);
  if (failed(worker))
    return failure();
  OpBuilder b(entry.plan);
  Location loc = entry.plan.getLoc();
  MLIRContext *context = b.getContext();
  entry.workList =
      appendArgument(func, argument_names::kWorkList, listType(context, 8));
  mla_gpu::GridWaitOp::create(b, loc);
  b.setInsertionPointAfter(entry.plan);
  if (entry.schedule.getPlan() == PlanPolicy::Shared) {
    Value ranges =
        appendArgument(func, argument_names::kWorkRange, listType(context, 2));
    entry.readRange = [=, worker = *worker](OpBuilder &b) {
      IndexMath ix{b, loc};
      return std::pair{ix.load(ranges, {worker, ix.constant(0)}),
                       ix.load(ranges, {worker, ix.constant(1)})};
    };
  } else {
    Value splitList, splitCount;
    if (entry.storePartial && listsSplits(entry.schedule)) {
      splitList = appendArgument(func, argument_names::kSplitList,
                                 listType(context, 8));
      splitCount = appendArgument(func, argument_names::kSplitCount,
                                  listType(context, 1));
    }
    auto work = mla_gpu::PlanWorkOp::create(
        b, loc, entry.plan, *worker, entry.schedule.getRowBlocks(), entry.pairs,
        entry.workList, splitList, splitCount);
    entry.readRange = [work](OpBuilder &) mutable {
      return std::pair<Value, Value>(work.getBegin(), work.getEnd());
    };
  }
  // The merge is set up beside the roles: here it would delay them.
  if (entry.storePartial)
    mla_gpu::GridLaunchDependentsOp::create(b, loc);
  return success();
}
