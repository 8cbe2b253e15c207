//===- EmitCopies.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Copies to shared memory: by TMA, and of zeros.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// What one thread clears at once, and how many neighbours share a row, so that
/// a warp's accesses are whole 128-byte lines.
static constexpr int64_t kChunkBytes = 16;
/// What createpolicy.fractional.L2::evict_first.b64 makes, of 1.0: the
/// assembler would compute it by six instructions for each copy.
static constexpr StringLiteral kEvictFirst = "0x12f0000000000000";

LogicalResult NVVMEmitter::emitCopyOp(Operation &op) {
  if (auto load = dyn_cast<TMALoadOp>(op))
    return emitTMALoad(load);
  if (auto gather = dyn_cast<GatherOp>(op))
    return emitGather(gather);
  emitClearRows(cast<ClearRowsOp>(op));
  return success();
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

LogicalResult NVVMEmitter::emitTMALoad(TMALoadOp op) {
  SharedTile &dest = tile(op.getTile());
  Value barrier = fullBarriers.lookup(dest.storage);
  if (!barrier)
    return op.emitOpError("requires a tile of a slot of a pipeline with "
                          "writer(tma), which the copy arrives on");
  TensorMapType map = op.getMap().getType();
  TileType type = dest.type;
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t width = type.getSwizzle() ? type.getSwizzleColumns() : dest.columns;
  bool isWide = map.getBoxColumns() > width;
  int64_t boxes = type.getColumns() / map.getBoxColumns();
  // A box of several column tiles has them one behind the other, as has a tile
  // that is as high.
  int64_t rows = isWide ? map.getBoxRows() : type.getRows();
  if (map.getBoxColumns() % width || dest.rows != rows)
    return op.emitOpError("requires boxes of whole column tiles of ")
           << width << " columns and of all " << dest.rows
           << " rows of the storage, but got " << map.getBoxColumns() << " and "
           << rows;
  size_t rank = op.getCoordinates().size() + isWide;
  if (rank > 5)
    return op.emitOpError("requires at most 5 dimensions, but got ") << rank;

  // Innermost first. A wide box is one of column tiles: the number of the tile
  // is the dimension behind the row.
  // One lane of one warp, by elect: of a thread that is chosen otherwise, the
  // assembler does not know that it is one, and loops over all.
  std::string text = "{\n.reg .pred one;\n.reg .b64 policy;\n.reg .b32 "
                     "column;\n@!$0 bra end;\nelect.sync _|one, -1;\n"
                     "@!one bra end;\n";
  std::string constraints = "b,r,l,r";
  int64_t columnTileBytes = dest.rows * width * elementBytes;
  Value address = dest.address;
  int64_t firstByte = dest.beginColumn / width * columnTileBytes +
                      int64_t(op.getAt()) * width * elementBytes;
  if (firstByte)
    address = add(address, i32(firstByte));
  SmallVector<Value> operands = {inFirstWarp(), address, scalar(op.getMap()),
                                 barrier};
  auto operand = [&](Value value) {
    operands.push_back(value);
    constraints += ",r";
    return "$" + std::to_string(operands.size() - 1);
  };
  auto coordinates = llvm::map_to_vector(llvm::reverse(op.getCoordinates()),
                                         [&](Value v) { return scalar(v); });
  Value column = coordinates[0];
  std::string stepped, others;
  if (isWide) {
    Value columnTile = arith::DivUIOp::create(b, loc, column, i32(width));
    stepped = operand(columnTile);
  } else {
    stepped = operand(column);
  }
  std::string row = coordinates.size() > 1 ? operand(coordinates[1]) : "";
  for (size_t i = 2; i < coordinates.size(); ++i)
    others += ", " + operand(coordinates[i]);

  if (announcesItself(op))
    text += "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$3], " +
            std::to_string(op.getBytes()) + ";\n";
  text += ("mov.b64 policy, " + kEvictFirst + ";\n").str();
  int64_t step = isWide ? map.getBoxColumns() / width : map.getBoxColumns();
  int64_t boxBytes = dest.rows * map.getBoxColumns() * elementBytes;
  for (int64_t i = 0; i < boxes; ++i) {
    text +=
        "add.s32 column, " + stepped + ", " + std::to_string(i * step) + ";\n";
    std::string at = isWide ? "0, " + row + ", column" : "column";
    if (!isWide && !row.empty())
      at += ", " + row;
    text += "cp.async.bulk.tensor." + std::to_string(rank) +
            "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            ".L2::cache_hint [$1+" +
            std::to_string(i * boxBytes) + "], [$2, {" + at + others +
            "}], [$3], policy;\n";
  }
  ptx(text + "end:\n}", constraints, {}, operands);
  return success();
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

void NVVMEmitter::emitClearRows(ClearRowsOp op) {
  SharedTile &dest = tile(op.getTile());
  TileType type = dest.type;
  Value begin = scalar(op.getFirst()), end = i32(type.getRows());
  if (op.getEnd())
    end = arith::MinSIOp::create(b, loc, scalar(op.getEnd()), end);
  // Rows of a column tile lie one behind the other, however they are swizzled
  // within. Without a swizzle, all columns are one tile.
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rowBytes =
      type.getSwizzle() ? type.getSwizzle() : dest.columns * elementBytes;
  int64_t tileBytes = dest.rows * rowBytes;
  int64_t firstTile = dest.beginColumn * elementBytes / rowBytes;
  int64_t columnTiles = type.getColumns() * elementBytes / rowBytes;
  // The condition is the same in all threads of the role: they can meet in it.
  emitIf(cmp(arith::CmpIPredicate::slt, begin, end), [&] {
    beforeStore(dest);
    begin = arith::MaxSIOp::create(b, loc, begin, i32(0));
    Value mine = opaque(thread()); // this is rare: nothing is kept for it
    auto address = [&](Value row) {
      return add(dest.address, mul(row, i32(rowBytes)));
    };
    auto loop = scf::ForOp::create(
        b, loc, add(address(begin), mul(mine, i32(kChunkBytes))), address(end),
        i32(roleThreads() * kChunkBytes));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      for (int64_t i = firstTile; i < firstTile + columnTiles; ++i)
        ptx("st.shared.v4.b32 [$0+" + std::to_string(i * tileBytes) +
                "], {$1, $1, $1, $1};",
            "r,r", {}, {loop.getInductionVar(), i32(0)});
    }
    afterStore(dest);
    roleBarrier();
  });
}
