//===- EmitStores.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"

using namespace mlir;
using namespace mlir::mla;

std::pair<Value, Value> HostEmitter::rowPosition(const ItemValues &item,
                                                 Value row) {
  auto like = [&](Value scalar) {
    auto vector = dyn_cast<VectorType>(row.getType());
    return vector ? broadcast(scalar, vector.getDimSize(0)) : scalar;
  };
  Value group = like(index(plan.getGroup()));
  Value packed = add(like(item.firstRow), row);
  Value query = arith::DivUIOp::create(builder, loc, packed, group);
  Value member = arith::RemUIOp::create(builder, loc, packed, group);
  return {query, add(mul(like(item.kvHead), group), member)};
}

SmallVector<Value> HostEmitter::rowIndices(const ItemValues &item, Value query,
                                           Value head) {
  if (plan.getQOffsets())
    return {add(item.qBase, query), head};
  return {item.request, query, head};
}

/// Only rows that exist are written; a null lse is not wanted.
void HostEmitter::emit(StoreOp op) {
  const ItemValues &item = itemOf(op.getItem());
  Value tile = buffers.at(op.getOutTile()).memref;
  Value out = mapping.lookupOrDefault(op.getOut());
  int64_t columns = cast<MemRefType>(tile.getType()).getDimSize(1);
  forLoop(index(0), item.numRows, 1, [&](Value row) {
    auto [query, head] = rowPosition(item, row);
    SmallVector<Value> position = rowIndices(item, query, head);
    position.push_back({});
    forVectors(columns, [&](Value column, int64_t width) {
      position.back() = column;
      storeVector(loadVector(tile, {row, column}, width), out, position);
    });
  });
  if (!op.getLse())
    return;
  Value lse = mapping.lookupOrDefault(op.getLse());
  Value lseTile = buffers.at(op.getLseTile()).memref;
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, lse);
  Value wanted = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                       pointer, index(0));
  auto branch =
      scf::IfOp::create(builder, loc, wanted, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  forLoop(index(0), item.numRows, 1, [&](Value row) {
    auto [query, head] = rowPosition(item, row);
    Value value = memref::LoadOp::create(builder, loc, lseTile, row);
    if (op.getLseScale()) {
      Value scale = mapping.lookupOrDefault(op.getLseScale());
      Value isEmpty = arith::CmpFOp::create(
          builder, loc, arith::CmpFPredicate::OEQ, value,
          f32Constant(-std::numeric_limits<float>::infinity()));
      value = arith::SelectOp::create(
          builder, loc, isEmpty, mapping.lookupOrDefault(op.getLseEmpty()),
          arith::MulFOp::create(builder, loc, value, scale));
    }
    memref::StoreOp::create(builder, loc, value, lse,
                            rowIndices(item, query, head));
  });
}

void HostEmitter::emit(StorePartialOp op) {
  const ItemValues &item = itemOf(op.getItem());
  Value tile = buffers.at(op.getOutTile()).memref;
  Value lseTile = buffers.at(op.getLseTile()).memref;
  Value out = mapping.lookupOrDefault(op.getPartialOut());
  Value lse = mapping.lookupOrDefault(op.getPartialLse());
  int64_t columns = cast<MemRefType>(tile.getType()).getDimSize(1);
  forLoop(index(0), item.numRows, 1, [&](Value row) {
    Value value = memref::LoadOp::create(builder, loc, lseTile, row);
    memref::StoreOp::create(builder, loc, value, lse,
                            ValueRange{item.slot, row});
    forVectors(columns, [&](Value column, int64_t width) {
      storeVector(loadVector(tile, {row, column}, width), out,
                  {item.slot, row, column});
    });
  });
}
