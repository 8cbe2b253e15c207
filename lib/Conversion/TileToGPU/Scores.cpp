//===- Scores.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"
#include "Outline.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

static constexpr float kLog2e = 1.44269504f;

/// The softmax scale, if score code multiplies by that and no more; else null.
static Value findOnlyScale(ScoreOp op) {
  Block &body = op.getBody().front();
  auto mul = dyn_cast<arith::MulFOp>(body.front());
  if (mul && body.getOperations().size() == 2 &&
      mul.getLhs() == body.getArgument(4) &&
      mul.getRhs().getParentBlock() != &body &&
      body.back().getOperand(0) == mul.getResult())
    return mul.getRhs();
  return {};
}

static Value toI32(RoleBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

static Value constantI32(RoleBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

ScoreEmitter::ScoreEmitter(const TileEntry &entry, RankedTensorType type)
    : entry(entry), types(cast<MmaLayoutAttr>(type.getEncoding()),
                          type.getDimSize(0), type.getDimSize(1)),
      softmaxScale(findOnlyScale(entry.score)) {
  ScoreOp score = entry.score;
  readsMemory = !score.getBody().getOps<memref::LoadOp>().empty();
}

void ScoreEmitter::emitSetup(RoleBuilder &b) {
  log2e =
      arith::ConstantFloatOp::create(b, b.getF32Type(), llvm::APFloat(kLog2e));
  if (softmaxScale)
    scale = b.named("scale", arith::MulFOp::create(b, softmaxScale, log2e));
}

void ScoreEmitter::beginPiece(RoleBuilder &b, const ItemValues &item) {
  Value keys = b.index(entry.keys);
  fullBegin =
      b.floorDiv(b.add(item.keys.innerBegin, b.index(entry.keys - 1)), keys);
  Value count = b.sub(b.floorDiv(item.keys.innerEnd, keys), fullBegin);
  fullCount = b.max(count, b.index(0));
  if (softmaxScale) {
    // Scale and maximum may only be swapped under a positive scale: others take
    // the way of masked tiles, which scales first.
    Value zero =
        arith::ConstantFloatOp::create(b, b.getF32Type(), llvm::APFloat(0.0f));
    Value positive =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scale, zero);
    fullCount = b.select(positive, fullCount, b.index(0));
    return;
  }
  piece = item;
}

void ScoreEmitter::locateRows(RoleBuilder &b, const ItemValues &item) {
  request = toI32(b, item.request);
  kvLen = toI32(b, item.kvLen);
  range = item.keys;
  // Rows past the last one repeat it, so that tables are read within bounds.
  RankedTensorType rows = types.row(b.getI32Type());
  auto everywhere = [&](Value scalar) { return b.spread(scalar, rows); };
  Value group = everywhere(constantI32(b, entry.group));
  Value last = toI32(b, b.sub(item.numRows, b.index(1)));
  Value row = b.add(b.min(IotaOp::create(b, rows, 0), everywhere(last)),
                    everywhere(toI32(b, item.firstRow)));
  Value origin = toI32(b, b.sub(item.kvLen, item.qLen));
  query = b.add(b.floorDiv(row, group), everywhere(origin));
  Value firstHead = toI32(b, b.mul(item.kvHead, b.index(entry.group)));
  head = b.add(b.rem(row, group), everywhere(firstHead));
}

Value ScoreEmitter::emitMap(RoleBuilder &b, Value scores, Value firstKey,
                            Code code) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Region body;
  Block *block = &body.emplaceBlock();
  block->addArguments({f32, i32, i32, i32},
                      SmallVector<Location>(4, b.getLoc()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    Value key = b.add(firstKey, block->getArgument(3));
    ScorePoint point = {request, block->getArgument(2), block->getArgument(1),
                        key};
    mla_gpu::YieldOp::create(b, code(point, block->getArgument(0)));
  }
  // Only what the code asks for is spread over the scores.
  RankedTensorType positions = types.matrix(i32);
  SmallVector<Value> operands = {scores};
  if (!block->getArgument(1).use_empty())
    operands.push_back(b.spread(query, positions));
  if (!block->getArgument(2).use_empty())
    operands.push_back(b.spread(head, positions));
  if (!block->getArgument(3).use_empty())
    operands.push_back(IotaOp::create(b, positions, 1));
  block->eraseArguments([](BlockArgument argument) {
    return argument.getArgNumber() > 0 && argument.use_empty();
  });
  auto map = MapOp::create(b, scores.getType(), operands);
  map.getBody().takeBody(body);
  return map.getResult();
}

Value ScoreEmitter::emitUserCode(RoleBuilder &b, Value raw, Value firstKey) {
  return emitMap(b, raw, firstKey, [&](const ScorePoint &point, Value score) {
    Block &user = entry.score.getBody().front();
    Value key = point.k;
    if (readsMemory) {
      // Keys that no row sees repeat one that some row does.
      Value last = b.sub(range.end, b.index(1));
      key = b.max(b.min(key, toI32(b, last)), toI32(b, range.begin));
    }
    IRMapping mapping;
    mapping.map(user.getArguments(),
                ValueRange{point.b, point.h, point.q, key, score});
    for (Operation &op : user.without_terminator())
      b.clone(op, mapping);
    Value value = mapping.lookupOrDefault(user.getTerminator()->getOperand(0));
    return Value(arith::MulFOp::create(b, value, log2e));
  });
}

Value ScoreEmitter::emitMask(RoleBuilder &b, Value scores, Value firstKey) {
  return emitMap(
      b, scores, firstKey, [&](const ScorePoint &point, Value score) {
        mla::MaskAttrInterface mask = entry.plan.getMask();
        Value visible =
            mask.buildVisible(b, b.getLoc(), point, entry.plan.getMaskParams());
        if (!mask.isCausal())
          visible = arith::AndIOp::create(b, b.less(point.k, kvLen), visible);
        Value none = arith::ConstantFloatOp::create(
            b, b.getF32Type(),
            llvm::APFloat::getInf(llvm::APFloat::IEEEsingle(),
                                  /*Negative=*/true));
        return b.select(visible, score, none);
      });
}

TileScores ScoreEmitter::emitTile(RoleBuilder &b, Value raw, Value tile,
                                  ReadItem readItem) {
  Value firstKey = toI32(b, b.mul(tile, b.index(entry.keys)));
  Value masked = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                       b.sub(tile, fullBegin), fullCount);
  if (!softmaxScale) {
    locateRows(b, piece);
    Value scores = emitUserCode(b, raw, firstKey);
    auto results = b.branch(
        masked,
        [&] { return SmallVector<Value>{emitMask(b, scores, firstKey)}; },
        [&] { return SmallVector<Value>{scores}; });
    return {results[0], {}};
  }
  b.named("scores", raw);
  b.named("first_key", firstKey);
  auto results = b.branch(
      masked,
      [&] {
        Outline mask(b, "mask_scores", {}, [&](ValueRange) {
          locateRows(b, readItem());
          Value factors = b.spread(scale, types.matrix(b.getF32Type()));
          Value scaled = arith::MulFOp::create(b, raw, factors);
          return SmallVector<Value>{emitMask(b, scaled, firstKey)};
        });
        Value one = arith::ConstantFloatOp::create(b, b.getF32Type(),
                                                   llvm::APFloat(1.0f));
        return SmallVector<Value>{mask.call(b, {})[0], one};
      },
      [&] { return SmallVector<Value>{raw, scale}; });
  return {results[0], results[1]};
}
