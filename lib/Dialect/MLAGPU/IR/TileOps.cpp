//===- TileOps.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Copies, matrix multiplications and fragments.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// The layout of a tensor value; null if it has none of this dialect's.
static Attribute layoutOf(Value value) {
  RankedTensorType type = tensorOf(value);
  if (!type || !getMmaLayout(type.getEncoding()))
    return {};
  return type.getEncoding();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult TMALoadOp::verify() {
  TensorMapType map = getMap().getType();
  TileType tile = getTile().getType();
  if (getCoordinates().size() != map.getShape().size())
    return emitOpError("(tma_load_c1) requires ")
           << map.getShape().size() << " coordinates, but got "
           << getCoordinates().size();
  int64_t first = getAt(), end = first + map.getBoxRows();
  if (!tile.isMatrix() || first < 0 || first % 8 || end > tile.getRows() ||
      tile.getColumns() % map.getBoxColumns())
    return emitOpError("(tma_load_c2) requires a tile of boxes of ")
           << map.getBoxRows() << " x " << map.getBoxColumns() << " from row "
           << first << " on, but got " << tile;
  if (tile.getElementType() != map.getElementType() ||
      tile.getSwizzle() != map.getSwizzle())
    return emitOpError("(tma_load_c3) requires the element type and swizzle "
                       "of ")
           << map << ", but got " << tile;
  return success();
}

int64_t TMALoadOp::getBytes() {
  TileType tile = getTile().getType();
  return tile.getBytes() / tile.getRows() * getMap().getType().getBoxRows();
}

LogicalResult mla_gpu::verifyAligned(Operation *op, Value memref,
                                     StringRef constraint) {
  auto type = cast<MemRefType>(memref.getType());
  if (mla::mayBeAligned(type, mla::kRowAlignment))
    return success();
  return op->emitOpError("(")
         << constraint << ") requires an offset and "
         << "strides of multiples of " << mla::kRowAlignment
         << " bytes if 'aligned', but got " << type;
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  TileType tile = getTile().getType();
  int64_t rowDims = source.getRank() - 1;
  if (rowDims < 1 || !tile.isMatrix() ||
      source.getShape().back() != tile.getColumns() ||
      source.getElementType() != tile.getElementType() ||
      !source.isLastDimUnitStride())
    return emitOpError("(gather_c1) requires rows of ")
           << tile << ", contiguous, but got " << source;
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  auto isIndex = [](Type type) { return type.isIndex(); };
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex() ||
      !yield || yield.getNumOperands() != rowDims ||
      !llvm::all_of(yield.getOperandTypes(), isIndex))
    return emitOpError("(gather_c2) requires a region from an index to ")
           << rowDims;
  for (Operation &op : body.without_terminator())
    if (isa<MLAGPUDialect>(op.getDialect()))
      return op.emitOpError("(gather_c2) requires to be outside of an "
                            "mla_gpu.gather");
  if (getAligned())
    return verifyAligned(*this, getSource(), "gather_c3");
  return success();
}

/// Checks that a tensor with a layout has the shape and elements of a tile.
static LogicalResult verifyCopy(Operation *op, StringRef constraint,
                                Value value, TileType tile) {
  RankedTensorType tensor = tensorOf(value);
  if (layoutOf(value) && tensor.getShape() == tile.getShape() &&
      tensor.getElementType() == tile.getElementType())
    return success();
  return op->emitOpError("(")
         << constraint << ") requires a tensor with a layout, of the shape and "
         << "elements of " << tile << ", but got " << tensor;
}

LogicalResult LoadSharedOp::verify() {
  return verifyCopy(*this, "load_shared_c1", getResult(), getTile().getType());
}

LogicalResult StoreSharedOp::verify() {
  return verifyCopy(*this, "store_shared_c1", getValue(), getTile().getType());
}

LogicalResult ClearRowsOp::verify() {
  if (!getTile().getType().isMatrix())
    return emitOpError("(clear_rows_c1) requires a matrix, but got ")
           << getTile().getType();
  return success();
}

/// Whether a memref has packed rows: one or two dimensions, the second static,
/// and contiguous columns behind them if it has any.
static bool hasPackedRows(MemRefType type, bool matrix) {
  int64_t rowDims = type.getRank() - matrix;
  return rowDims >= 1 && rowDims <= 2 &&
         (rowDims == 1 || !type.isDynamicDim(1)) &&
         (!matrix || type.isLastDimUnitStride());
}

LogicalResult StoreRowsOp::verify() {
  RankedTensorType value = tensorOf(getValue());
  auto slice = dyn_cast_or_null<SliceLayoutAttr>(value.getEncoding());
  bool matrix = bool(getColumn());
  if (matrix ? !isa_and_nonnull<MmaLayoutAttr>(value.getEncoding())
             : !slice || slice.getDim() != 1)
    return emitOpError("(store_rows_c1) requires ")
           << (matrix ? "a matrix with an #mla_gpu.mma layout"
                      : "a vector of rows in a slice")
           << ", but got " << value;
  auto dest = cast<MemRefType>(getDest().getType());
  if (dest.getElementType() != value.getElementType() ||
      !hasPackedRows(dest, matrix))
    return emitOpError("(store_rows_c2) requires ")
           << value.getElementType()
           << " in one or two dimensions of rows, the second static"
           << (matrix ? ", and contiguous columns" : "") << ", but got "
           << dest;
  if (getAligned() && !matrix)
    return emitOpError("(store_rows_c3) requires columns if 'aligned', but "
                       "got ")
           << dest;
  if (getAligned())
    return verifyAligned(*this, getDest(), "store_rows_c3");
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix multiplication
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  RankedTensorType result = getResult().getType().getValue();
  auto layout = cast<MmaLayoutAttr>(result.getEncoding());
  TileType rhs = getRhs().getType();
  auto lhsTile = dyn_cast<TileType>(getLhs().getType());
  RankedTensorType lhsTensor = tensorOf(getLhs());
  ArrayRef<int64_t> lhs = lhsTile ? lhsTile.getShape() : lhsTensor.getShape();
  Type elements =
      lhsTile ? lhsTile.getElementType() : lhsTensor.getElementType();

  if (lhs.size() != 2 || !rhs.isMatrix())
    return emitOpError("(mma_c1) requires matrices, but got ")
           << getLhs().getType() << " and " << rhs;
  int64_t depth = getTransposed() ? rhs.getColumns() : rhs.getRows();
  int64_t columns = getTransposed() ? rhs.getRows() : rhs.getColumns();
  if (lhs[1] != depth || result.getDimSize(0) != lhs[0] ||
      result.getDimSize(1) != columns)
    return emitOpError("(mma_c1) requires (rows x depth) * (depth x columns), "
                       "but got ")
           << lhs[0] << "x" << lhs[1] << " * " << depth << "x" << columns
           << " -> " << result.getDimSize(0) << "x" << result.getDimSize(1);
  if (!(elements.isBF16() || elements.isF16()) ||
      rhs.getElementType() != elements || !result.getElementType().isF32())
    return emitOpError("(mma_c2) requires bf16 or f16 operands and an f32 "
                       "result, but got ")
           << elements << ", " << rhs.getElementType() << " and "
           << result.getElementType();
  if (depth % layout.getInstr()[2])
    return emitOpError("(mma_c3) requires a depth that is a multiple of ")
           << layout.getInstr()[2] << ", but got " << depth;
  if (lhsTensor) {
    auto fragment = dyn_cast_or_null<MmaLayoutAttr>(lhsTensor.getEncoding());
    if (!fragment || !fragment.isRowsAsM() || !layout.isRowsAsM())
      return emitOpError("(mma_c4) requires rows as M for an operand in "
                         "registers, but got ")
             << lhsTensor << " for a result with " << layout;
  }
  if (getAcc() && getAcc().getType() != getResult().getType() &&
      getAcc().getType() != Type(result))
    return emitOpError("(mma_c5) requires acc of type ")
           << result << ", or that in flight, but got " << getAcc().getType();
  if (!getTransposed()) {
    int64_t step = rhs.getSwizzleColumns(), begin = 0;
    if (auto view = getRhs().getDefiningOp<ViewOp>())
      begin = view.getBegin();
    if (columns % step || begin % step)
      return emitOpError("(mma_c6) requires whole swizzles of ")
             << step << " columns for what is not transposed, but got ["
             << begin << ":" << begin + columns << "]";
  }
  return success();
}

LogicalResult MmaWaitOp::verify() {
  if (!getResult())
    return success();
  if (getResult().getType() != Type(getValue().getType().getValue()))
    return emitOpError("(mma_wait_c1) requires a result of type ")
           << getValue().getType().getValue() << ", but got "
           << getResult().getType();
  for (Operation *user : getValue().getUsers())
    if (auto mma = dyn_cast<MmaOp>(user); mma && mma.getAcc() == getValue())
      return (emitOpError("(mma_wait_c2) requires an accumulator that no "
                          "later MMA adds to")
                  .attachNote(mma.getLoc())
              << "added to here");
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

LogicalResult RowReduceOp::verify() {
  RankedTensorType value = tensorOf(getValue());
  RankedTensorType result = tensorOf(getResult());
  MmaLayoutAttr layout = getMmaLayout(value.getEncoding());
  bool matrix =
      isa_and_nonnull<MmaLayoutAttr, LanesLayoutAttr>(value.getEncoding());
  auto slice = dyn_cast_or_null<SliceLayoutAttr>(result.getEncoding());
  auto lanes = dyn_cast_or_null<LanesLayoutAttr>(result.getEncoding());
  bool toSlice = slice && slice.getDim() == 1 && slice.getParent() == layout;
  bool toLanes = lanes && lanes.getParent() == layout &&
                 isa<MmaLayoutAttr>(value.getEncoding());
  if (matrix && (toSlice || toLanes) &&
      value.getElementType() == result.getElementType() &&
      value.getDimSize(0) == result.getDimSize(0))
    return success();
  return emitOpError("(row_reduce_c1) requires a matrix with a layout, and "
                     "its rows in the slice or lanes of that, but got ")
         << value << " -> " << result;
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  RankedTensorType value = tensorOf(getValue());
  Type elements = value ? value.getElementType() : getValue().getType();
  if (!layoutOf(getResult()) || result.getElementType() != elements)
    return emitOpError("(broadcast_c1) requires a result with a layout and "
                       "elements of ")
           << elements << ", but got " << result;
  if (!value)
    return success();
  auto slice = dyn_cast_or_null<SliceLayoutAttr>(value.getEncoding());
  bool toLanes = isa<LanesLayoutAttr>(result.getEncoding());
  if (!slice || isa<SliceLayoutAttr>(result.getEncoding()) ||
      getMmaLayout(result.getEncoding()) != slice.getParent() ||
      (toLanes && slice.getDim() != 1) ||
      result.getDimSize(1 - slice.getDim()) != value.getDimSize(0))
    return emitOpError("(broadcast_c2) requires a slice of the result's "
                       "layout, as long as the dimension it keeps, but got ")
           << value << " -> " << result;
  return success();
}

LogicalResult IotaOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  int64_t dim = getDim();
  if (layoutOf(getResult()) && result.getElementType().isIntOrIndex() &&
      dim >= 0 && dim < result.getRank())
    return success();
  return emitOpError("(iota_c1) requires a tensor of integers with a layout "
                     "and a dimension ")
         << dim << ", but got " << result;
}

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType value = tensorOf(getValue());
  RankedTensorType result = tensorOf(getResult());
  if (layoutOf(getValue()) && layoutOf(getResult()) &&
      value.getShape() == result.getShape() &&
      value.getElementType() == result.getElementType())
    return success();
  return emitOpError("(convert_layout_c1) requires the same shape and "
                     "elements in two layouts, but got ")
         << value << " -> " << result;
}

LogicalResult IfAnyOp::verify() {
  auto type = cast<RankedTensorType>(getCondition().getType());
  MmaLayoutAttr layout = getMmaLayout(type.getEncoding());
  if (!layout ||
      (!layout.isRowsAsM() && !isa<SliceLayoutAttr>(type.getEncoding())))
    return emitOpError("(if_any_c1) requires a condition ")
           << (layout ? "in a slice, as rows are spread over warps"
                      : "with a layout")
           << ", but got " << type;
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (getBody().getNumArguments() || !yield ||
      yield.getOperandTypes() != getValues().getTypes() ||
      getResultTypes() != getValues().getTypes())
    return emitOpError("(if_any_c2) requires a region that takes nothing and "
                       "yields the types of 'else'");
  return success();
}

LogicalResult IfAnyOp::verifyRegions() {
  for (Operation &op : getBody().front().without_terminator())
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("(if_any_c3) requires to be outside of an "
                            "mla_gpu.if_any, which only computes");
  return success();
}

LogicalResult MapOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  for (Value value : getValues())
    if (tensorOf(value).getShape() != result.getShape() ||
        tensorOf(value).getEncoding() != result.getEncoding())
      return emitOpError("(map_c1) requires the shape and layout of ")
             << result << ", but got " << value.getType();
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  auto elementsOf = [](Value value) {
    return tensorOf(value).getElementType();
  };
  if (!layoutOf(getResult()) || !yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != result.getElementType() ||
      !llvm::equal(body.getArgumentTypes(),
                   llvm::map_range(getValues(), elementsOf)))
    return emitOpError("(map_c2) requires a region from the operands' elements "
                       "to one of ")
           << result;
  for (Operation &op : body.without_terminator())
    if (isa<MLAGPUDialect>(op.getDialect()) ||
        hasEffect<MemoryEffects::Write>(&op))
      return op.emitOpError("(map_c2) requires to be outside of an "
                            "mla_gpu.map");
  return success();
}
