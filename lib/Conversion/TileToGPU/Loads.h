//===- Loads.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Copies of queries and keys to shared memory, for every layout of them in
// global memory: paged by a table or CSR, dense; one tensor or latent and rope.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_LOADS_H
#define MLA_CONVERSION_TILETOGPU_LOADS_H

#include "Scores.h"

namespace mlir::mla {

/// The widest swizzle (128, 64 or 32 bytes) that all parts of Q and K are whole
/// multiples of, so that each begins at one.
int64_t getSwizzle(const TileEntry &entry);

/// Emits the copies of keys that one role does. Under `copy = tma` boxes of
/// `boxColumns` columns (0: a whole part) through a tensor map for each part of
/// k, and of one column tile where a tile of keys is of several pages, a box of
/// each; under `gather` row by row, zeros for keys that no row sees.
class KVLoads {
public:
  /// Appends the arguments that it needs to the function: once, outside of
  /// roles.
  KVLoads(TileEntry &entry, int64_t boxColumns);

  /// How slots are written: what their pipeline has to say.
  mla_gpu::Writer getWriter() const;

  /// Whether clearUnseen clears rows in front of the hull, too.
  bool clearsHead(const ItemValues &item) const;

  /// Emits what holds for all tiles of a piece. `hasKeys` (i1) is given where
  /// pieces without keys are loaded too: as zeros.
  void beginPiece(mla_gpu::RoleBuilder &b, const ItemValues &item,
                  Value hasKeys = {});
  /// Emits where tile `tile` (index; counted from the request's first key) is:
  /// loads its page's number. Best before the slot is acquired.
  void locate(mla_gpu::RoleBuilder &b, Value tile);
  /// Emits the copy of columns [firstColumn, + width of `dst`) of the located
  /// tile. Under TMA a range within a part is whole boxes. A first column that
  /// is a value lies, with the width, in the first part, as all of V does.
  void load(mla_gpu::RoleBuilder &b, Value dst, OpFoldResult firstColumn);
  /// Emits zeros for rows of `values`, columns of the tile of keys that begins
  /// at `firstKey`, that no row of the piece sees, as they may be NaN. Copies
  /// row by row have left zeros there.
  void clearUnseen(mla_gpu::RoleBuilder &b, const ItemValues &item,
                   Value values, Value firstKey) const;

private:
  void loadPart(mla_gpu::RoleBuilder &b, unsigned part, Value dst,
                OpFoldResult firstColumn);
  /// Where pages of the piece's request are in k, or, where k is dense, the
  /// request itself; -1, and nothing is read, if the piece has no keys.
  SmallVector<Value> findOuter(mla_gpu::RoleBuilder &b, ValueRange pages);
  /// The nearest page that has a key which some row of the piece sees.
  Value clampToSeen(mla_gpu::RoleBuilder &b, Value page, Value pageSize) const;

  TileEntry entry;
  bool tma, paged;
  int64_t boxRows; // TMA
  SmallVector<Value, 2> parts, maps;
  ItemValues item;                    // of the piece
  Value hasKeys;                      // i1: it has any; null if known
  Value tableRow;                     // of the request, index
  Value firstPage;                    // CSR: of the request
  Value firstKey;                     // of the located tile
  SmallVector<Value, 4> outer, inner; // TMA, by box: page and row in it
};

/// Columns [begin, begin + width) of a tensor.
Value columnsOf(mla_gpu::RoleBuilder &b, Value tensor, OpFoldResult begin,
                int64_t width);

/// Emits the copy of the query rows of a piece to `dst`, rows x columns, row by
/// row (a slot with writer cp_async): zeros past the last row. `dst` holds
/// columns from `firstColumn` of all parts of q on, see KVLoads::load.
void emitQueryLoad(mla_gpu::RoleBuilder &b, const TileEntry &entry,
                   const ItemValues &item, Value dst, OpFoldResult firstColumn);

/// The same in the way that keys are copied: under `copy = tma` boxes of heads
/// of one query, as many as a row block is whole multiples of, through a tensor
/// map for each part of q. What rows past the last one get is no row's of the
/// piece.
class QueryLoads {
public:
  /// Appends the arguments that it needs to the function.
  explicit QueryLoads(TileEntry &entry);
  void load(mla_gpu::RoleBuilder &b, const ItemValues &item, Value dst,
            OpFoldResult firstColumn);

private:
  TileEntry entry;
  int64_t boxRows;
  SmallVector<Value, 2> maps; ///< none under `gather`
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_LOADS_H
