//===- EmitShared.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Fragments from and to tiles. A packed register holds, over the warp, one 8 x
// 8 matrix of 16-bit elements as ldmatrix and stmatrix have it: lane l has
// elements 2 (l % 4) and + 1 of line l / 4. Lines are rows of the tile where
// rows are M; where keys are, they are its columns, and the instructions
// transpose. Four registers that follow each other are two matrices along M and
// two along N.
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

using namespace mlir;
using namespace mlir::mla_gpu;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {

/// The addresses of rows that this lane gives for each group of matrices.
class MatrixAddresses {
public:
  MatrixAddresses(NVVMEmitter &e, const SharedTile &tile,
                  const FragmentLayout &layout)
      : e(e), tile(tile), layout(layout), swizzle(tile.type.getSwizzle()) {}

  static LogicalResult check(Operation *op, const SharedTile &tile,
                             const FragmentLayout &layout) {
    if (tile.type.getSwizzle() == 0 || tile.beginColumn % 16 != 0)
      return op->emitOpError("requires a tile with a swizzle, from a multiple "
                             "of 16 columns on, but got ")
             << tile.type;
    if (layout.isRowsAsM() && layout.getNGroups() % 2)
      return op->emitOpError("requires columns in multiples of 16, but got ")
             << layout.getType();
    return success();
  }

  /// An address and the bytes to be added to it, of the matrices of M tile `t`
  /// from N group `j` on.
  std::pair<Value, int64_t> get(int64_t t, int64_t j) {
    return layout.isRowsAsM() ? rowsAsM(t, j) : keysAsM(t, j);
  }

private:
  /// The four matrices are rows 0-7 and 8-15 of columns 0-7, then of 8-15. 16
  /// columns are 32 bytes that begin at a multiple of that, so the address of
  /// any step is that of the first by xor within a run of columns, and by a
  /// constant beyond.
  std::pair<Value, int64_t> rowsAsM(int64_t t, int64_t j) {
    if (!base) {
      Value lane = e.lane();
      Value row = e.add(e.shl(e.warp(), 4), e.andi(lane, 15));
      // The line of 128 bytes that a row lies in chooses the permutation.
      Value line = e.shr(lane, llvm::Log2_64(128 / swizzle));
      Value chunk = e.xori(e.shr(lane, 4), e.andi(line, swizzle / 16 - 1));
      // What depends on the thread may be kept, but no address made of it.
      Value mine = e.add(e.mul(row, e.i32(swizzle)), e.shl(chunk, 4));
      base = e.add(tile.address, e.opaque(mine));
    }
    int64_t byte = 2 * (tile.beginColumn + 8 * j);
    Value &address = steps[byte % swizzle];
    if (!address)
      address = byte % swizzle ? e.xori(base, e.i32(byte % swizzle)) : base;
    return {address, byte / swizzle * tile.rows * swizzle + t * 64 * swizzle};
  }

  /// The four matrices are, of rows 0-7 of the tile, columns 0-7 and 8-15 of
  /// the warp's, then those of rows 8-15. 8 rows on, the permutation is the
  /// same.
  std::pair<Value, int64_t> keysAsM(int64_t t, int64_t j) {
    Value &address = steps[t];
    if (!address) {
      ThreadPosition thread(e);
      Value row =
          e.add(e.shl(e.shr(thread.lane, 4), 3), e.andi(thread.lane, 7));
      Value half = e.andi(e.shr(thread.lane, 3), 1);
      Value column = e.add(e.shl(thread.warp, 4), e.shl(half, 3));
      address = e.elementAddress(tile, row, e.add(column, e.i32(64 * t)));
    }
    return {address, 8 * j * swizzle};
  }

  NVVMEmitter &e;
  const SharedTile &tile;
  const FragmentLayout &layout;
  int64_t swizzle;
  Value base;
  DenseMap<int64_t, Value> steps;
};

} // namespace

/// Calls `emit` for each group of matrices: its address as text, as a value,
/// and its registers, of which there are two or four.
static void forEachGroup(
    NVVMEmitter &e, const SharedTile &tile, const FragmentLayout &layout,
    llvm::function_ref<void(std::string, Value, int64_t, int64_t)> emit) {
  MatrixAddresses addresses(e, tile, layout);
  for (int64_t t = 0; t < layout.getMTiles(); ++t)
    for (int64_t j = 0; j < layout.getNGroups(); j += 2) {
      auto [address, bytes] = addresses.get(t, j);
      int64_t count = j + 1 < layout.getNGroups() ? 4 : 2;
      emit(bytes ? "+" + std::to_string(bytes) : "", address,
           layout.getElement(t, j, 0) / 2, count);
    }
}

/// ".x4" or ".x2", with the transposition where keys are M, and ".shared.b16".
static std::string suffixOf(const FragmentLayout &layout, int64_t count) {
  return ".sync.aligned.m8n8.x" + std::to_string(count) +
         (layout.isRowsAsM() ? "" : ".trans") + ".shared.b16 ";
}

static LogicalResult loadMatrices(NVVMEmitter &e, LoadSharedOp op,
                                  const FragmentLayout &layout) {
  const SharedTile &tile = e.tile(op.getTile());
  if (failed(MatrixAddresses::check(op, tile, layout)))
    return failure();
  SmallVector<Value> result;
  forEachGroup(e, tile, layout,
               [&](std::string offset, Value address, int64_t, int64_t count) {
                 bool four = count == 4;
                 std::string text =
                     "ldmatrix" + suffixOf(layout, count) +
                     (four ? "{$0, $1, $2, $3}, [$4" : "{$0, $1}, [$2") +
                     offset + "];";
                 SmallVector<Type> types(count, e.b.getI32Type());
                 llvm::append_range(
                     result, e.ptx(text, four ? "=r,=r,=r,=r,r" : "=r,=r,r",
                                   types, address));
               });
  e.map(op.getResult(), result);
  return success();
}

static LogicalResult storeMatrices(NVVMEmitter &e, StoreSharedOp op,
                                   const FragmentLayout &layout) {
  const SharedTile &tile = e.tile(op.getTile());
  if (failed(MatrixAddresses::check(op, tile, layout)))
    return failure();
  ArrayRef<Value> registers = e.registers(op.getValue());
  forEachGroup(
      e, tile, layout,
      [&](std::string offset, Value address, int64_t first, int64_t count) {
        bool four = count == 4;
        std::string text = "stmatrix" + suffixOf(layout, count) + "[$0" +
                           offset +
                           (four ? "], {$1, $2, $3, $4};" : "], {$1, $2};");
        SmallVector<Value> inputs{address};
        llvm::append_range(inputs, registers.slice(first, count));
        e.ptx(text, four ? "r,r,r,r,r" : "r,r,r", {}, inputs);
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Elements of a slice that lie side by side, and the pointer to the first.
static void
forEachRun(NVVMEmitter &e, const SharedTile &tile, const FragmentLayout &layout,
           llvm::function_ref<void(Value pointer, int64_t first, int64_t count)>
               emit) {
  ThreadPosition thread(e);
  ThreadPart part = layout.getThreadPart(0);
  int64_t count = part == ThreadPart::AlongN ? 2 : 1;
  Value element = thread.get(part, layout.isRowsAsM());
  Value base = sharedPointer(e, e.add(tile.address, e.shl(element, 2)));
  for (int64_t i = 0; i < layout.getNumElements(); i += count)
    emit(advance(e, base, 4 * (tile.beginColumn + layout.getBase(0, i))), i,
         count);
}

static void loadVector(NVVMEmitter &e, LoadSharedOp op,
                       const FragmentLayout &layout) {
  Type type = getFragmentTypes(layout.getType()).front();
  SmallVector<Value> result;
  forEachRun(e, e.tile(op.getTile()), layout,
             [&](Value pointer, int64_t, int64_t count) {
               llvm::append_range(result, loadWords(e, pointer, type, count));
             });
  e.map(op.getResult(), result);
}

/// Lanes of a quad hold the same rows of M, and all write them: that is one
/// access. Rows of N, which all warps hold, and in them all lanes with the same
/// q, are written once.
static void storeVector(NVVMEmitter &e, StoreSharedOp op,
                        const FragmentLayout &layout) {
  ArrayRef<Value> registers = e.registers(op.getValue());
  auto store = [&] {
    forEachRun(e, e.tile(op.getTile()), layout,
               [&](Value pointer, int64_t first, int64_t count) {
                 storeWords(e, pointer, registers.slice(first, count));
               });
  };
  if (layout.getThreadPart(0) == ThreadPart::AlongM)
    store();
  else
    e.emitIf(e.cmp(arith::CmpIPredicate::ult, e.thread(), e.i32(4)), store);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Matrices of 16-bit floats, and vectors of 32-bit elements.
static LogicalResult checkElements(Operation *op,
                                   const FragmentLayout &layout) {
  RankedTensorType type = layout.getType();
  bool wide = type.getElementType().isIntOrFloat() &&
              type.getElementTypeBitWidth() == 32;
  if (isa<MmaLayoutAttr>(type.getEncoding()) ? layout.isPacked()
                                             : type.getRank() == 1 && wide)
    return success();
  return op->emitOpError("requires a matrix of 16-bit floats or a vector of "
                         "32-bit elements, but got ")
         << type;
}

LogicalResult mla_gpu::emitLoadShared(NVVMEmitter &e, LoadSharedOp op) {
  FragmentLayout layout(cast<RankedTensorType>(op.getResult().getType()));
  if (failed(checkElements(op, layout)))
    return failure();
  e.beforeLoad(e.tile(op.getTile()));
  if (layout.isPacked())
    return loadMatrices(e, op, layout);
  loadVector(e, op, layout);
  return success();
}

LogicalResult mla_gpu::emitStoreShared(NVVMEmitter &e, StoreSharedOp op) {
  FragmentLayout layout(cast<RankedTensorType>(op.getValue().getType()));
  if (failed(checkElements(op, layout)))
    return failure();
  e.beforeStore(e.tile(op.getTile()));
  if (!layout.isPacked())
    storeVector(e, op, layout);
  else if (failed(storeMatrices(e, op, layout)))
    return failure();
  e.afterStore(e.tile(op.getTile()));
  return success();
}
