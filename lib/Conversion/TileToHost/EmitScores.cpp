//===- EmitScores.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Code on scores: the region of mla.score and the mask's predicate are scalar
// code, cloned here over vectors of keys of one row.
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"

using namespace mlir;
using namespace mlir::mla;

FailureOr<Value> HostEmitter::cloneOverLanes(Block &block, ValueRange arguments,
                                             int64_t width) {
  IRMapping local(mapping);
  local.map(block.getArguments(), arguments);
  auto isVector = [](Value value) { return isa<VectorType>(value.getType()); };

  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1 || op.getNumRegions())
      return op.emitOpError("in score code has no lowering to vectors of keys");
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(local.lookupOrDefault(operand));
    if (llvm::none_of(operands, isVector)) {
      builder.clone(op, local); // the same for all keys
      continue;
    }
    auto type = VectorType::get(width, op.getResult(0).getType());
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      // A table read by key: lane by lane.
      Value lanesRead = arith::ConstantOp::create(builder, loc, type, builder.getZeroAttr(type));
      for (int64_t lane = 0; lane < width; ++lane) {
        SmallVector<Value> indices;
        for (Value operand : ArrayRef(operands).drop_front())
          indices.push_back(isVector(operand)
                                ? vector::ExtractOp::create(builder, loc, operand, lane)
                                : operand);
        Value element = memref::LoadOp::create(builder, loc, operands.front(), indices);
        lanesRead = vector::InsertOp::create(builder, loc, element, lanesRead, lane);
      }
      local.map(load.getResult(), lanesRead);
      continue;
    }
    Operation *clone = builder.clone(op, local);
    for (auto [operand, value] : llvm::zip_equal(clone->getOpOperands(), operands)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(clone);
      operand.set(isVector(value) ? value : broadcast(value, width));
    }
    clone->getResult(0).setType(type);
  }
  Value result = local.lookupOrDefault(block.getTerminator()->getOperand(0));
  return isVector(result) ? result : broadcast(result, width);
}

LogicalResult HostEmitter::emitScoreLoop(Value scores, const ItemValues &item, Value tile,
                                         Block &block) {
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
  };
  int64_t keys = cast<MemRefType>(scores.getType()).getDimSize(1);
  Value firstKey = mul(tile, index(keys));
  Value request = toI32(item.request);
  Value origin = sub(item.kvLen, item.qLen);
  SmallVector<int32_t> counting;
  for (int32_t lane = 0; lane < lanes; ++lane)
    counting.push_back(lane);
  Value iota = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(counting));

  LogicalResult result = success();
  forLoop(index(0), item.numRows, 1, [&](Value row) {
    auto [query, head] = rowPosition(item, row);
    Value h = toI32(head), q = toI32(add(origin, query));
    forLoop(index(0), index(keys), lanes, [&](Value column) {
      Value k = arith::AddIOp::create(builder, loc,
                                      broadcast(toI32(add(firstKey, column)), lanes), iota);
      Value old = loadVector(scores, {row, column}, lanes);
      FailureOr<Value> next = cloneOverLanes(block, {request, h, q, k, old}, lanes);
      if (failed(next))
        result = failure();
      else
        storeVector(*next, scores, {row, column});
    });
  });
  return result;
}

LogicalResult HostEmitter::emit(ScoreOp op) {
  update(op.getResult(), op.getScores());
  return emitScoreLoop(buffers.at(op.getResult()).memref, itemOf(op.getItem()),
                       mapping.lookupOrDefault(op.getTile()), op.getBody().front());
}

LogicalResult HostEmitter::emit(MaskOp op) {
  update(op.getResult(), op.getScores());
  const ItemValues &item = itemOf(op.getItem());
  Value kvLen = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), item.kvLen);

  // The predicate as scalar code, for a while.
  Region region;
  Block *block = &region.emplaceBlock();
  Type i32 = builder.getI32Type();
  block->addArguments({i32, i32, i32, i32, f32}, SmallVector<Location>(5, loc));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    ScorePoint point = {block->getArgument(0), block->getArgument(1), block->getArgument(2),
                        block->getArgument(3)};
    Value visible = plan.getMask().buildVisible(builder, loc, point, plan.getMaskParams());
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, point.k, kvLen);
    Value seen = arith::AndIOp::create(builder, loc, visible, exists);
    Value masked = f32Constant(-std::numeric_limits<float>::infinity());
    Value score = arith::SelectOp::create(builder, loc, seen, block->getArgument(4), masked);
    YieldOp::create(builder, loc, score);
  }
  return emitScoreLoop(buffers.at(op.getResult()).memref, item,
                       mapping.lookupOrDefault(op.getTile()), *block);
}
