//===- TileOps.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::mla;

// The one type of the four row vectors of `mla.softmax_step` is written once.
static ParseResult parseSoftmaxTypes(OpAsmParser &parser, Type &scores,
                                     Type &rowMax, Type &rowSum, Type &p,
                                     Type &alpha, Type &newMax, Type &newSum) {
  if (parser.parseType(scores) || parser.parseComma() ||
      parser.parseType(rowMax) || parser.parseArrow() || parser.parseType(p))
    return failure();
  rowSum = alpha = newMax = newSum = rowMax;
  return success();
}

static void printSoftmaxTypes(OpAsmPrinter &printer, Operation *, Type scores,
                              Type rowMax, Type, Type p, Type, Type, Type) {
  printer << scores << ", " << rowMax << " -> " << p;
}

#define GET_OP_CLASSES
#include "mla/Dialect/MLA/IR/MLAOps.cpp.inc"

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Checks that `value` is a tensor of the given shape.
static LogicalResult checkShape(Operation *op, StringRef constraint,
                                StringRef name, Value value,
                                ArrayRef<int64_t> want) {
  if (tensorOf(value).getShape() == want)
    return success();
  InFlightDiagnostic diag = op->emitOpError("(") << constraint << ") requires "
                                                 << name << " of shape ";
  llvm::interleave(want, diag, "x");
  return diag << ", but got " << value.getType();
}

static int64_t rowsOf(Value value) { return tensorOf(value).getDimSize(0); }

LogicalResult YieldOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (isa<ForWorkOp, ForSplitOp>(parent) && getNumOperands())
    return emitOpError("(yield_c1) requires to yield nothing from '")
           << parent->getName() << "', but got " << getNumOperands();
  return success();
}

/// Checks that a tile has two dimensions, rows and columns.
static LogicalResult checkTile(Operation *op, StringRef constraint,
                               StringRef name, Value value) {
  if (tensorOf(value).getRank() == 2)
    return success();
  return op->emitOpError("(") << constraint << ") requires " << name
                              << " of rank 2, but got " << value.getType();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

LogicalResult PlanOp::verify() {
  if (bool(getQueries()) == bool(getQOffsets()))
    return emitOpError(
        "(plan_c1) requires exactly one of 'queries' and 'q_offsets'");
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"seq_lens", getSeqLens()},
        {"q_offsets", getQOffsets()}})
    if (value && cast<MemRefType>(value.getType()).getRank() != 1)
      return emitOpError("(plan_c2) requires '")
             << name << "' to have rank 1, but got " << value.getType();
  int64_t heads = getHeads(), kvHeads = getKvHeads();
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads)
    return emitOpError("(plan_c3) requires heads to be a positive multiple of "
                       "kv_heads, but got ")
           << heads << " and " << kvHeads;
  for (auto [name, value] :
       {std::pair<StringRef, int64_t>{"tile rows", getBlockM()},
        {"tile keys", getBlockN()},
        {"split_tiles", getSplitTiles()}})
    if (value <= 0)
      return emitOpError("(plan_c3) requires positive ")
             << name << ", but got " << value;
  return verifyMaskParameters(*this, getMask(), getMaskParams().size(),
                              "plan_c4");
}

LogicalResult ForWorkOp::verify() {
  Type index = IndexType::get(getContext());
  const Type want[] = {ItemType::get(getContext()), index, index,
                       IntegerType::get(getContext(), 1)};
  if (getBody().getArgumentTypes() != TypeRange(want))
    return emitOpError("(for_work_c1) requires a region that takes (!mla.item, "
                       "index, index, i1), but got (")
           << getBody().getArgumentTypes() << ")";
  return success();
}

LogicalResult ForSplitOp::verify() {
  const Type want[] = {ItemType::get(getContext()),
                       IndexType::get(getContext())};
  if (getBody().getArgumentTypes() != TypeRange(want))
    return emitOpError(
               "(for_split_c1) requires a region that takes (!mla.item, "
               "index), but got (")
           << getBody().getArgumentTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Width of a tensor in one or two parts; nothing where a part has no columns.
static std::optional<int64_t> widthOf(Value latent, Value rope) {
  int64_t width = 0;
  for (Value part : {latent, rope}) {
    if (!part)
      continue;
    ArrayRef<int64_t> shape = cast<MemRefType>(part.getType()).getShape();
    if (shape.empty() || ShapedType::isDynamic(shape.back()))
      return std::nullopt;
    width += shape.back();
  }
  return width;
}

LogicalResult LoadQOp::verify() {
  if (failed(checkTile(*this, "load_q_c1", "a result", getResult())))
    return failure();
  std::optional<int64_t> width = widthOf(getQ(), getQRope());
  if (!width)
    return emitOpError(
               "(load_q_c1) requires q with columns of a static number, "
               "but got ")
           << getQ().getType();
  Type elementType = cast<MemRefType>(getQ().getType()).getElementType();
  if (tensorOf(getResult()).getDimSize(1) != *width ||
      tensorOf(getResult()).getElementType() != elementType)
    return emitOpError("(load_q_c1) requires a result of ")
           << *width << " columns of " << elementType << ", but got "
           << getResult().getType();
  return success();
}

LogicalResult LoadKVOp::verify() {
  KVTileType tile = getResult().getType();
  std::optional<int64_t> width = widthOf(getK(), getKRope());
  if (!width)
    return emitOpError(
               "(load_kv_c1) requires k with columns of a static number, "
               "but got ")
           << getK().getType();
  Type elementType = cast<MemRefType>(getK().getType()).getElementType();
  if (tile.getHeadDim() != *width || tile.getElementType() != elementType)
    return emitOpError("(load_kv_c1) requires a tile of width ")
           << *width << " of " << elementType << ", but got " << tile;
  int64_t latent = cast<MemRefType>(getK().getType()).getShape().back();
  if (tile.getHeadDimV() > latent)
    return emitOpError("(load_kv_c3) requires v <= ")
           << latent << " (the width of k's first part), but got " << tile;
  if (getTable() && getKvIndptr())
    return emitOpError(
        "(load_kv_c2) requires one of 'table' and 'csr', but got both");
  return success();
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

LogicalResult InitOp::verify() {
  if (failed(checkTile(*this, "init_c1", "O", getO())) ||
      failed(checkShape(*this, "init_c1", "row maximum", getRowMax(),
                        rowsOf(getO()))))
    return failure();
  return checkShape(*this, "init_c1", "row sum", getRowSum(), rowsOf(getO()));
}

LogicalResult QKOp::verify() {
  KVTileType tile = getKv().getType();
  if (failed(checkTile(*this, "qk_c1", "q", getQ())) ||
      failed(checkShape(*this, "qk_c1", "q", getQ(),
                        {rowsOf(getQ()), tile.getHeadDim()})))
    return failure();
  return checkShape(*this, "qk_c1", "a result", getResult(),
                    {rowsOf(getQ()), tile.getKeys()});
}

LogicalResult mla::verifyScoreCode(Operation *op, Region &region,
                                   StringRef constraint) {
  for (Operation &inner : region.front().without_terminator()) {
    if (isa<memref::LoadOp>(inner))
      continue;
    bool elementwise = isa<arith::ConstantOp>(inner) ||
                       OpTrait::hasElementwiseMappableTraits(&inner);
    if (elementwise && inner.getNumRegions() == 0 &&
        inner.getNumResults() == 1 && isPure(&inner))
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("(")
        << constraint
        << ") requires score code of elementwise speculatable "
           "ops and memref.load, but got '"
        << inner.getName() << "'";
    diag.attachNote(inner.getLoc()) << "this op";
    return diag;
  }
  return success();
}

LogicalResult ScoreOp::verify() {
  if (failed(checkTile(*this, "score_c1", "scores", getScores())))
    return failure();
  return verifyScoreRegion(*this, getBody(), "score_c1");
}

LogicalResult ScoreOp::verifyRegions() {
  return verifyScoreCode(*this, getBody(), "score_c2");
}

LogicalResult MaskOp::verify() {
  return checkTile(*this, "mask_c1", "scores", getScores());
}

LogicalResult SoftmaxStepOp::verify() {
  if (failed(checkTile(*this, "softmax_step_c1", "scores", getScores())))
    return failure();
  if (failed(checkShape(*this, "softmax_step_c1", "p", getP(),
                        tensorOf(getScores()).getShape())))
    return failure();
  for (Value row :
       {getRowMax(), getRowSum(), getAlpha(), getNewMax(), getNewSum()})
    if (failed(checkShape(*this, "softmax_step_c1", "row state", row,
                          rowsOf(getScores()))))
      return failure();
  return success();
}

LogicalResult PVOp::verify() {
  KVTileType tile = getKv().getType();
  if (failed(checkTile(*this, "pv_c1", "p", getP())))
    return failure();
  int64_t rows = rowsOf(getP());
  if (failed(checkShape(*this, "pv_c1", "p", getP(), {rows, tile.getKeys()})) ||
      failed(
          checkShape(*this, "pv_c1", "o", getO(), {rows, tile.getHeadDimV()})))
    return failure();
  return checkShape(*this, "pv_c1", "alpha", getAlpha(), rows);
}

LogicalResult FinalizeOp::verify() {
  if (failed(checkTile(*this, "finalize_c1", "O", getO())))
    return failure();
  return checkShape(*this, "finalize_c1", "row state", getRowMax(),
                    rowsOf(getO()));
}

//===----------------------------------------------------------------------===//
// Partials and stores
//===----------------------------------------------------------------------===//

/// Checks partial buffers [slots, rows, d_v] and [slots, rows] against tiles.
static LogicalResult checkPartials(Operation *op, StringRef constraint,
                                   Value out, Value lse, Value partialOut,
                                   Value partialLse) {
  auto fits = [](Value tile, Value buffer) {
    ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
    return !shape.empty() && shape.drop_front() == tensorOf(tile).getShape();
  };
  if (tensorOf(out).getRank() != 2 ||
      tensorOf(lse).getShape() != ArrayRef(rowsOf(out)))
    return op->emitOpError("(")
           << constraint << ") requires an lse per row, but got "
           << out.getType() << " and " << lse.getType();
  for (auto [tile, buffer] : {std::pair{out, partialOut}, {lse, partialLse}})
    if (!fits(tile, buffer))
      return op->emitOpError("(")
             << constraint << ") requires a buffer of slots of "
             << tile.getType() << ", but got " << buffer.getType();
  return success();
}

LogicalResult CombineOp::verify() {
  return checkPartials(*this, "combine_c1", getOut(), getLse(), getPartialOut(),
                       getPartialLse());
}

LogicalResult StorePartialOp::verify() {
  return checkPartials(*this, "store_partial_c1", getOutTile(), getLseTile(),
                       getPartialOut(), getPartialLse());
}

LogicalResult StoreOp::verify() {
  if (failed(checkTile(*this, "store_c1", "out", getOutTile())))
    return failure();
  ArrayRef<int64_t> outShape = cast<MemRefType>(getOut().getType()).getShape();
  if (outShape.empty() ||
      outShape.back() != tensorOf(getOutTile()).getDimSize(1))
    return emitOpError("(store_c1) requires a destination of ")
           << tensorOf(getOutTile()).getDimSize(1) << " columns, but got "
           << getOut().getType();
  if (bool(getLseScale()) != bool(getLseEmpty()) ||
      (getLseScale() && !getLse()))
    return emitOpError("(store_c2) requires lse_scale and lse_empty together, "
                       "with a destination of lse");
  return checkShape(*this, "store_c1", "lse", getLseTile(),
                    rowsOf(getOutTile()));
}
