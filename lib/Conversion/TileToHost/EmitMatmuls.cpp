//===- EmitMatmuls.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The two register blocks. Both keep accumulators in vector registers, widen
// keys as they are loaded, and take query rows or weights from L1.
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mla;

SmallVector<int64_t, 2> KVTileBuffer::partWidths() const {
  if (staged)
    return {type.getHeadDim()};
  SmallVector<int64_t, 2> widths;
  for (Value part : parts)
    widths.push_back(cast<MemRefType>(part.getType()).getShape().back());
  return widths;
}

Value HostEmitter::keyRow(const KVTileBuffer &kv, unsigned part, Value key) {
  Value source = kv.staged ? kv.staged : kv.parts[part];
  int64_t width = kv.partWidths()[part];
  Value offset =
      kv.staged ? mul(key, index(width))
                : memref::LoadOp::create(builder, loc, kv.offsets[part], key)
                      .getResult();
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  auto rowType = MemRefType::get(
      {width}, cast<MemRefType>(source.getType()).getElementType(), layout);
  return memref::ReinterpretCastOp::create(
      builder, loc, rowType, source, OpFoldResult(offset),
      ArrayRef<OpFoldResult>{builder.getIndexAttr(width)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

//===----------------------------------------------------------------------===//
// S = Q K^T
//===----------------------------------------------------------------------===//

void HostEmitter::emit(QKOp op) {
  const TileBuffer &q = buffers.at(op.getQ());
  const KVTileBuffer &kv = kvTiles.at(op.getKv());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value scores = allocate({type.getDimSize(1), type.getDimSize(0)}, f32);
  buffers[op.getResult()] = {scores, q.item, kv.begin, kv.end};

  // Rows outside: a group of rows stays in L1 while the keys stream from L2.
  int64_t keys = schedule.getQkKeys();
  Value firstBlock = mul(
      arith::DivUIOp::create(builder, loc, kv.begin, index(keys)), index(keys));
  forLoop(index(0), q.item->numRows, schedule.getQkRows(), [&](Value row) {
    forLoop(firstBlock, kv.end, keys,
            [&](Value key) { emitQKBlock(q.memref, kv, scores, row, key); });
  });
}

/// rows x keys dot products: vectors run along the width, and are summed at the
/// end.
void HostEmitter::emitQKBlock(Value q, const KVTileBuffer &kv, Value scores,
                              Value row, Value key) {
  int64_t numRows = schedule.getQkRows(), numKeys = schedule.getQkKeys();
  SmallVector<Value> rows, keys;
  for (int64_t i = 0; i < numRows; ++i)
    rows.push_back(add(row, index(i)));
  for (int64_t j = 0; j < numKeys; ++j)
    keys.push_back(add(key, index(j)));

  Value zero = broadcast(f32Constant(0), lanes);
  SmallVector<Value> sums(numRows * numKeys, zero);
  int64_t firstColumn = 0;
  for (auto [part, width] : llvm::enumerate(kv.partWidths())) {
    SmallVector<Value> keyRows;
    for (Value k : keys)
      keyRows.push_back(keyRow(kv, part, k));
    int64_t whole = width / lanes * lanes;

    auto step = [&](Value column, int64_t vectorWidth, ValueRange state) {
      // A short vector is one of full width that ends in zeros.
      auto load = [&](Value memref, ValueRange indices) -> Value {
        Value loaded = loadVector(memref, indices, vectorWidth);
        if (vectorWidth == lanes)
          return loaded;
        return vector::InsertStridedSliceOp::create(builder, loc, loaded, zero,
                                                    ArrayRef<int64_t>{0},
                                                    ArrayRef<int64_t>{1});
      };
      SmallVector<Value> next(state);
      SmallVector<Value> k;
      for (Value keyRow : keyRows)
        k.push_back(load(keyRow, column));
      Value qColumn = add(column, index(firstColumn));
      for (int64_t i = 0; i < numRows; ++i) {
        Value x = load(q, {rows[i], qColumn});
        for (int64_t j = 0; j < numKeys; ++j) {
          Value &sum = next[i * numKeys + j];
          sum = vector::FMAOp::create(builder, loc, x, k[j], sum);
        }
      }
      return next;
    };
    if (whole)
      sums = forLoop(index(0), index(whole), lanes, sums,
                     [&](Value column, ValueRange state) {
                       return step(column, lanes, state);
                     });
    if (width > whole)
      sums = step(index(whole), width - whole, sums);
    firstColumn += width;
  }

  // As many keys at once as fill a vector with sums.
  int64_t keysAtOnce = std::min(std::max<int64_t>(lanes / numRows, 1), numKeys);
  for (int64_t j = 0; j < numKeys; j += keysAtOnce) {
    SmallVector<Value> group;
    for (int64_t k = j; k < std::min(j + keysAtOnce, numKeys); ++k)
      for (int64_t i = 0; i < numRows; ++i)
        group.push_back(sums[i * numKeys + k]);
    Value total = sumAcross(group);
    for (int64_t k = 0; k * numRows < static_cast<int64_t>(group.size()); ++k) {
      Value part = vector::ExtractStridedSliceOp::create(
          builder, loc, total, ArrayRef<int64_t>{k * numRows},
          ArrayRef<int64_t>{numRows}, ArrayRef<int64_t>{1});
      storeVector(part, scores, {keys[j + k], row});
    }
  }
}

/// A tree: each step takes two vectors whose lanes are parts of sums, and makes
/// one with half as many parts a sum. Steps within 128-bit lanes are the cheap
/// ones, so they decide where sums end up, and the vectors enter in the order
/// that undoes it.
Value HostEmitter::sumAcross(ArrayRef<Value> vectors) {
  int64_t count = vectors.size(), leaves = llvm::PowerOf2Ceil(count);
  // The masks of a step from `width` parts a sum to half of it.
  auto masks = [&](int64_t width) {
    SmallVector<int64_t> low, high;
    if (width > 4) {
      for (int64_t source : {int64_t(0), lanes})
        for (int64_t i = 0; i < lanes; i += width)
          for (int64_t j = 0; j < width / 2; ++j) {
            low.push_back(source + i + j);
            high.push_back(source + i + j + width / 2);
          }
      return std::pair(low, high);
    }
    int64_t next =
        width == 4 ? 1 : 2; // neighbours of a pair, and of the other part
    for (int64_t i = 0; i < lanes; i += 4)
      for (int64_t source : {int64_t(0), lanes})
        for (int64_t j = 0; j < 2; ++j) {
          low.push_back(source + i + j * next);
          high.push_back(source + i + j * next + 3 - next);
        }
    return std::pair(low, high);
  };

  // Where do sums end up? Follow the leaf of each lane.
  SmallVector<SmallVector<int64_t>> labels;
  for (int64_t i = 0; i < leaves; ++i)
    labels.push_back(SmallVector<int64_t>(lanes, i));
  for (int64_t width = lanes; width > 1; width /= 2) {
    auto low = masks(width).first;
    SmallVector<SmallVector<int64_t>> next;
    for (size_t i = 0; i < labels.size(); i += 2) {
      const auto &x = labels[i], &y = labels[labels.size() > 1 ? i + 1 : i];
      SmallVector<int64_t> merged;
      for (int64_t lane : low)
        merged.push_back(lane < lanes ? x[lane] : y[lane - lanes]);
      next.push_back(merged);
    }
    labels = std::move(next);
  }
  SmallVector<int64_t> leafOf, lanesUsed; // in order of lanes, without repeats
  for (auto [lane, leaf] : llvm::enumerate(labels.front()))
    if (!llvm::is_contained(leafOf, leaf)) {
      leafOf.push_back(leaf);
      lanesUsed.push_back(lane);
    }

  Value zero = broadcast(f32Constant(0), lanes);
  SmallVector<Value> level(leaves, zero);
  for (int64_t i = 0; i < count; ++i)
    level[leafOf[i]] = vectors[i];
  for (int64_t width = lanes; width > 1; width /= 2) {
    auto [low, high] = masks(width);
    SmallVector<Value> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      Value x = level[i], y = level[level.size() > 1 ? i + 1 : i];
      Value a = vector::ShuffleOp::create(builder, loc, x, y, low);
      Value b = vector::ShuffleOp::create(builder, loc, x, y, high);
      next.push_back(arith::AddFOp::create(builder, loc, a, b));
    }
    level = std::move(next);
  }
  lanesUsed.truncate(count);
  return vector::ShuffleOp::create(builder, loc, level.front(), level.front(),
                                   lanesUsed);
}

//===----------------------------------------------------------------------===//
// O = diag(alpha) O + P V
//===----------------------------------------------------------------------===//

void HostEmitter::emit(PVOp op) {
  const TileBuffer &p = buffers.at(op.getP());
  const KVTileBuffer &kv = kvTiles.at(op.getKv());
  Value o = buffers.at(op.getO()).memref;
  Value alpha = buffers.at(op.getAlpha()).memref;
  update(op.getResult(), op.getO());

  // Columns outside: a strip of V stays in L1 while the rows pass over it.
  int64_t numColumns = kv.type.getHeadDimV();
  int64_t strip = schedule.getPvVectors() * lanes;
  int64_t whole = numColumns / strip * strip;
  auto rows = [&](Value column, ArrayRef<int64_t> widths) {
    forLoop(index(0), p.item->numRows, schedule.getPvRows(), [&](Value row) {
      emitPVBlock(p.memref, kv, o, alpha, row, column, widths);
    });
  };
  if (whole) {
    SmallVector<int64_t> widths(schedule.getPvVectors(), lanes);
    forLoop(index(0), index(whole), strip,
            [&](Value column) { rows(column, widths); });
  }
  if (numColumns > whole) {
    SmallVector<int64_t> widths;
    for (int64_t left = numColumns - whole; left > 0; left -= widths.back())
      widths.push_back(std::min(left, lanes));
    rows(index(whole), widths);
  }
}

/// rows x vectors of O over the keys of the tile: outer products. O is rescaled
/// as it is loaded, and only keys that exist are read, so that what is in other
/// slots (perhaps NaN) never meets a weight of 0.
void HostEmitter::emitPVBlock(Value p, const KVTileBuffer &kv, Value o,
                              Value alpha, Value row, Value column,
                              ArrayRef<int64_t> widths) {
  int64_t numRows = schedule.getPvRows();
  SmallVector<Value> rows, columns, sums;
  int64_t position = 0;
  for (int64_t width : widths) {
    columns.push_back(add(column, index(position)));
    position += width;
  }
  for (int64_t i = 0; i < numRows; ++i) {
    rows.push_back(add(row, index(i)));
    Value factor = memref::LoadOp::create(builder, loc, alpha, rows.back());
    for (auto [c, width] : llvm::zip_equal(columns, widths)) {
      Value old = loadVector(o, {rows.back(), c}, width);
      sums.push_back(
          arith::MulFOp::create(builder, loc, old, broadcast(factor, width)));
    }
  }
  sums = forLoop(kv.begin, kv.end, 1, sums, [&](Value key, ValueRange state) {
    SmallVector<Value> next(state), v;
    Value values = keyRow(kv, /*part=*/0, key);
    for (auto [c, width] : llvm::zip_equal(columns, widths))
      v.push_back(loadVector(values, c, width));
    for (int64_t i = 0; i < numRows; ++i) {
      Value weight =
          memref::LoadOp::create(builder, loc, p, ValueRange{key, rows[i]});
      for (auto [c, width] : llvm::enumerate(widths)) {
        Value &sum = next[i * widths.size() + c];
        sum = vector::FMAOp::create(builder, loc, broadcast(weight, width),
                                    v[c], sum);
      }
    }
    return next;
  });
  for (int64_t i = 0; i < numRows; ++i)
    for (auto [c, at] : llvm::enumerate(columns))
      storeVector(sums[i * columns.size() + c], o, {rows[i], at});
}
