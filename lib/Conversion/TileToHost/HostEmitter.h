//===- HostEmitter.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// State of the conversion of one entry to host code, and the emitters of its
// ops, a file per group. Tensors become buffers of the worker's scratch,
// updated in place; registers hold vectors of the target's width.
//
// Scores lie as keys x rows, so that code on scores, the softmax and its row
// state work on vectors of rows, with no sum across lanes, and so that P V
// finds the weights of one key side by side.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOHOST_HOSTEMITTER_H
#define MLA_CONVERSION_TILETOHOST_HOSTEMITTER_H

#include "../Work/WorkLoops.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::mla {

/// A tensor's place in the scratch, f32: queries and O as rows x columns, row
/// state as rows, scores as keys x rows. `item->numRows` rows hold data.
struct TileBuffer {
  Value memref;
  const ItemValues *item = nullptr;
  Value firstKey, endKey; ///< scores: the keys that hold data
};

/// A loaded `!mla.kv_tile`: where each of its keys is.
struct KVTileBuffer {
  KVTileType type;
  /// The parts of k; `offsets[i][j]` is where key j of the tile starts in part
  /// i, in elements. Keys outside [begin, end) repeat a key inside.
  SmallVector<Value, 2> parts, offsets;
  /// Or, under `kv = staged`, all parts side by side, keys x width in f32; then
  /// keys outside hold anything.
  Value staged;
  Value begin, end;

  /// Widths of the parts that are read one by one.
  SmallVector<int64_t, 2> partWidths() const;
};

class HostEmitter {
public:
  HostEmitter(OpBuilder &builder, TargetAttr target, ScheduleAttr schedule,
              PlanOp plan, Value scratch, Value worker);

  /// Converts the ops of a block, in order, to host code at the insertion
  /// point.
  LogicalResult emitBlock(Block &block);

  /// Bytes of scratch that the code uses per worker.
  int64_t getScratchBytes() const { return scratchBytes; }

  IRMapping &getMapping() { return mapping; }
  /// Says what the item of the work loop stands for.
  void bindItem(Value item, const ItemValues &values) {
    currentItem = &(items[item] = values);
  }

private:
  LogicalResult emitOp(Operation &op);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);

  // EmitLoads.cpp
  void emit(LoadQOp op);
  void emit(LoadKVOp op);
  void stage(KVTileBuffer &tile);
  // EmitMatmuls.cpp
  void emit(QKOp op);
  void emit(PVOp op);
  // EmitScores.cpp
  LogicalResult emit(ScoreOp op);
  LogicalResult emit(MaskOp op);
  // EmitSoftmax.cpp
  void emit(InitOp op);
  void emit(SoftmaxStepOp op);
  void emit(FinalizeOp op);
  void emit(CombineOp op);
  // EmitStores.cpp
  void emit(StoreOp op);
  void emit(StorePartialOp op);

  /// New scratch of that shape, for one tensor.
  Value allocate(ArrayRef<int64_t> shape, Type elementType);
  /// A result that takes over the buffer of the operand it replaces.
  void update(Value result, Value operand) {
    TileBuffer buffer = buffers.at(operand);
    buffers[result] = buffer;
  }
  const ItemValues &itemOf(Value item) const { return items.at(item); }

  /// Query (of the request) and head of row `row`, or a vector of rows, of an
  /// item.
  std::pair<Value, Value> rowPosition(const ItemValues &item, Value row);
  /// Where such a row is in q, out and lse, without the column.
  SmallVector<Value> rowIndices(const ItemValues &item, Value query,
                                Value head);

  // Small pieces of IR.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value f32Constant(float value);
  Value add(Value x, Value y) {
    return arith::AddIOp::create(builder, loc, x, y);
  }
  Value sub(Value x, Value y) {
    return arith::SubIOp::create(builder, loc, x, y);
  }
  Value mul(Value x, Value y) {
    return arith::MulIOp::create(builder, loc, x, y);
  }
  Value broadcast(Value scalar, int64_t width) {
    return vector::BroadcastOp::create(
        builder, loc, VectorType::get(width, scalar.getType()), scalar);
  }
  /// Converts float scalars or vectors between element types.
  Value convertFloat(Value value, Type elementType);
  Value loadVector(Value memref, ValueRange indices, int64_t width);
  void storeVector(Value vector, Value memref, ValueRange indices);
  /// for (i = low; i < high; i += step) body(i); the builder stands in the
  /// body.
  void forLoop(Value low, Value high, int64_t step,
               llvm::function_ref<void(Value)> body);
  /// for each vector of the rows that exist: body(first row). Rows are padded
  /// to `rowLanes`, the width of such vectors.
  void forRowVectors(const ItemValues &item,
                     llvm::function_ref<void(Value)> body);
  /// The same with carried values.
  SmallVector<Value>
  forLoop(Value low, Value high, int64_t step, ValueRange init,
          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// Splits [0, columns) into vectors: a loop over whole ones, and a shorter
  /// one for the rest (columns are a multiple of 8).
  void forVectors(int64_t columns,
                  llvm::function_ref<void(Value, int64_t width)> body);

  // The block of P V and the one of Q K^T.
  void emitQKBlock(Value q, const KVTileBuffer &kv, Value scores, Value row,
                   Value key);
  void emitPVBlock(Value p, const KVTileBuffer &kv, Value o, Value alpha,
                   Value row, Value column, ArrayRef<int64_t> widths);
  /// Sums each vector across its lanes: at most `lanes` of them, to one vector.
  Value sumAcross(ArrayRef<Value> vectors);
  /// A memref over the columns of part `part` of one key.
  Value keyRow(const KVTileBuffer &kv, unsigned part, Value key);

  /// Clones scalar code over a vector of rows: `arguments` are scalars or
  /// vectors.
  FailureOr<Value> cloneOverRows(Block &block, ValueRange arguments);
  /// Replaces each score by what `block` computes of it.
  LogicalResult emitScoreLoop(const TileBuffer &scores, Value tile,
                              Block &block);

  OpBuilder &builder;
  Location loc;
  TargetAttr target;
  ScheduleAttr schedule;
  PlanOp plan;
  int64_t lanes;    // of a full vector
  int64_t rowLanes; // of a vector of rows: fewer for low tiles
  Type f32;
  Value scratch;     // memref<?xi8>, of all workers
  Value scratchBase; // first byte of this worker's
  int64_t scratchBytes = 0;

  IRMapping mapping; // everything that is not a tile value
  llvm::DenseMap<Value, TileBuffer> buffers;
  llvm::DenseMap<Value, KVTileBuffer> kvTiles;
  llvm::DenseMap<Value, ItemValues> items;
  const ItemValues *currentItem = nullptr;
};

/// Checks that an entry is what the emitters expect: names, schedule, plan, and
/// tiles made in the work loop that uses them, of the schedule's shape.
LogicalResult checkHostEntry(func::FuncOp entry, TargetAttr target);
/// Checks that entries, each of them checked, belong together.
LogicalResult checkHostEntries(ArrayRef<func::FuncOp> entries);

/// The parameters of an entry as func-to-llvm will expand them: a memref is its
/// descriptor (pointer twice, offset, sizes, strides), the rest are scalars.
EntryAttr describeHostEntry(func::FuncOp func);

/// Makes a kernel of the module's mla.merge, if it has one.
LogicalResult convertMergeToHost(ModuleOp module, TargetAttr target);

/// Softmax of a row, shared by the targets; `x` may be scalars, vectors or
/// fragments of f32. exp(x) as exp2(x log2 e).
Value buildExp(OpBuilder &builder, Location loc, Value x);
/// The reference that scores are taken against: the maximum, or 0 where no key
/// was seen, so that -inf - reference is -inf and never NaN.
Value buildSafeMax(OpBuilder &builder, Location loc, Value rowMax);

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOHOST_HOSTEMITTER_H
