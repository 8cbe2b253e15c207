//===- TileEntry.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the main entry of the tile level says, found once and read by every
// dataflow. A dataflow emits its kernel into the same function, before `work`;
// the pass then erases the tile ops but for the plan.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_TILEENTRY_H
#define MLA_CONVERSION_TILETOGPU_TILEENTRY_H

#include "../Work/DevicePlan.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>

namespace mlir::mla {

struct TileEntry {
  func::FuncOp func;
  TargetAttr target;
  ScheduleAttr schedule;

  /// The ops that mla-tile made, one of a kind. The two loops over tiles that
  /// mla-specialize-tiles makes differ in the mask only, so that one of each op
  /// is enough. Operands are arguments of `func` (or a constant: the scale).
  PlanOp plan;
  ForWorkOp work;
  LoadQOp loadQ;
  LoadKVOp loadKV;
  ScoreOp score;
  StoreOp store;
  StorePartialOp storePartial; ///< null where nothing is split
  /// Whether it is launched in clusters of two CTAs, which may merge their
  /// halves of a row block.
  bool pairs = false;

  int64_t rows, keys;        ///< of a tile: block_m, block_n
  int64_t headDim, headDimV; ///< columns of Q and K; of V, the first ones of K
  int64_t kvHeads, group;    ///< KV heads; query heads that share one
  Type type;                 ///< of q, k and P: bf16 or f16
  Type outType;              ///< of out: a float

  /// Widths of the parts of k (and of q): one, or latent and rope.
  SmallVector<int64_t, 2> partWidths;

  /// The CTA's pieces of work are [begin, end) of a list; each role asks for
  /// them itself. Set when the plan has been emitted, before the dataflow is.
  Value workList;
  std::function<std::pair<Value, Value>(OpBuilder &)> readRange;
};

/// Finds the ops of an entry, and gives its score code constants of its own.
/// Fails with an error that says what is not as mla-tile, mla-split-kv and
/// mla-specialize-tiles make it, or that no dataflow of a GPU can do.
FailureOr<TileEntry> analyzeTileEntry(func::FuncOp func, TargetAttr target);

/// The dataflows, by the schedule's names of them. Each emits storage,
/// pipelines and roles of an entry before its `mla.for_work`.
LogicalResult emitKeysAsM(TileEntry &entry);
LogicalResult emitRowsAsM(TileEntry &entry);

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_TILEENTRY_H
