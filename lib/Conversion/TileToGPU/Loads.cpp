//===- Loads.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loads.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

int64_t mla::getSwizzle(const TileEntry &entry) {
  for (int64_t swizzle : {128, 64}) {
    int64_t columns = swizzle / 2;
    if (llvm::all_of(entry.partWidths,
                     [&](int64_t width) { return width % columns == 0; }))
      return swizzle;
  }
  return 32;
}

/// Cuts columns [first, first + width) of all parts by parts.
static void forParts(const TileEntry &entry, int64_t first, int64_t width,
                     llvm::function_ref<void(unsigned part, int64_t begin,
                                             int64_t end, int64_t partBegin)>
                         visit) {
  int64_t partBegin = 0;
  for (auto [part, partWidth] : llvm::enumerate(entry.partWidths)) {
    int64_t begin = std::max(first, partBegin);
    int64_t end = std::min(first + width, partBegin + partWidth);
    if (begin < end)
      visit(part, begin, end, partBegin);
    partBegin += partWidth;
  }
}

Value mla::columnsOf(RoleBuilder &b, Value tensor, OpFoldResult first,
                     int64_t width) {
  auto type = cast<MemRefType>(tensor.getType());
  if (isConstantIntValue(first, 0) && width == type.getShape().back())
    return tensor;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(b, b.getLoc(), tensor);
  offsets.back() = first;
  sizes.back() = b.getIndexAttr(width);
  return memref::SubViewOp::create(b, tensor, offsets, sizes, strides);
}

/// Emits mla_gpu.gather; `code` gives where row i is.
static void emitGather(RoleBuilder &b, Value source, Value dst,
                       llvm::function_ref<SmallVector<Value>(Value row)> code) {
  auto gather = GatherOp::create(b, source, dst);
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&gather.getBody(), {}, {b.getIndexType()}, {b.getLoc()});
  mla_gpu::YieldOp::create(b, code(block->getArgument(0)));
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The argument that describes part `part` of k for TMA: pages (or requests) x
/// KV heads x rows x columns.
static Value appendTensorMap(TileEntry &entry, Value part, int64_t boxColumns) {
  auto type = cast<MemRefType>(part.getType());
  MLIRContext *context = type.getContext();
  int64_t dims[] = {0, 2, 1, 3};
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(type.getDimSize(dim));
  int64_t columns = boxColumns ? boxColumns : shape.back();
  int64_t swizzle = getSwizzle(entry);
  unsigned index = cast<BlockArgument>(part).getArgNumber();
  auto name = entry.func.getArgAttrOfType<StringAttr>(index, MLADialect::kName);
  BlockArgument map =
      appendArgument(entry.func, name,
                     TensorMapType::get(context, shape, type.getElementType(),
                                        entry.keys, columns, swizzle));
  entry.func.setArgAttr(
      map.getArgNumber(), MLADialect::kTensorMap,
      TensorMapAttr::get(context, dims, entry.keys, columns, swizzle));
  return map;
}

KVLoads::KVLoads(TileEntry &entry, int64_t boxColumns)
    : entry(entry), tma(entry.schedule.getCopy() == CopyKind::TMA),
      paged(entry.loadKV.getTable() || entry.loadKV.getKvIndptr()) {
  for (Value part : {entry.loadKV.getK(), entry.loadKV.getKRope()}) {
    if (!part)
      continue;
    parts.push_back(part);
    if (tma)
      maps.push_back(appendTensorMap(entry, part, boxColumns));
  }
}

Writer KVLoads::getWriter() const {
  return tma ? Writer::TMA : Writer::CpAsync;
}

void KVLoads::beginPiece(RoleBuilder &b, const ItemValues &item,
                         Value hasKeys) {
  this->item = item;
  this->hasKeys = hasKeys;
  if (!paged)
    return;
  tableRow = item.request;
  if (Value rows = entry.loadKV.getTableRows())
    tableRow = b.load(rows, tableRow);
  if (Value indptr = entry.loadKV.getKvIndptr())
    firstPage = b.load(indptr, tableRow);
}

Value KVLoads::findOuter(RoleBuilder &b, Value page) {
  auto find = [&]() -> SmallVector<Value> {
    if (!paged)
      return {item.request};
    if (Value table = entry.loadKV.getTable())
      return {b.load(table, {tableRow, page})};
    return {b.load(entry.loadKV.getKvIndices(), b.add(firstPage, page))};
  };
  if (!hasKeys)
    return find()[0];
  return b.branch(hasKeys, find,
                  [&]() -> SmallVector<Value> { return {b.index(-1)}; })[0];
}

void KVLoads::locate(RoleBuilder &b, Value tile) {
  firstKey = b.mul(tile, b.index(entry.keys));
  if (!tma)
    return;
  if (!paged) {
    outer = findOuter(b, {});
    inner = firstKey;
    return;
  }
  // A page is whole tiles, so that a tile lies in one.
  Value tiles = b.index(
      cast<MemRefType>(parts.front().getType()).getDimSize(1) / entry.keys);
  outer = findOuter(b, b.floorDiv(tile, tiles));
  inner = b.mul(b.rem(tile, tiles), b.index(entry.keys));
}

void KVLoads::load(RoleBuilder &b, Value dst, OpFoldResult firstColumn) {
  std::optional<int64_t> first = getConstantIntValue(firstColumn);
  if (!first)
    return loadPart(b, 0, dst, firstColumn);
  int64_t width = cast<TileType>(dst.getType()).getColumns();
  forParts(entry, *first, width,
           [&](unsigned part, int64_t begin, int64_t end, int64_t partBegin) {
             Value columns = b.view(dst, begin - *first, end - *first);
             loadPart(b, part, columns, b.getIndexAttr(begin - partBegin));
           });
}

void KVLoads::loadPart(RoleBuilder &b, unsigned part, Value dst,
                       OpFoldResult firstColumn) {
  if (tma) {
    std::optional<int64_t> first = getConstantIntValue(firstColumn);
    Value column = first ? b.index(*first) : cast<Value>(firstColumn);
    Value coordinates[] = {outer, item.kvHead, inner, column};
    TMALoadOp::create(b, maps[part], coordinates, dst);
    return;
  }
  int64_t width = cast<TileType>(dst.getType()).getColumns();
  Value source = columnsOf(b, parts[part], firstColumn, width);
  Value pageSize;
  if (paged)
    pageSize = memref::DimOp::create(b, parts.front(), 1);
  emitGather(b, source, dst, [&](Value row) {
    // Keys that no row sees are neither read nor looked up: they repeat one
    // that some row sees until they are dropped.
    Value wanted = b.add(firstKey, row);
    Value last = b.sub(item.keys.end, b.index(1));
    Value key = b.max(b.min(wanted, last), item.keys.begin);
    Value exists = b.isSame(key, wanted);
    Value page = paged ? b.floorDiv(key, pageSize) : Value();
    Value first = findOuter(b, page);
    Value second = paged ? b.rem(key, pageSize) : key;
    return SmallVector<Value>{b.select(exists, first, b.index(-1)), second,
                              item.kvHead};
  });
}

void KVLoads::clearUnseen(RoleBuilder &b, const ItemValues &item, Value values,
                          Value firstKey) const {
  if (!tma)
    return;
  if (!matchPattern(item.keys.begin, m_Zero()))
    ClearRowsOp::create(b, values, b.index(0),
                        b.sub(item.keys.begin, firstKey));
  ClearRowsOp::create(b, values, b.sub(item.keys.end, firstKey), Value());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void mla::emitQueryLoad(RoleBuilder &b, const TileEntry &entry,
                        const ItemValues &item, Value dst,
                        int64_t firstColumn) {
  LoadQOp load = entry.loadQ;
  PlanOp plan = entry.plan;
  Value parts[] = {load.getQ(), load.getQRope()};
  Value group = b.index(entry.group);
  Value firstHead = b.mul(item.kvHead, group);
  bool ragged = bool(plan.getQOffsets());
  int64_t width = cast<TileType>(dst.getType()).getColumns();
  forParts(entry, firstColumn, width,
           [&](unsigned part, int64_t begin, int64_t end, int64_t partBegin) {
             Value source =
                 columnsOf(b, parts[part], b.getIndexAttr(begin - partBegin),
                           end - begin);
             Value columns =
                 b.view(dst, begin - firstColumn, end - firstColumn);
             emitGather(b, source, columns, [&](Value i) {
               Value row = b.add(item.firstRow, i);
               Value exists = b.less(i, item.numRows);
               Value query = b.floorDiv(row, group);
               Value head = b.add(firstHead, b.rem(row, group));
               Value first = ragged ? b.add(item.qBase, query) : item.request;
               first = b.select(exists, first, b.index(-1));
               if (ragged)
                 return SmallVector<Value>{first, head};
               return SmallVector<Value>{first, query, head};
             });
           });
}
