//===- EmitRows.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Fragments to rows of global memory. Threads first exchange elements so that
// each has runs of a row:
//   * rows as M: 8 bytes, 32 by a quad of lanes, a whole sector of memory. 16
//     bits: 4 columns, by pairs of lanes; 32 bits: 2 columns, as they are.
//     Wider runs would take more exchanges than they save stores;
//   * keys as M, 16 bits: 2 columns (4 bytes), by lanes 4 apart; 32 bits: 1, as
//     a warp's store covers 32 bytes of each of four rows anyhow.
// Where the op does not promise that rows are aligned, pointers, strides and
// columns are known to be multiples of the elements only. Whether they allow
// runs is then asked once, of values that all threads share; else each element
// goes by itself.
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace {

/// A run of elements of a row that one thread moves.
struct Run {
  int64_t column; ///< from the row's `column` on
  SmallVector<Value> words;
};

/// What one thread stores of a row.
struct RowPart {
  Value row;    ///< of the tensor
  Value column; ///< the part that depends on the thread
  SmallVector<Run> runs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The elements of a matrix as values of their own: 16-bit ones are i16.
static SmallVector<Value> unpack(NVVMEmitter &e, const FragmentLayout &layout,
                                 ArrayRef<Value> registers) {
  if (!layout.isPacked())
    return SmallVector<Value>(registers);
  SmallVector<Value> elements;
  for (Value pair : registers)
    for (int64_t shift : {0, 16})
      elements.push_back(arith::TruncIOp::create(e.b, e.loc, e.b.getI16Type(),
                                                 e.shr(pair, shift)));
  return elements;
}

/// The elements that a thread holds of one of its rows.
static SmallVector<int64_t> elementsOfRow(const FragmentLayout &layout,
                                          int64_t row) {
  SmallVector<int64_t> elements;
  for (int64_t i = 0; i < layout.getNumElements(); ++i)
    if (layout.getSliceElement(1, i) == row)
      elements.push_back(i);
  return elements;
}

static int64_t rowsOfThread(const FragmentLayout &layout) {
  return 2 * (layout.isRowsAsM() ? layout.getMTiles() : layout.getNGroups());
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Element by element.
static SmallVector<RowPart> separate(NVVMEmitter &e,
                                     const FragmentLayout &layout,
                                     ArrayRef<Value> registers) {
  ThreadPosition thread(e);
  SmallVector<Value> values = unpack(e, layout, registers);
  Value column = thread.get(layout.getThreadPart(1), layout.isRowsAsM());
  SmallVector<RowPart> parts;
  for (int64_t row = 0; row < rowsOfThread(layout); ++row) {
    SmallVector<int64_t> elements = elementsOfRow(layout, row);
    RowPart part{thread.coordinate(layout, 0, elements.front()), column, {}};
    for (int64_t i : elements)
      part.runs.push_back({layout.getBase(1, i), {values[i]}});
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Stores words of a row that lie side by side, if the row exists. Without a
/// branch, so that this is done as soon as the words are there: what waits for
/// a branch takes registers.
static void storeWordsIf(NVVMEmitter &e, Value exists, Value pointer,
                         int64_t bytes, ArrayRef<Value> words) {
  bool isFloat = words.front().getType().isF32();
  std::string list, vector, constraints = "b,l";
  for (size_t i = 0; i < words.size(); ++i) {
    list += (i ? ", $" : "$") + std::to_string(i + 2);
    constraints += isFloat ? ",f" : ",r";
  }
  if (words.size() > 1) {
    vector = ".v" + std::to_string(words.size());
    list = "{" + list + "}";
  }
  SmallVector<Value> operands = {exists, pointer};
  llvm::append_range(operands, words);
  e.ptx("@$0 st.global" + vector + (isFloat ? ".f32" : ".b32") + " [$1+" +
            std::to_string(bytes) + "], " + list + ";",
        constraints, {}, operands);
}

/// Rows as M: 8 bytes of each group of columns, 16 of 16 bits or 8 of 32 bits
/// wide; and what is left by the registers that hold it. One group at a time:
/// the rest of the matrix fills the registers.
static void storeColumns(NVVMEmitter &e, const FragmentLayout &layout,
                         ArrayRef<Value> registers, PackedRows &rows) {
  ThreadPosition thread(e);
  bool packed = layout.isPacked();
  int64_t groups = packed ? 2 : 1; ///< 8-column groups that make a run
  int64_t whole = layout.getNGroups() / groups * groups;
  Value odd = testBit(e, thread.quad, 1);
  // 16 bits: the even lane of a pair takes 4 columns of the first group.
  Value pair = e.shl(e.shr(thread.quad, 1), 2);
  Value column = packed ? e.select(odd, e.add(pair, e.i32(8)), pair)
                        : e.shl(thread.quad, 1);
  struct Row {
    Value exists, run, rest; ///< pointers to this thread's columns
  };
  SmallVector<Row> parts;
  for (int64_t row = 0; row < rowsOfThread(layout); ++row) {
    Value at = thread.coordinate(layout, 0,
                                 layout.getElement(row / 2, 0, row % 2 * 2));
    parts.push_back({rows.exists(at), rows.pointer(at, column), {}});
    if (whole < layout.getNGroups())
      parts.back().rest = rows.pointer(at, e.shl(thread.quad, 1));
  }
  auto wordsOf = [&](int64_t row, int64_t j) {
    int64_t element = layout.getElement(row / 2, j, row % 2 * 2);
    return packed ? registers.slice(element / 2, 1)
                  : registers.slice(element, 2);
  };
  int64_t groupBytes = 8 * rows.elementBytes();
  for (int64_t j = 0; j < whole; j += groups)
    for (auto [row, part] : llvm::enumerate(parts)) {
      SmallVector<Value> words;
      for (int64_t i = 0; i < groups; ++i)
        llvm::append_range(words, wordsOf(row, j + i));
      if (packed)
        exchangePair(e, odd, 1, words[0], words[1]);
      storeWordsIf(e, part.exists, part.run, j * groupBytes, words);
    }
  for (int64_t j = whole; j < layout.getNGroups(); ++j)
    for (auto [row, part] : llvm::enumerate(parts))
      storeWordsIf(e, part.exists, part.rest, j * groupBytes, wordsOf(row, j));
}

/// Keys as M, 16 bits: a register has two rows of a column; after the exchange
/// with the lane 4 apart it has two columns of one row, the first row in lanes
/// with even g.
static SmallVector<RowPart> pairColumns(NVVMEmitter &e,
                                        const FragmentLayout &layout,
                                        ArrayRef<Value> registers) {
  ThreadPosition thread(e);
  Value odd = e.andi(thread.group, 1);
  Value column = e.sub(thread.get(ThreadPart::AlongM, false), odd);
  Value selector =
      e.select(testBit(e, thread.group, 1), e.i32(0x3276), e.i32(0x5410));
  SmallVector<RowPart> parts;
  for (int64_t j = 0; j < layout.getNGroups(); ++j) {
    int64_t first = layout.getElement(0, j, 0);
    RowPart part{e.add(thread.coordinate(layout, 0, first), odd), column, {}};
    for (int64_t t = 0; t < layout.getMTiles(); ++t)
      for (int64_t i : {0, 2}) {
        int64_t element = layout.getElement(t, j, i);
        Value mine = registers[element / 2];
        Value other = shuffleXor(e, mine, 4);
        Value word = e.ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r",
                           e.b.getI32Type(), {mine, other, selector},
                           /*pure=*/true)
                         .front();
        part.runs.push_back({layout.getBase(1, element), {word}});
      }
    parts.push_back(std::move(part));
  }
  return parts;
}

static void storeParts(NVVMEmitter &e, PackedRows &rows,
                       ArrayRef<RowPart> parts) {
  for (const RowPart &part : parts)
    e.emitIf(rows.exists(part.row), [&] {
      Value pointer = rows.pointer(part.row, part.column);
      for (const Run &run : part.runs)
        storeWords(e, advance(e, pointer, run.column * rows.elementBytes()),
                   run.words);
    });
}

static void storeMatrix(NVVMEmitter &e, StoreRowsOp op, PackedRows &rows) {
  FragmentLayout layout(cast<RankedTensorType>(op.getValue().getType()));
  ArrayRef<Value> registers = e.registers(op.getValue());
  bool inRuns = layout.isRowsAsM() || layout.isPacked();
  auto storeSeparately = [&] {
    storeParts(e, rows, separate(e, layout, registers));
    return SmallVector<Value>();
  };
  auto storeRuns = [&] {
    if (layout.isRowsAsM())
      storeColumns(e, layout, registers, rows);
    else
      storeParts(e, rows, pairColumns(e, layout, registers));
    return SmallVector<Value>();
  };
  if (inRuns && op.getAligned()) {
    storeRuns();
    return;
  }
  Value aligned =
      inRuns ? rows.areAligned(layout.isRowsAsM() ? 8 : 4) : Value();
  if (!aligned) {
    storeSeparately();
    return;
  }
  e.emitIf(aligned, TypeRange(), storeRuns, storeSeparately);
}

/// One thread a row.
static void storeVector(NVVMEmitter &e, StoreRowsOp op, PackedRows &rows) {
  FragmentLayout layout(cast<RankedTensorType>(op.getValue().getType()));
  ThreadPosition thread(e);
  ArrayRef<Value> registers = e.registers(op.getValue());
  Value owner = layout.isRowsAsM()
                    ? e.cmp(arith::CmpIPredicate::eq, thread.quad, e.i32(0))
                    : e.cmp(arith::CmpIPredicate::ult, e.thread(), e.i32(4));
  e.emitIf(owner, [&] {
    for (auto [i, value] : llvm::enumerate(registers)) {
      Value row = thread.coordinate(layout, 0, i);
      e.emitIf(rows.exists(row),
               [&] { storeWords(e, rows.pointer(row, Value()), value); });
    }
  });
}

LogicalResult mla_gpu::emitStoreRows(NVVMEmitter &e, StoreRowsOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  FragmentLayout layout(type);
  bool isMatrix = bool(op.getColumn());
  if (!layout.isPacked() && !type.getElementType().isF32() &&
      !type.getElementType().isInteger(32))
    return op.emitOpError("requires elements of 16 or 32 bits, but got ")
           << type.getElementType();
  if (!isMatrix && layout.isPacked())
    return op.emitOpError("requires a vector of 32-bit elements, but got ")
           << type;
  PackedRows rows(e, op.getDest(), op.getRow(), op.getColumn(), op.getCount());
  auto store = [&] {
    if (isMatrix)
      storeMatrix(e, op, rows);
    else
      storeVector(e, op, rows);
  };
  if (op.getOptional())
    e.emitIf(isNotNull(e, op.getDest()), store);
  else
    store();
  return success();
}
