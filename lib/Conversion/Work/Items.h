//===- Items.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The arithmetic of `!mla.item`s: lengths of requests, and what a block of rows
// sees of the keys. All targets and all of the scheduler share it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_ITEMS_H
#define MLA_CONVERSION_WORK_ITEMS_H

#include "IndexMath.h"
#include "mla/Dialect/MLA/IR/MLA.h"

namespace mlir::mla {

/// What an `!mla.item` stands for; values of type index.
struct ItemValues {
  Value request, kvHead;
  Value qBase;     ///< ragged: index of the request's first query; uniform: 0
  Value qLen;      ///< queries of the request
  Value kvLen;     ///< keys of the request
  Value firstRow;  ///< first row of the block, of qLen * group
  Value numRows;   ///< rows of the block that exist, 1..block_m
  KeyRange keys;   ///< what the block's rows see
  Value firstTile; ///< of the hull
  Value numTiles;  ///< of the hull; 0 where no row sees a key
  Value slot;      ///< for_work: partial slot of this piece
  Value firstSlot, nextSlot,
      slotStride; ///< for_split: the pieces' slots:
                  ///< firstSlot, then nextSlot + i * slotStride
};

/// Emits what items are computed from, for one plan.
class ItemMath : public IndexMath {
public:
  ItemMath(OpBuilder &builder, Location loc, PlanOp plan);

  /// Number of requests.
  Value batch();
  /// A request by number: its lengths, from memory.
  ItemValues request(Value index);
  /// First query of a request among all, of ragged queries.
  Value queryBase(Value request);
  /// Rows of a request and KV head.
  Value rows(const ItemValues &item) { return mul(item.qLen, group); }
  /// Fills in, for the block of at most `blockRows` rows that begins at
  /// item.firstRow, its rows and the hull of its keys.
  void fillRows(ItemValues &item, Value blockRows);

  PlanOp plan;
  Value zero, one, blockM, blockN, group, kvHeads;
};

/// The tiles of [first, end) that all rows of the item see entirely, as
/// [begin, end): what needs no mask.
std::pair<Value, Value> fullTiles(ItemMath &math, const ItemValues &item,
                                  Value first, Value end);

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_ITEMS_H
