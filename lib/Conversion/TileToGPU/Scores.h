//===- Scores.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From raw scores to what softmax takes: scale, user code and mask, on a
// fragment of rows x keys of any layout.
//
//   ScoreEmitter scores(entry, type);  once a role
//   scores.emitSetup(...);             in the role, before its loops
//   scores.beginPiece(...);            in the loop over pieces
//   scores.emitTile(...);              in the loop over tiles
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_SCORES_H
#define MLA_CONVERSION_TILETOGPU_SCORES_H

#include "../Work/Items.h"
#include "RoleBuilder.h"
#include "TileEntry.h"

namespace mlir::mla {

/// Scores in base 2 (log2 e is in them) are `scores * factor`. Masked ones are
/// -inf, and then `factor` is positive: the maximum may be taken before the
/// multiplication, or both fused.
struct TileScores {
  Value scores; ///< f32, of the raw scores' type
  Value factor; ///< f32 scalar; null: 1
};

class ScoreEmitter {
public:
  /// `type` is the raw scores': rows x keys of f32 with an `#mla_gpu.mma`.
  ScoreEmitter(const TileEntry &entry, RankedTensorType type);

  /// Emits what holds for all pieces.
  void emitSetup(mla_gpu::RoleBuilder &b);
  /// Emits what holds for all tiles of a piece: which need no mask. Positions
  /// of the rows, for score code, are found where they are used: registers are
  /// few.
  void beginPiece(mla_gpu::RoleBuilder &b, const ItemValues &item);
  /// Gives the piece's item, or emits that it is read anew.
  using ReadItem = llvm::function_ref<ItemValues()>;
  /// Emits the scores of tile `tile` (index; counted from the request's first
  /// key): the mask runs only where some row does not see some key, and asks
  /// for the item there.
  TileScores emitTile(mla_gpu::RoleBuilder &b, Value raw, Value tile,
                      ReadItem readItem);

private:
  /// Emits positions of the rows.
  void locateRows(mla_gpu::RoleBuilder &b, const ItemValues &item);
  /// Scalar code on one score: gives the new one.
  using Code = llvm::function_ref<Value(const ScorePoint &point, Value score)>;
  /// Runs code on all scores of the tile whose first key is `firstKey`.
  Value emitMap(mla_gpu::RoleBuilder &b, Value scores, Value firstKey,
                Code code);
  Value emitUserCode(mla_gpu::RoleBuilder &b, Value raw, Value firstKey);
  Value emitMask(mla_gpu::RoleBuilder &b, Value scores, Value firstKey);

  TileEntry entry;
  mla_gpu::FragmentTypes types;
  Value softmaxScale;   // null where there is user code
  bool readsMemory;     // the score code has loads
  Value log2e, scale;   // f32; scale: softmax scale * log2 e
  Value request, kvLen; // i32
  KeyRange range;
  ItemValues piece;           // for score code
  Value fullBegin, fullCount; // tiles without a mask
  Value query, head;          // i32, by row: position and head
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_SCORES_H
