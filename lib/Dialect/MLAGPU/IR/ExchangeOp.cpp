//===- ExchangeOp.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the CTAs of a cluster do together.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// Columns of each half in multiples of what an MMA has along M.
static constexpr int64_t kColumns = 2 * 64;
/// Threads that share a row where keys are M.
static constexpr int64_t kSharers = 32;

LogicalResult ExchangeOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  SmallVector<int64_t> shape(value.getShape());
  shape.back() = std::max<int64_t>(shape.back() / 2, 1);
  Type half = value.clone(shape);
  types.append({half, half, adaptor.getRows().getType(),
                IndexType::get(value.getContext())});
  return success();
}

LogicalResult ExchangeOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  auto rows = cast<RankedTensorType>(getRows().getType());
  auto layout = dyn_cast_or_null<MmaLayoutAttr>(value.getEncoding());
  auto slice = dyn_cast_or_null<SliceLayoutAttr>(rows.getEncoding());
  if (!layout || layout.isRowsAsM() || value.getRank() != 2 ||
      value.getDimSize(1) % kColumns || !value.getElementType().isF32())
    return emitOpError("(exchange_c1) requires f32 with keys as M and a "
                       "multiple of ")
           << kColumns << " columns, but got " << value;
  if (!slice || slice.getDim() != 1 || slice.getParent() != layout ||
      rows.getShape() != value.getShape().take_front() ||
      !rows.getElementType().isF32())
    return emitOpError("(exchange_c1) requires f32 in the slice of rows of ")
           << value << ", but got " << rows;
  int64_t needed = 4 * value.getDimSize(0) * (value.getDimSize(1) / 2) +
                   4 * value.getDimSize(0) * kSharers;
  if (getTile().getType().getBytes() < needed)
    return emitOpError("(exchange_c2) requires a tile of at least ")
           << needed << " bytes, but got " << getTile().getType().getBytes();
  auto func = (*this)->getParentOfType<func::FuncOp>();
  bool isCalled = func && func.isPrivate();
  if (!isCalled && !(*this)->getParentOfType<WarpSpecializeOp>())
    return emitOpError("(exchange_c3) requires to be in a role");
  int64_t count = 0;
  if (func)
    func.walk([&](ExchangeOp) { ++count; });
  if (count > 1)
    return emitOpError("(exchange_c3) requires to be the only one of the "
                       "function, but got ")
           << count;
  return success();
}
