//===- ExpandPlan.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   %begin, %end = mla_gpu.plan_work %plan worker(%cta) ... to %list
//
// becomes scans that store to %list and to the CTA's own range, which each role
// that uses it loads:
//
//   %range = memref.alloca() : memref<2xi32, 3>
//   mla_gpu.scan ...
//   role "load": %begin = memref.load %range[%c0], ...
//
// mla_gpu.plan_splits likewise, and items of the lists become loads of the
// fields that are used.
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_EXPANDPLAN
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

/// i32 of the CTA's own, in shared memory.
static Value allocateShared(OpBuilder &b, Location loc,
                            ArrayRef<int64_t> shape) {
  constexpr int64_t kSharedSpace = 3; // of NVPTX
  auto type = MemRefType::get(shape, b.getI32Type(), AffineMap(),
                              b.getI64IntegerAttr(kSharedSpace));
  return memref::AllocaOp::create(b, loc, type);
}

/// Gives what uses an end of the range its value: a load where a role begins,
/// so that no register holds it from before, or else behind the plan.
static void replaceBound(mla_gpu::PlanWorkOp op, Value bound, Value range,
                         int64_t number) {
  llvm::MapVector<Block *, SmallVector<OpOperand *>> uses;
  for (OpOperand &use : bound.getUses()) {
    Region *role = mla_gpu::getRoleBody(use.getOwner());
    uses[role ? &role->front() : op->getBlock()].push_back(&use);
  }
  for (auto &[block, operands] : uses) {
    OpBuilder b(op);
    if (block != op->getBlock())
      b.setInsertionPointToStart(block);
    IndexMath ix{b, op.getLoc()};
    Value value = ix.load(range, ix.constant(number));
    for (OpOperand *operand : operands)
      operand->set(value);
  }
}

static void expandWork(mla_gpu::PlanWorkOp op) {
  OpBuilder b(op);
  Value range = allocateShared(b, op.getLoc(), {2});
  SplitBuffers splits = {op.getSplitList(), op.getSplitCount(), Value()};
  if (splits.splitList)
    splits.staging = allocateShared(b, op.getLoc(), {kMaxGroups, 8});
  emitDevicePlan(b, op.getPlan().getDefiningOp<PlanOp>(), op.getRowBlocks(),
                 op.getPairs(), op.getWorker(), {op.getList(), range},
                 splits.splitList ? &splits : nullptr);
  replaceBound(op, op.getEnd(), range, 1);
  replaceBound(op, op.getBegin(), range, 0);
  op.erase();
}

static void expandSplits(mla_gpu::PlanSplitsOp op) {
  OpBuilder b(op);
  Value staging = allocateShared(b, op.getLoc(), {kMaxGroups, 8});
  Value count = emitDeviceSplits(b, op.getPlan().getDefiningOp<PlanOp>(),
                                 op.getRowBlocks(), op.getPairs(),
                                 {op.getList(), Value(), staging});
  op.getCount().replaceAllUsesWith(count);
  op.erase();
}

/// Results of the op are fields of the entry, in their order.
template <typename ItemOp> static void expandItem(ItemOp op) {
  OpBuilder b(op);
  IndexMath ix{b, op.getLoc()};
  for (OpResult field : op->getResults())
    if (!field.use_empty())
      field.replaceAllUsesWith(ix.load(
          op.getList(), {op.getIndex(), ix.constant(field.getResultNumber())}));
  op.erase();
}

static void expandPairedItem(mla_gpu::PairedItemOp op) {
  OpBuilder b(op);
  IndexMath ix{b, op.getLoc()};
  Value slot =
      ix.load(op.getList(), {op.getIndex(), ix.constant(plan_fields::kSlot)});
  op.getPaired().replaceAllUsesWith(ix.equal(slot, ix.constant(kSlotOfPair)));
  op.erase();
}

/// Erases what computes values that nobody uses.
static void eraseDead(func::FuncOp func) {
  func->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

namespace {
struct ExpandPlan : public mla::impl::ExpandPlanBase<ExpandPlan> {
  using Base::Base;

  void runOnOperation() override {
    // What is computed of a field but not used would keep it alive: results of
    // functions that were inlined.
    eraseDead(getOperation());
    getOperation()->walk([](Operation *op) {
      if (auto work = dyn_cast<mla_gpu::PlanWorkOp>(op))
        expandWork(work);
      else if (auto splits = dyn_cast<mla_gpu::PlanSplitsOp>(op))
        expandSplits(splits);
      else if (auto item = dyn_cast<mla_gpu::WorkItemOp>(op))
        expandItem(item);
      else if (auto item = dyn_cast<mla_gpu::PairedItemOp>(op))
        expandPairedItem(item);
      else if (auto item = dyn_cast<mla_gpu::SplitItemOp>(op))
        expandItem(item);
    });
    // Also the plan, and scans for what a policy does not ask.
    eraseDead(getOperation());
  }
};
} // namespace
