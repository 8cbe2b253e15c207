//===- GPUProblem.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the dataflows of a GPU ask of a problem, and the figures that their cost
// models share (docs/dataflows.md).
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DATAFLOW_GPUPROBLEM_H
#define MLA_DATAFLOW_GPUPROBLEM_H

#include "mla/Dataflow/Dataflow.h"
#include <optional>
#include <string>

namespace mlir::mla {

/// Keys a tile: M of one MMA where keys are M.
inline constexpr int64_t kTileKeys = 64;

/// Why no dataflow of a GPU does a problem of these widths (of the parts of q
/// and k, and of V) and this element type of q and k, or nothing.
std::optional<std::string> checkWidths(ArrayRef<int64_t> parts,
                                       int64_t headDimV, Type type);

struct GPUProblem {
  int64_t rows; ///< packed rows of a request that share a key
  int64_t kvHeads, headDim, headDimV;
  CopyKind copy;   ///< TMA if the layout of k is known to allow it
  int64_t boxKeys; ///< of a box under TMA: those of a tile that a page has

  GPUProblem(DecodeOp op, const LaunchHints &hints);

  /// Shared memory of a tile of keys.
  int64_t getTileBytes() const { return kTileKeys * headDim * 2; }
  /// MMA instructions with keys as M for a tile: 64 x 16 steps of Q K^T, and
  /// of P V.
  int64_t getKeyInstructions() const { return headDim / 16 + headDimV / 16; }
  /// Cycles of one SM for its share of memory bandwidth to bring a tile.
  double getMemoryCycles(CopyKind copy) const {
    return getTileBytes() / (copy == CopyKind::TMA ? 19.5 : 19.1);
  }
  /// Boxes that TMA takes for a tile of several pages; else 0, as boxes of a
  /// whole tile are few and large.
  int64_t getPageBoxes() const;
};

/// Checks of both dataflows: element types and widths of a problem, and whether
/// its k can be copied as the schedule says. A schedule with `copy = tma`
/// promises that free strides are multiples of 16 bytes.
std::optional<std::string> checkGPUProblem(DecodeOp problem,
                                           ScheduleAttr schedule);

/// Why the parts of q cannot be copied by TMA, or nothing: a box is heads of
/// one query that share a KV head, and strides have to be multiples of 16
/// bytes. `promised`: free ones are.
std::optional<std::string> whyNotQueryTMA(DecodeOp op, bool promised);

/// Checks of both dataflows: keys a tile, stages and row blocks.
std::optional<std::string> checkGPUSchedule(ScheduleAttr schedule);

} // namespace mlir::mla

#endif // MLA_DATAFLOW_GPUPROBLEM_H
