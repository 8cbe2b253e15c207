//===- EmitGather.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Copies to shared memory row by row. How much is copied at once depends on how
// rows lie, which the op promises or is known at the launch: 16 bytes, or what
// they are aligned to.
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// What one thread copies of a row, and how many neighbours share it, so that
/// a warp's accesses are whole 128-byte lines.
static constexpr int64_t kChunkBytes = 16, kRowThreads = 8;
static constexpr int64_t kWordBytes = 4, kHalfWordBytes = 2;

namespace {
/// The copy of one row: each of its threads copies every eighth chunk.
struct RowCopy {
  NVVMEmitter &e;
  const SharedTile &dest;
  Value row;    ///< of the tile, i32
  Value from;   ///< the row's first element
  Value exists; ///< i1: else it is zeros

  int64_t chunkColumns() const {
    return kChunkBytes * 8 / dest.type.getElementType().getIntOrFloatBitWidth();
  }
  Value firstChunk() const {
    return e.andi(e.opaque(e.thread()), kRowThreads - 1);
  }
  Value pointer(Value column) const {
    return LLVM::GEPOp::create(e.b, e.loc, from.getType(),
                               dest.type.getElementType(), from, column);
  }

  void emitChunks();
  void emitWords();
  void emitHalfWords();
  /// Rows that are not aligned are few: a loop keeps their code small.
  void forChunks(llvm::function_ref<void(Value to, Value from)> body);
};
} // namespace

void RowCopy::emitChunks() {
  int64_t chunks = dest.type.getColumns() / chunkColumns();
  Value bytes = e.select(exists, e.i32(kChunkBytes), e.i32(0));
  Value first = firstChunk();
  std::string text, constraints = "l,r";
  SmallVector<Value> operands = {pointer(e.mul(first, e.i32(chunkColumns()))),
                                 bytes};
  int64_t rest = chunks % kRowThreads;
  for (int64_t chunk = 0; chunk < chunks; chunk += kRowThreads) {
    Value column = e.mul(e.add(first, e.i32(chunk)), e.i32(chunkColumns()));
    operands.push_back(e.elementAddress(dest, row, column));
    constraints += ",r";
    std::string to = "$" + std::to_string(operands.size() - 1);
    if (chunk + kRowThreads > chunks) {
      operands.push_back(e.cmp(arith::CmpIPredicate::ult, first, e.i32(rest)));
      constraints += ",b";
      text += "@$" + std::to_string(operands.size() - 1) + " ";
    }
    text += "cp.async.cg.shared.global [" + to + "], [$0+" +
            std::to_string(chunk * kChunkBytes) + "], 16, $1;\n";
  }
  e.ptx(text, constraints, {}, operands);
}

void RowCopy::forChunks(llvm::function_ref<void(Value, Value)> body) {
  int64_t columns = chunkColumns();
  auto loop = scf::ForOp::create(
      e.b, e.loc, e.mul(firstChunk(), e.i32(columns)),
      e.i32(dest.type.getColumns()), e.i32(kRowThreads * columns));
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value column = loop.getInductionVar();
  body(e.elementAddress(dest, row, column), pointer(column));
}

void RowCopy::emitWords() {
  Value bytes = e.select(exists, e.i32(kWordBytes), e.i32(0));
  forChunks([&](Value to, Value from) {
    std::string text;
    for (int64_t at = 0; at < kChunkBytes; at += kWordBytes)
      text += llvm::formatv(
          "cp.async.ca.shared.global [$0+{0}], [$1+{0}], 4, $2;\n", at);
    e.ptx(text, "r,l,r", {}, {to, from, bytes});
  });
}

void RowCopy::emitHalfWords() {
  forChunks([&](Value to, Value from) {
    // A word at a time: this is slow anyhow, and registers may be few.
    std::string text = "{\n.reg .b16 half<2>;\n.reg .b32 word;\n";
    for (int64_t at = 0; at < kChunkBytes; at += kWordBytes)
      text += llvm::formatv("mov.b32 {{half0, half1}, 0;\n"
                            "@$2 ld.global.b16 half0, [$1+{0}];\n"
                            "@$2 ld.global.b16 half1, [$1+{1}];\n"
                            "mov.b32 word, {{half0, half1};\n"
                            "st.shared.b32 [$0+{0}], word;\n",
                            at, at + kHalfWordBytes);
    e.ptx(text + "}", "r,l,b", {}, {to, from, exists});
  });
  // The slot's arrival waits for asynchronous copies, and for these stores only
  // if they are done before it is asked for.
  e.ptx("membar.cta;", "", {}, {});
}

LogicalResult NVVMEmitter::emitGather(GatherOp op) {
  SharedTile &dest = tile(op.getTile());
  TileType type = dest.type;
  GlobalMemory &source = memory(op.getSource());
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (type.getColumns() * elementBytes % kChunkBytes)
    return op.emitOpError("requires rows of whole 16 bytes, but got ")
           << type.getColumns() * elementBytes;
  if (elementBytes < kHalfWordBytes)
    return op.emitOpError("requires elements of 16 bits or more, but got ")
           << type.getElementType();

  // Each thread asks for its rows once.
  auto loop =
      scf::ForOp::create(b, loc, shr(opaque(thread()), 3), i32(type.getRows()),
                         i32(roleThreads() / kRowThreads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value row = loop.getInductionVar();
  map(op.getBody().getArgument(0), row);
  if (failed(emitBlock(op.getBody().front())))
    return failure();
  SmallVector<Value> indices = terminatorRegisters(op.getBody().front());
  Value exists = cmp(arith::CmpIPredicate::sge, indices.front(), i32(0));
  for (Value &index : indices)
    index = select(exists, index, i32(0));
  indices.push_back(i32(0));
  auto emitIfAligned = [&](int64_t bytes, llvm::function_ref<void()> whenTrue,
                           llvm::function_ref<void()> whenFalse) {
    Value aligned = areRowsAligned(*this, source, bytes);
    if (!aligned)
      return whenFalse();
    auto filled = [](llvm::function_ref<void()> emit) {
      return [emit]() -> SmallVector<Value> {
        emit();
        return {};
      };
    };
    emitIf(aligned, {}, filled(whenTrue), filled(whenFalse));
  };
  RowCopy copy{*this, dest, row, elementPointer(source, indices), exists};
  if (op.getAligned()) {
    copy.emitChunks();
    return success();
  }
  emitIfAligned(
      kChunkBytes, [&] { copy.emitChunks(); },
      [&] {
        emitIfAligned(
            kWordBytes, [&] { copy.emitWords(); },
            [&] { copy.emitHalfWords(); });
      });
  return success();
}
