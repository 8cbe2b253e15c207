//===- EmitScores.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Code on scores: the region of mla.score and the mask's predicate are scalar
// code, cloned here over vectors of rows. Head and query vary by lane, the key
// does not.
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"

using namespace mlir;
using namespace mlir::mla;

FailureOr<Value> HostEmitter::cloneOverRows(Block &block,
                                            ValueRange arguments) {
  IRMapping local(mapping);
  local.map(block.getArguments(), arguments);
  auto isVector = [](Value value) { return isa<VectorType>(value.getType()); };

  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1 || op.getNumRegions())
      return op.emitOpError("in score code has no lowering to vectors of rows");
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(local.lookupOrDefault(operand));
    if (llvm::none_of(operands, isVector)) {
      builder.clone(op, local); // the same for all rows
      continue;
    }
    auto type = VectorType::get(rowLanes, op.getResult(0).getType());
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      // A table read by row: lane by lane.
      Value lanesRead = arith::ConstantOp::create(builder, loc, type,
                                                  builder.getZeroAttr(type));
      for (int64_t lane = 0; lane < rowLanes; ++lane) {
        SmallVector<Value> indices;
        for (Value operand : ArrayRef(operands).drop_front())
          indices.push_back(isVector(operand) ? vector::ExtractOp::create(
                                                    builder, loc, operand, lane)
                                              : operand);
        Value element =
            memref::LoadOp::create(builder, loc, operands.front(), indices);
        lanesRead =
            vector::InsertOp::create(builder, loc, element, lanesRead, lane);
      }
      local.map(load.getResult(), lanesRead);
      continue;
    }
    Operation *clone = builder.clone(op, local);
    for (auto [operand, value] :
         llvm::zip_equal(clone->getOpOperands(), operands)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(clone);
      operand.set(isVector(value) ? value : broadcast(value, rowLanes));
    }
    clone->getResult(0).setType(type);
  }
  Value result = local.lookupOrDefault(block.getTerminator()->getOperand(0));
  return isVector(result) ? result : broadcast(result, rowLanes);
}

LogicalResult HostEmitter::emitScoreLoop(const TileBuffer &scores, Value tile,
                                         Block &block) {
  auto toI32 = [&](Value value) -> Value {
    Type type = builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::IndexCastOp::create(builder, loc, type, value);
  };
  const ItemValues &item = *scores.item;
  int64_t keys = cast<MemRefType>(scores.memref.getType()).getDimSize(0);
  Value firstKey = mul(tile, index(keys));
  Value request = toI32(item.request);
  Value origin = sub(item.kvLen, item.qLen);
  Value lastRow = sub(item.numRows, index(1));
  SmallVector<int64_t> counting;
  for (int64_t lane = 0; lane < rowLanes; ++lane)
    counting.push_back(lane);
  Value iota = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get(rowLanes, builder.getIndexType()),
                             ArrayRef<int64_t>(counting)));

  LogicalResult result = success();
  forRowVectors(item, [&](Value row) {
    // Lanes past the last row repeat it, so that tables are read within bounds.
    Value lanesOfRow = add(broadcast(row, rowLanes), iota);
    lanesOfRow = arith::MinSIOp::create(builder, loc, lanesOfRow,
                                        broadcast(lastRow, rowLanes));
    auto [query, head] = rowPosition(item, lanesOfRow);
    Value h = toI32(head), q = toI32(add(broadcast(origin, rowLanes), query));
    forLoop(scores.firstKey, scores.endKey, 1, [&](Value key) {
      Value k = toI32(add(firstKey, key));
      Value old = loadVector(scores.memref, {key, row}, rowLanes);
      FailureOr<Value> next = cloneOverRows(block, {request, h, q, k, old});
      if (failed(next))
        result = failure();
      else
        storeVector(*next, scores.memref, {key, row});
    });
  });
  return result;
}

LogicalResult HostEmitter::emit(ScoreOp op) {
  update(op.getResult(), op.getScores());
  return emitScoreLoop(buffers.at(op.getResult()),
                       mapping.lookupOrDefault(op.getTile()),
                       op.getBody().front());
}

LogicalResult HostEmitter::emit(MaskOp op) {
  update(op.getResult(), op.getScores());

  // The predicate as scalar code, for a while. Keys that do not exist are not
  // among the tile's.
  Region region;
  Block *block = &region.emplaceBlock();
  Type i32 = builder.getI32Type();
  block->addArguments({i32, i32, i32, i32, f32}, SmallVector<Location>(5, loc));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    ScorePoint point = {block->getArgument(0), block->getArgument(1),
                        block->getArgument(2), block->getArgument(3)};
    Value visible =
        plan.getMask().buildVisible(builder, loc, point, plan.getMaskParams());
    Value masked = f32Constant(-std::numeric_limits<float>::infinity());
    Value score = arith::SelectOp::create(builder, loc, visible,
                                          block->getArgument(4), masked);
    YieldOp::create(builder, loc, score);
  }
  return emitScoreLoop(buffers.at(op.getResult()),
                       mapping.lookupOrDefault(op.getTile()), *block);
}
