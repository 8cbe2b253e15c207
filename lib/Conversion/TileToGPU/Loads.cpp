//===- Loads.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loads.h"
#include "Rows.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

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

/// Cuts a tile, that gets columns from `firstColumn` of all parts on, by parts.
/// `firstColumn` is a constant, or a value in the first part, as the whole tile
/// is then.
static void forParts(
    RoleBuilder &b, const TileEntry &entry, Value dst, OpFoldResult firstColumn,
    llvm::function_ref<void(unsigned part, Value dst, OpFoldResult firstColumn)>
        visit) {
  std::optional<int64_t> first = getConstantIntValue(firstColumn);
  if (!first)
    return visit(0, dst, firstColumn);
  int64_t width = cast<TileType>(dst.getType()).getColumns(), partBegin = 0;
  for (auto [part, partWidth] : llvm::enumerate(entry.partWidths)) {
    int64_t begin = std::max(*first, partBegin);
    int64_t end = std::min(*first + width, partBegin + partWidth);
    if (begin < end)
      visit(part, b.view(dst, begin - *first, end - *first),
            b.getIndexAttr(begin - partBegin));
    partBegin += partWidth;
  }
}

/// A column as an operand.
static Value columnValue(RoleBuilder &b, OpFoldResult column) {
  std::optional<int64_t> known = getConstantIntValue(column);
  return known ? b.index(*known) : cast<Value>(column);
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
static void emitGather(RoleBuilder &b, const TileEntry &entry, Value source,
                       Value dst,
                       llvm::function_ref<SmallVector<Value>(Value row)> code) {
  bool aligned = promisesAlignedRows(entry.schedule, source);
  auto gather = GatherOp::create(b, source, dst, aligned);
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&gather.getBody(), {}, {b.getIndexType()}, {b.getLoc()});
  mla_gpu::YieldOp::create(b, code(block->getArgument(0)));
}

/// The argument that describes a tensor for TMA, with its dimensions in the
/// given order.
static Value appendTensorMap(TileEntry &entry, Value tensor,
                             ArrayRef<int64_t> dims, int64_t boxRows,
                             int64_t boxColumns) {
  auto type = cast<MemRefType>(tensor.getType());
  MLIRContext *context = type.getContext();
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(type.getDimSize(dim));
  int64_t swizzle = getSwizzle(entry);
  unsigned index = cast<BlockArgument>(tensor).getArgNumber();
  auto name = entry.func.getArgAttrOfType<StringAttr>(index, MLADialect::kName);
  BlockArgument map =
      appendArgument(entry.func, name,
                     TensorMapType::get(context, shape, type.getElementType(),
                                        boxRows, boxColumns, swizzle));
  map.setLoc(nameLoc(map.getLoc(), name.getValue() + "_map"));
  entry.func.setArgAttr(
      map.getArgNumber(), MLADialect::kTensorMap,
      TensorMapAttr::get(context, dims, boxRows, boxColumns, swizzle));
  return map;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

KVLoads::KVLoads(TileEntry &entry, int64_t boxColumns)
    : entry(entry), tma(entry.schedule.getCopy() == CopyKind::TMA),
      paged(entry.loadKV.getTable() || entry.loadKV.getKvIndptr()),
      boxRows(entry.keys) {
  for (Value part : {entry.loadKV.getK(), entry.loadKV.getKRope()}) {
    if (!part)
      continue;
    parts.push_back(part);
    if (!tma)
      continue;
    auto type = cast<MemRefType>(part.getType());
    if (paged)
      boxRows = std::gcd(entry.keys, type.getDimSize(1));
    int64_t columns = boxColumns ? boxColumns : type.getShape().back();
    // Column tiles of a tile are as high as it is.
    if (boxRows < entry.keys)
      columns = getSwizzle(entry) / 2;
    // Pages (or requests) x KV heads x rows x columns.
    maps.push_back(
        appendTensorMap(entry, part, {0, 2, 1, 3}, boxRows, columns));
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

SmallVector<Value> KVLoads::findOuter(RoleBuilder &b, ValueRange pages) {
  auto find = [&]() -> SmallVector<Value> {
    if (!paged)
      return {item.request};
    return llvm::map_to_vector(pages, [&](Value page) {
      if (Value table = entry.loadKV.getTable())
        return b.load(table, {tableRow, page});
      return b.load(entry.loadKV.getKvIndices(), b.add(firstPage, page));
    });
  };
  if (!hasKeys)
    return find();
  size_t count = paged ? pages.size() : 1;
  return b.branch(hasKeys, find,
                  [&] { return SmallVector<Value>(count, b.index(-1)); });
}

Value KVLoads::clampToSeen(RoleBuilder &b, Value page, Value pageSize) const {
  Value last = b.sub(item.keys.end, b.index(1));
  Value seen = b.min(page, b.floorDiv(last, pageSize));
  if (clearsHead(item))
    seen = b.max(seen, b.floorDiv(item.keys.begin, pageSize));
  return seen;
}

void KVLoads::locate(RoleBuilder &b, Value tile) {
  firstKey = b.mul(tile, b.index(entry.keys));
  if (!tma)
    return;
  if (!paged) {
    outer = findOuter(b, {});
    inner = {firstKey};
    return;
  }
  int64_t size = cast<MemRefType>(parts.front().getType()).getDimSize(1);
  Value pageSize = b.index(size), pageBoxes = b.index(size / boxRows);
  int64_t boxes = entry.keys / boxRows;
  SmallVector<Value> pages;
  inner.clear();
  for (int64_t i = 0; i < boxes; ++i) {
    Value box = tile;
    if (boxes > 1)
      box = b.add(b.mul(tile, b.index(boxes)), b.index(i));
    pages.push_back(b.floorDiv(box, pageBoxes));
    inner.push_back(b.mul(b.rem(box, pageBoxes), b.index(boxRows)));
  }
  if (boxes == 1) {
    outer = findOuter(b, pages);
    return;
  }
  // Of the pages of a tile some may have no key that a row sees. They are
  // not looked up, as their numbers may be anything: zeros take their place.
  SmallVector<Value> seen = llvm::map_to_vector(
      pages, [&](Value page) { return clampToSeen(b, page, pageSize); });
  outer = findOuter(b, seen);
  for (auto [number, page, clamped] : llvm::zip(outer, pages, seen))
    number = b.select(b.isSame(page, clamped), number, b.index(-1));
}

void KVLoads::load(RoleBuilder &b, Value dst, OpFoldResult firstColumn) {
  forParts(b, entry, dst, firstColumn,
           [&](unsigned part, Value columns, OpFoldResult first) {
             loadPart(b, part, columns, first);
           });
}

void KVLoads::loadPart(RoleBuilder &b, unsigned part, Value dst,
                       OpFoldResult firstColumn) {
  if (tma) {
    Value column = columnValue(b, firstColumn);
    for (auto [i, outer, inner] : llvm::enumerate(outer, inner)) {
      Value coordinates[] = {outer, item.kvHead, inner, column};
      TMALoadOp::create(b, maps[part], coordinates, dst, i * boxRows);
    }
    return;
  }
  int64_t width = cast<TileType>(dst.getType()).getColumns();
  Value source = columnsOf(b, parts[part], firstColumn, width);
  Value pageSize;
  if (paged)
    pageSize = memref::DimOp::create(b, parts.front(), 1);
  emitGather(b, entry, source, dst, [&](Value row) {
    // Keys that no row sees are neither read nor looked up: they repeat one
    // that some row sees until they are dropped.
    Value wanted = b.add(firstKey, row);
    Value last = b.sub(item.keys.end, b.index(1));
    Value key = b.max(b.min(wanted, last), item.keys.begin);
    Value exists = b.isSame(key, wanted);
    SmallVector<Value> page;
    if (paged)
      page = {b.floorDiv(key, pageSize)};
    Value first = findOuter(b, page)[0];
    Value second = paged ? b.rem(key, pageSize) : key;
    return SmallVector<Value>{b.select(exists, first, b.index(-1)), second,
                              item.kvHead};
  });
}

bool KVLoads::clearsHead(const ItemValues &item) const {
  return tma && !matchPattern(item.keys.begin, m_Zero());
}

void KVLoads::clearUnseen(RoleBuilder &b, const ItemValues &item, Value values,
                          Value firstKey) const {
  if (!tma)
    return;
  if (clearsHead(item))
    ClearRowsOp::create(b, values, b.index(0),
                        b.sub(item.keys.begin, firstKey));
  ClearRowsOp::create(b, values, b.sub(item.keys.end, firstKey), Value());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// Where packed row `row` of a piece is in q: its dimensions but the last.
static SmallVector<Value> findQuery(RoleBuilder &b, const TileEntry &entry,
                                    const ItemValues &item, Value row) {
  Value group = b.index(entry.group);
  Value query = b.floorDiv(row, group);
  Value head = b.add(b.mul(item.kvHead, group), b.rem(row, group));
  PlanOp plan = entry.plan;
  if (plan.getQOffsets())
    return {b.add(item.qBase, query), head};
  return {item.request, query, head};
}

void mla::emitQueryLoad(RoleBuilder &b, const TileEntry &entry,
                        const ItemValues &item, Value dst,
                        OpFoldResult firstColumn) {
  LoadQOp load = entry.loadQ;
  Value parts[] = {load.getQ(), load.getQRope()};
  forParts(b, entry, dst, firstColumn,
           [&](unsigned part, Value columns, OpFoldResult first) {
             int64_t width = cast<TileType>(columns.getType()).getColumns();
             Value source = columnsOf(b, parts[part], first, width);
             emitGather(b, entry, source, columns, [&](Value i) {
               SmallVector<Value> at =
                   findQuery(b, entry, item, b.add(item.firstRow, i));
               Value exists = b.less(i, item.numRows);
               at[0] = b.select(exists, at[0], b.index(-1));
               return at;
             });
           });
}

QueryLoads::QueryLoads(TileEntry &entry)
    : entry(entry), boxRows(std::gcd(entry.rows, entry.group)) {
  if (entry.schedule.getCopy() != CopyKind::TMA)
    return;
  int64_t columns = getSwizzle(entry) / 2;
  for (Value part : {entry.loadQ.getQ(), entry.loadQ.getQRope()})
    if (part) {
      int64_t rank = cast<MemRefType>(part.getType()).getRank();
      maps.push_back(appendTensorMap(
          entry, part, llvm::to_vector(llvm::seq<int64_t>(0, rank)), boxRows,
          columns));
    }
}

void QueryLoads::load(RoleBuilder &b, const ItemValues &item, Value dst,
                      OpFoldResult firstColumn) {
  if (maps.empty())
    return emitQueryLoad(b, entry, item, dst, firstColumn);
  forParts(b, entry, dst, firstColumn,
           [&](unsigned part, Value columns, OpFoldResult first) {
             for (int64_t i = 0; i < entry.rows; i += boxRows) {
               SmallVector<Value> at =
                   findQuery(b, entry, item, b.add(item.firstRow, b.index(i)));
               at.push_back(columnValue(b, first));
               TMALoadOp::create(b, maps[part], at, columns, i);
             }
           });
}
