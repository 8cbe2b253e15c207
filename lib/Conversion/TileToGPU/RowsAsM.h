//===- RowsAsM.h ---------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The dataflow `rows_as_m`, for many rows: a CTA does 64 packed rows. Role
// "softmax" multiplies Q, which it holds in registers, by K. Roles "left" and
// "right" multiply P by half of V's columns each, and load these columns.
//
//   RowsAsM.cpp         storage, pipelines, roles
//   RowsAsMSoftmax.cpp  Q K^T and softmax
//   RowsAsMOutput.cpp   P V, and the loads of keys
//
// Slots are numbered over all pieces of the CTA. A piece takes one for its rows
// of Q, which come through the ring like keys, and are there when the piece
// begins; then as many as it has tiles, and one if it has none. That one holds
// zeros, and all its keys are masked, so that pieces without keys need no code
// of their own.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_ROWSASM_H
#define MLA_CONVERSION_TILETOGPU_ROWSASM_H

#include "Loads.h"
#include "Outline.h"

namespace mlir::mla {

/// Which columns are where.
struct RowsAsMColumns {
  explicit RowsAsMColumns(const TileEntry &entry);

  int64_t half;     ///< of V, that "left" and "right" have each
  int64_t rope;     ///< of K, behind those of V
  int64_t qInTile;  ///< last ones of V's whose Q does not fit the registers
  bool qRopeInTile; ///< nor does that of the rope columns
  int64_t last;     ///< of "right", multiplied last: P V queues behind them
};

class RowsAsM {
public:
  explicit RowsAsM(TileEntry &entry);
  void emit();

private:
  /// Q by columns: fragments, or a tile, or null where there are none.
  struct Query {
    Value left, right, last, rope;
  };
  /// A piece and what its slot number `turn` holds: 0 is Q, then tiles.
  struct Position {
    Value piece, turn;
  };
  struct Pipelines {
    Value left, right, rope, weights;
    Value turn; ///< of P V, near the end of the next Q K^T
  };

  // RowsAsM.cpp
  void emitStorage();
  Value pipeline(ValueRange storages, ArrayRef<int64_t> begins,
                 ArrayRef<int64_t> ends, mla_gpu::Writer writer, StringRef from,
                 ArrayRef<StringRef> to, Value after = {});
  /// A piece; without keys, if it has no tiles.
  WorkItem read(Value piece);
  /// Fills in what rows the piece has, and what they see.
  void findSeenKeys(WorkItem &work);
  /// Slots that a piece takes for its tiles.
  Value countTiles(const WorkItem &work);
  /// Writes rows of a piece to its result, or as they are to its partial slot.
  void storeRows(Value piece, Value column, Value partial,
                 llvm::function_ref<Value()> whole);

  // RowsAsMSoftmax.cpp
  void emitSoftmaxRole();
  /// Takes Q out of its slot, and lets all have it again.
  Query takeQuery(Value number);
  /// S = Q K^T of a slot. P V of the slot before gets its turn near the end, if
  /// it is of the same piece.
  Value multiplyKeys(const Query &query, Value number, Value isLater);
  /// Stores P of a slot and what O is to be multiplied by. State: maximum and
  /// sum of each row.
  SmallVector<Value> emitWeights(TileScores scores, Value number, Value isLast,
                                 ValueRange state);
  /// Shows P of a slot to P V, and lets its keys go.
  void publish(Value number);
  /// The same, and lets P V begin.
  void handOver(Value number);
  void storeSums(Value piece, Value max, Value sum);

  // RowsAsMOutput.cpp
  void emitOutputRoles(Value half, Value column);
  /// Finds what a slot is to hold in global memory, for `load`; gives its
  /// piece.
  WorkItem locate(Position at);
  /// Loads what was located, and says what comes next.
  SmallVector<Value> load(Value half, Value column, Value number, Position at,
                          const WorkItem &work);
  /// Lets a slot go.
  void release(Value half, Value number);
  /// Starts O = alpha O + P V of a slot, of the keys from `firstKey` on.
  Value multiplyValues(Value half, Value number, const ItemValues &item,
                       Value firstKey, Value sum);
  void storeOutput(Value piece, Value column, Value sum);

  TileEntry &entry;
  RowsAsMColumns columns;
  int64_t stages;
  mla_gpu::RoleBuilder b;
  Type f32;
  mla_gpu::FragmentTypes s, o; ///< scores; half of the output
  KVLoads loads;
  QueryLoads queries;
  ScoreEmitter scores;
  Pipelines pipes;
  Value qRopeTile, qLastTile; ///< null where all of Q is in registers
  std::optional<Outline> seenKeys;
  SmallVector<std::optional<int64_t>> seenConstants; ///< for results of it
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_ROWSASM_H
