//===- Rows.cpp -----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::mla;

Value mla::rowsOfItem(OpBuilder &builder, Location loc, PlanOp plan,
                      const ItemValues &item, Value memref) {
  ItemMath math(builder, loc, plan);
  bool ragged = bool(plan.getQOffsets());
  auto type = cast<MemRefType>(memref.getType());
  Attribute one = builder.getIndexAttr(1), zero = builder.getIndexAttr(0);
  int64_t heads = plan.getGroup();

  SmallVector<OpFoldResult> offsets, sizes;
  if (!ragged) {
    offsets.push_back(item.request);
    sizes.push_back(one);
  }
  offsets.push_back(ragged ? OpFoldResult(item.qBase) : OpFoldResult(zero));
  sizes.push_back(item.qLen);
  offsets.push_back(plan.getKvHeads() == 1
                        ? OpFoldResult(zero)
                        : OpFoldResult(math.mul(item.kvHead, math.group)));
  sizes.push_back(builder.getIndexAttr(heads));
  SmallVector<int64_t> shape = {ShapedType::kDynamic, heads};
  if (int64_t(sizes.size()) < type.getRank()) {
    offsets.push_back(zero);
    sizes.push_back(builder.getIndexAttr(type.getShape().back()));
    shape.push_back(type.getShape().back());
  }
  SmallVector<OpFoldResult> strides(type.getRank(), one);
  auto rows = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, sizes, strides);
  return memref::SubViewOp::create(builder, loc, cast<MemRefType>(rows), memref,
                                   offsets, sizes, strides);
}

bool mla::promisesAlignedRows(ScheduleAttr schedule, Value memref) {
  return schedule.getAlignment() >= kRowAlignment &&
         mayBeAligned(cast<MemRefType>(memref.getType()), kRowAlignment);
}

Value mla::buildLse(mla_gpu::RoleBuilder &b, StoreOp store, Value log2) {
  constexpr float kLn2 = 0.693147182f;
  auto row = cast<RankedTensorType>(log2.getType());
  if (!store.getLseScale())
    return arith::MulFOp::create(b, log2, b.splat(row, kLn2));
  Value ln2 = arith::ConstantOp::create(b, b.getF32FloatAttr(kLn2));
  Value unit = arith::MulFOp::create(b, ln2, store.getLseScale());
  Value scaled = arith::MulFOp::create(b, log2, b.spread(unit, row));
  Value isEmpty = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, log2,
      b.splat(row, -std::numeric_limits<float>::infinity()));
  return b.select(isEmpty, b.spread(store.getLseEmpty(), row), scaled);
}
