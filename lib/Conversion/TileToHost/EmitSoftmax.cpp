//===- EmitSoftmax.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::mla;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A float constant of the type of `like`.
static Value constantLike(OpBuilder &builder, Location loc, Value like,
                          float value) {
  Type type = like.getType();
  TypedAttr attribute = builder.getF32FloatAttr(value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, value);
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// max(x, y) as one instruction: y where either is NaN. A NaN score reaches the
/// result through its own weight.
static Value buildMax(OpBuilder &builder, Location loc, Value x, Value y) {
  Value greater =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(builder, loc, greater, x, y);
}

static Value isEqual(OpBuilder &builder, Location loc, Value x, float y) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, x,
                               constantLike(builder, loc, x, y));
}

Value mla::buildExp(OpBuilder &builder, Location loc, Value x) {
  constexpr float kLog2E = 1.44269504088896340736f;
  Value scaled = arith::MulFOp::create(builder, loc, x,
                                       constantLike(builder, loc, x, kLog2E));
  return math::Exp2Op::create(builder, loc, scaled);
}

Value mla::buildSafeMax(OpBuilder &builder, Location loc, Value rowMax) {
  return arith::SelectOp::create(builder, loc,
                                 isEqual(builder, loc, rowMax, -kInfinity),
                                 constantLike(builder, loc, rowMax, 0), rowMax);
}

void HostEmitter::emit(InitOp op) {
  auto type = cast<RankedTensorType>(op.getO().getType());
  const ItemValues *item = currentItem;
  for (Value result : op.getResults())
    buffers[result] = {
        allocate(cast<RankedTensorType>(result.getType()).getShape(), f32),
        item,
        {},
        {}};
  Value o = buffers.at(op.getO()).memref;
  Value rowMax = buffers.at(op.getRowMax()).memref;
  Value rowSum = buffers.at(op.getRowSum()).memref;
  Value zero = f32Constant(0), minus = f32Constant(-kInfinity);
  forLoop(index(0), index(type.getDimSize(0)), 1, [&](Value row) {
    memref::StoreOp::create(builder, loc, minus, rowMax, row);
    memref::StoreOp::create(builder, loc, zero, rowSum, row);
    forVectors(type.getDimSize(1), [&](Value column, int64_t width) {
      storeVector(broadcast(zero, width), o, {row, column});
    });
  });
}

void HostEmitter::emit(SoftmaxStepOp op) {
  update(op.getP(), op.getScores());
  update(op.getNewMax(), op.getRowMax());
  update(op.getNewSum(), op.getRowSum());
  TileBuffer tile = buffers.at(op.getScores());
  Value scores = tile.memref;
  Value rowMax = buffers.at(op.getRowMax()).memref;
  Value rowSum = buffers.at(op.getRowSum()).memref;
  Value alpha = allocate(cast<MemRefType>(rowMax.getType()).getShape(), f32);
  buffers[op.getAlpha()] = {alpha, tile.item, {}, {}};

  forRowVectors(*tile.item, [&](Value row) {
    Value oldMax = loadVector(rowMax, row, rowLanes);
    Value newMax = forLoop(
        tile.firstKey, tile.endKey, 1, oldMax, [&](Value key, ValueRange max) {
          Value s = loadVector(scores, {key, row}, rowLanes);
          return SmallVector<Value>{buildMax(builder, loc, s, max[0])};
        })[0];
    Value reference = buildSafeMax(builder, loc, newMax);
    Value factor = buildExp(
        builder, loc, arith::SubFOp::create(builder, loc, oldMax, reference));
    Value oldSum = loadVector(rowSum, row, rowLanes);
    Value rescaled = arith::MulFOp::create(builder, loc, oldSum, factor);
    Value newSum = forLoop(
        tile.firstKey, tile.endKey, 1, rescaled,
        [&](Value key, ValueRange sum) {
          Value s = loadVector(scores, {key, row}, rowLanes);
          Value p = buildExp(builder, loc,
                             arith::SubFOp::create(builder, loc, s, reference));
          storeVector(p, scores, {key, row});
          return SmallVector<Value>{
              arith::AddFOp::create(builder, loc, sum[0], p)};
        })[0];
    storeVector(newMax, rowMax, row);
    storeVector(newSum, rowSum, row);
    storeVector(factor, alpha, row);
  });
}

void HostEmitter::emit(FinalizeOp op) {
  update(op.getOut(), op.getO());
  update(op.getLse(), op.getRowMax());
  TileBuffer o = buffers.at(op.getO());
  Value rowMax = buffers.at(op.getRowMax()).memref;
  Value rowSum = buffers.at(op.getRowSum()).memref;
  int64_t columns = cast<MemRefType>(o.memref.getType()).getDimSize(1);

  forLoop(index(0), o.item->numRows, 1, [&](Value row) {
    Value sum = memref::LoadOp::create(builder, loc, rowSum, row);
    Value max = memref::LoadOp::create(builder, loc, rowMax, row);
    // A row that saw no key: (0, -inf).
    Value empty = isEqual(builder, loc, sum, 0);
    Value inverse = arith::DivFOp::create(builder, loc, f32Constant(1), sum);
    Value log = math::LogOp::create(builder, loc, sum);
    Value lse = arith::AddFOp::create(builder, loc, max, log);
    lse = arith::SelectOp::create(builder, loc, empty, f32Constant(-kInfinity),
                                  lse);
    memref::StoreOp::create(builder, loc, lse, rowMax, row);
    forVectors(columns, [&](Value column, int64_t width) {
      Value value = loadVector(o.memref, {row, column}, width);
      Value scaled =
          arith::MulFOp::create(builder, loc, value, broadcast(inverse, width));
      Value zeros = broadcast(f32Constant(0), width);
      storeVector(arith::SelectOp::create(builder, loc, empty, zeros, scaled),
                  o.memref, {row, column});
    });
  });
}

void HostEmitter::emit(CombineOp op) {
  const ItemValues &item = itemOf(op.getItem());
  Value pieces = mapping.lookupOrDefault(op.getPieces());
  Value partialOut = mapping.lookupOrDefault(op.getPartialOut());
  Value partialLse = mapping.lookupOrDefault(op.getPartialLse());
  auto type = cast<RankedTensorType>(op.getOut().getType());
  Value out = allocate(type.getShape(), f32);
  Value lse = allocate(type.getDimSize(0), f32);
  buffers[op.getOut()] = {out, &item, {}, {}};
  buffers[op.getLse()] = {lse, &item, {}, {}};

  auto slotOf = [&](Value piece) -> Value {
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, piece, index(0));
    Value next = add(item.nextSlot, mul(sub(piece, index(1)), item.slotStride));
    return arith::SelectOp::create(builder, loc, isFirst, item.firstSlot, next);
  };
  forLoop(index(0), item.numRows, 1, [&](Value row) {
    auto lseOf = [&](Value piece) -> Value {
      return memref::LoadOp::create(builder, loc, partialLse,
                                    ValueRange{slotOf(piece), row});
    };
    Value max = forLoop(index(0), pieces, 1, f32Constant(-kInfinity),
                        [&](Value piece, ValueRange state) {
                          return SmallVector<Value>{
                              buildMax(builder, loc, lseOf(piece), state[0])};
                        })[0];
    Value reference = buildSafeMax(builder, loc, max);
    auto weightOf = [&](Value piece, Value against) {
      return buildExp(
          builder, loc,
          arith::SubFOp::create(builder, loc, lseOf(piece), against));
    };
    Value sum =
        forLoop(index(0), pieces, 1, f32Constant(0),
                [&](Value piece, ValueRange state) {
                  return SmallVector<Value>{arith::AddFOp::create(
                      builder, loc, state[0], weightOf(piece, reference))};
                })[0];
    Value total = arith::AddFOp::create(builder, loc, reference,
                                        math::LogOp::create(builder, loc, sum));
    Value empty = isEqual(builder, loc, sum, 0);
    total = arith::SelectOp::create(builder, loc, empty,
                                    f32Constant(-kInfinity), total);
    memref::StoreOp::create(builder, loc, total, lse, row);

    Value inverse = arith::DivFOp::create(builder, loc, f32Constant(1), sum);
    inverse =
        arith::SelectOp::create(builder, loc, empty, f32Constant(0), inverse);
    forVectors(type.getDimSize(1), [&](Value column, int64_t width) {
      storeVector(broadcast(f32Constant(0), width), out, {row, column});
    });
    forLoop(index(0), pieces, 1, [&](Value piece) {
      Value weight = arith::MulFOp::create(builder, loc,
                                           weightOf(piece, reference), inverse);
      Value slot = slotOf(piece);
      forVectors(type.getDimSize(1), [&](Value column, int64_t width) {
        Value part = loadVector(partialOut, {slot, row, column}, width);
        Value sum = loadVector(out, {row, column}, width);
        sum = vector::FMAOp::create(builder, loc, broadcast(weight, width),
                                    part, sum);
        storeVector(sum, out, {row, column});
      });
    });
  });
}
