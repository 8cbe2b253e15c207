//===- PlanOps.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Plans, and the entries of the lists that they write.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static constexpr int64_t kFields = 8;

/// Checks a list; the error names the constraint.
static LogicalResult verifyList(Operation *op, Value list,
                                StringRef constraint) {
  auto type = cast<MemRefType>(list.getType());
  if (type.getDimSize(1) == kFields)
    return success();
  return op->emitOpError("(")
         << constraint << ") requires a list of " << kFields
         << " fields an entry, but got " << type;
}

/// Checks an op that plans; errors name constraints that begin so.
template <typename Op>
static LogicalResult verifyPlan(Op op, StringRef prefix) {
  if (!op.getPlan().template getDefiningOp<mla::PlanOp>())
    return op.emitOpError("(")
           << prefix << "_c1) requires an mla.plan of the function";
  if (failed(verifyList(op, op.getList(), (prefix + "_c2").str())))
    return failure();
  if (int64_t(op.getRowBlocks()) < 1)
    return op.emitOpError("(") << prefix
                               << "_c2) requires a positive row_blocks, but "
                                  "got "
                               << int64_t(op.getRowBlocks());
  if (op.getPairs() && int64_t(op.getRowBlocks()) != 1)
    return op.emitOpError("(")
           << prefix << "_c5) requires row_blocks = 1 with pairs, but got "
           << int64_t(op.getRowBlocks());
  if (!isa<func::FuncOp>(op->getParentOp()))
    return op.emitOpError("(")
           << prefix
           << "_c3) requires to be outside of roles, loops and "
              "branches";
  return success();
}

LogicalResult PlanWorkOp::verify() {
  if (failed(verifyPlan(*this, "plan_work")))
    return failure();
  return getSplitList() ? verifyList(*this, getSplitList(), "plan_work_c4")
                        : success();
}
LogicalResult PlanSplitsOp::verify() {
  return verifyPlan(*this, "plan_splits");
}
LogicalResult WorkItemOp::verify() {
  return verifyList(*this, getList(), "work_item_c1");
}
LogicalResult PairedItemOp::verify() {
  return verifyList(*this, getList(), "paired_item_c1");
}
LogicalResult SplitItemOp::verify() {
  return verifyList(*this, getList(), "split_item_c1");
}

//===----------------------------------------------------------------------===//
// Names of results
//===----------------------------------------------------------------------===//

void PlanWorkOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBegin(), "begin");
  setName(getEnd(), "end");
}

void PlanSplitsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCount(), "splits");
}

void WorkItemOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  StringRef names[] = {"request", "kv_head", "first_row", "first_tile",
                       "tiles",   "slot",    "keys",      "queries"};
  for (auto [result, name] : llvm::zip_equal(getResults(), names))
    setName(result, name);
}

void PairedItemOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPaired(), "paired");
}

void SplitItemOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  StringRef names[] = {"request",    "kv_head",   "first_row",   "pieces",
                       "first_slot", "next_slot", "slot_stride", "queries"};
  for (auto [result, name] : llvm::zip_equal(getResults(), names))
    setName(result, name);
}
