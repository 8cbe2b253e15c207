//===- SplitKV.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Under a schedule that splits,
//
//   mla.plan ... split = whole              split = balanced
//   mla.store %out, %lse at %item    ->     scf.if %whole { mla.store }
//                                           else { mla.store_partial }
//
// and a second entry merges: mla.for_split { mla.combine; mla.store }.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_SPLITKV
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"
} // namespace mlir::mla

/// The type of a buffer of partial slots for tiles of this type.
static MemRefType slotsOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, type.getShape());
  return MemRefType::get(shape, type.getElementType());
}

/// Adds `<name>_combine` behind `func`: for each item that was split, merge and
/// store.
static void buildCombine(func::FuncOp func, PlanOp plan, StoreOp store) {
  OpBuilder builder(func);
  builder.setInsertionPointAfter(func);
  Location loc = store.getLoc();

  // The same arguments and plan; what is not used is dropped below.
  IRMapping mapping;
  auto combine = cast<func::FuncOp>(
      builder.cloneWithoutRegions(*func.getOperation(), mapping));
  combine.setName((func.getName() + "_combine").str());
  combine->setAttr(MLADialect::kEntry, builder.getI64IntegerAttr(1));
  Block *body = combine.addEntryBlock();
  mapping.map(func.getArguments(), body->getArguments());
  builder.setInsertionPointToEnd(body);
  for (Operation &op : func.front()) {
    if (isa<ForWorkOp>(op))
      break;
    builder.clone(op, mapping);
  }
  auto work = store->getParentOfType<ForWorkOp>();
  auto split =
      ForSplitOp::create(builder, loc, mapping.lookup(plan.getResult()),
                         mapping.lookup(work.getWorker()));
  func::ReturnOp::create(builder, loc);

  Block *splitBody = builder.createBlock(
      &split.getBody(), {},
      {ItemType::get(builder.getContext()), builder.getIndexType()},
      {loc, loc});
  Value partialOut = body->getArgument(body->getNumArguments() - 2);
  Value partialLse = body->getArgument(body->getNumArguments() - 1);
  auto merged =
      CombineOp::create(builder, loc, store.getOutTile().getType(),
                        store.getLseTile().getType(), splitBody->getArgument(0),
                        splitBody->getArgument(1), partialOut, partialLse);
  auto copied = [&](Value value) {
    return value ? mapping.lookup(value) : Value();
  };
  StoreOp::create(builder, loc, merged.getOut(), merged.getLse(),
                  splitBody->getArgument(0), copied(store.getOut()),
                  copied(store.getLse()), copied(store.getLseScale()),
                  copied(store.getLseEmpty()));
  YieldOp::create(builder, loc);

  BitVector unused(combine.getNumArguments());
  for (BlockArgument argument : combine.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  (void)combine.eraseArguments(unused);
}

static LogicalResult splitFunction(func::FuncOp func) {
  auto schedule = func->getAttrOfType<ScheduleAttr>(MLADialect::kSchedule);
  if (!schedule || schedule.getSplit() == SplitPolicy::Whole)
    return success();
  SmallVector<PlanOp> plans(func.getOps<PlanOp>());
  if (plans.empty())
    return success(); // below the tile level
  if (plans.size() == 1 && plans.front().getSplit() != SplitPolicy::Whole)
    return success(); // is split already
  SmallVector<StoreOp> stores;
  func.walk([&](StoreOp store) { stores.push_back(store); });
  if (plans.size() != 1 || stores.size() != 1 ||
      !stores.front()->getParentOfType<ForWorkOp>())
    return func.emitError(
               "requires one mla.plan and one mla.store in mla.for_work to "
               "split, but got ")
           << plans.size() << " and " << stores.size();
  PlanOp plan = plans.front();
  StoreOp store = stores.front();

  plan.setSplit(schedule.getSplit());
  Value partialOut = appendArgument(func, argument_names::kPartialOut,
                                    slotsOf(store.getOutTile()));
  Value partialLse = appendArgument(func, argument_names::kPartialLse,
                                    slotsOf(store.getLseTile()));
  buildCombine(func, plan, store);

  OpBuilder builder(store);
  Location loc = store.getLoc();
  auto work = store->getParentOfType<ForWorkOp>();
  auto branch =
      scf::IfOp::create(builder, loc, work.getWhole(), /*withElseRegion=*/true);
  store->moveBefore(branch.thenYield());
  builder.setInsertionPoint(branch.elseYield());
  StorePartialOp::create(builder, loc, store.getOutTile(), store.getLseTile(),
                         store.getItem(), partialOut, partialLse);
  return success();
}

namespace {
struct SplitKV : public mla::impl::SplitKVBase<SplitKV> {
  using Base::Base;

  void runOnOperation() override {
    for (func::FuncOp func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(splitFunction(func)))
        return signalPassFailure();
  }
};
} // namespace
