//===- EmitLoads.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"

using namespace mlir;
using namespace mlir::mla;

/// Query rows, widened to f32 and packed: row r is query r / group, head r %
/// group of the KV head's. Rows of the block that do not exist are 0, so that
/// register blocks need no remainder.
void HostEmitter::emit(LoadQOp op) {
  const ItemValues &item = itemOf(op.getItem());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value buffer = allocate(type.getShape(), f32);
  buffers[op.getResult()] = {buffer, &item, {}, {}};

  forLoop(index(0), item.numRows, 1, [&](Value r) {
    auto [query, head] = rowPosition(item, r);
    int64_t firstColumn = 0;
    for (Value part : {op.getQ(), op.getQRope()}) {
      if (!part)
        continue;
      Value source = mapping.lookupOrDefault(part);
      SmallVector<Value> position = rowIndices(item, query, head);
      position.push_back({});
      int64_t width = cast<MemRefType>(source.getType()).getShape().back();
      forVectors(width, [&](Value column, int64_t lanes) {
        position.back() = column;
        Value q = loadVector(source, position, lanes);
        storeVector(q, buffer, {r, add(column, index(firstColumn))});
      });
      firstColumn += width;
    }
  });
  forLoop(item.numRows, index(type.getDimSize(0)), 1, [&](Value r) {
    forVectors(type.getDimSize(1), [&](Value column, int64_t lanes) {
      storeVector(broadcast(f32Constant(0), lanes), buffer, {r, column});
    });
  });
}

/// A tile is where its keys are: one offset a key and part of k. Table entries
/// are read for keys of the hull only.
void HostEmitter::emit(LoadKVOp op) {
  const ItemValues &item = itemOf(op.getItem());
  KVTileType type = op.getResult().getType();
  KVTileBuffer tile;
  tile.type = type;

  auto max = [&](Value x, Value y) {
    return arith::MaxSIOp::create(builder, loc, x, y);
  };
  auto min = [&](Value x, Value y) {
    return arith::MinSIOp::create(builder, loc, x, y);
  };
  Value firstKey =
      mul(mapping.lookupOrDefault(op.getTile()), index(type.getKeys()));
  tile.begin = max(sub(item.keys.begin, firstKey), index(0));
  tile.end = min(sub(item.keys.end, firstKey), index(type.getKeys()));

  auto load = [&](Value memref, ValueRange indices) -> Value {
    Value value = memref::LoadOp::create(
        builder, loc, mapping.lookupOrDefault(memref), indices);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  };
  Value row = item.request;
  if (op.getTableRows())
    row = load(op.getTableRows(), row);
  Value pagesBase; // CSR: the first page of the row
  if (op.getKvIndptr())
    pagesBase = load(op.getKvIndptr(), row);

  SmallVector<SmallVector<Value>, 2> strides;
  for (Value part : {op.getK(), op.getKRope()}) {
    if (!part)
      continue;
    Value source = mapping.lookupOrDefault(part);
    tile.parts.push_back(source);
    tile.offsets.push_back(allocate(type.getKeys(), builder.getIndexType()));
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, source);
    strides.push_back(llvm::to_vector_of<Value>(metadata.getStrides()));
  }

  Value last = sub(tile.end, index(1));
  forLoop(index(0), index(type.getKeys()), 1, [&](Value j) {
    Value key = add(firstKey, max(min(j, last), tile.begin));
    Value outer = item.request, inner = key;
    if (op.getTable() || op.getKvIndptr()) {
      Value pageSize =
          memref::DimOp::create(builder, loc, tile.parts.front(), 1);
      Value page = arith::DivUIOp::create(builder, loc, key, pageSize);
      inner = arith::RemUIOp::create(builder, loc, key, pageSize);
      outer = op.getTable() ? load(op.getTable(), {row, page})
                            : load(op.getKvIndices(), {add(pagesBase, page)});
    }
    for (auto [stride, offsets] : llvm::zip_equal(strides, tile.offsets)) {
      Value offset = add(mul(outer, stride[0]), mul(inner, stride[1]));
      offset = add(offset, mul(item.kvHead, stride[2]));
      memref::StoreOp::create(builder, loc, offset, offsets, j);
    }
  });
  if (schedule.getKv() == KVAccess::Staged)
    stage(tile);
  kvTiles[op.getResult()] = tile;
}

/// Copies the keys that exist, widened to f32.
void HostEmitter::stage(KVTileBuffer &tile) {
  Value staged = allocate({tile.type.getKeys(), tile.type.getHeadDim()}, f32);
  forLoop(tile.begin, tile.end, 1, [&](Value key) {
    int64_t firstColumn = 0;
    for (auto [part, width] : llvm::enumerate(tile.partWidths())) {
      Value source = keyRow(tile, part, key);
      forVectors(width, [&](Value column, int64_t lanes) {
        storeVector(loadVector(source, column, lanes), staged,
                    {key, add(column, index(firstColumn))});
      });
      firstColumn += width;
    }
  });
  tile.staged = staged;
}
