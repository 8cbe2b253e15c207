//===- KeysAsM.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Few rows: S^T = K Q^T and O^T = V^T P^T, so that rows need no padding to 64.
// One warpgroup multiplies; keys come through a ring.
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/Dataflow.h"
#include "mla/Dataflow/GPUProblem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mla;

/// Barriers, and what warps exchange.
static constexpr int64_t kReservedBytes = 4096;
static constexpr int64_t kMostStages = 4;
/// Of the one warp that issues boxes.
static constexpr double kCyclesPerBox = 119;

/// Stages of keys that fit beside Q and P.
static int64_t stagesThatFit(const GPUProblem &problem, TargetAttr target,
                             int64_t rows) {
  int64_t queries = rows * problem.headDim * 2, weights = rows * kTileKeys * 2;
  int64_t left = target.getSmemBytes() - kReservedBytes - queries - weights;
  return std::min(left / problem.getTileBytes(), kMostStages);
}

/// Whether the slot of queries has room for half of O, and what a row has, of
/// the other CTA of a cluster: f32 for 2 headDim bytes a row.
static bool canPair(int64_t headDim, int64_t headDimV) {
  return headDimV % 128 == 0 && 4 * (headDimV / 2 + 32) <= 2 * headDim;
}

namespace {
class KeysAsM : public Dataflow {
public:
  StringRef getName() const override { return "keys_as_m"; }

  bool supportsTarget(TargetAttr target) const override {
    return target.isCuda();
  }

  SmallVector<ScheduleAttr> enumerate(DecodeOp op, TargetAttr target,
                                      const LaunchHints &hints) const override {
    GPUProblem problem(op, hints);
    SmallVector<ScheduleAttr> schedules;
    // Many small boxes cost more than copies row by row, which are always
    // possible.
    SmallVector<CopyKind, 2> copies = {problem.copy};
    if (problem.getPageBoxes())
      copies.push_back(CopyKind::Gather);
    for (int64_t rows : {8, 16, 32})
      for (CopyKind copy : copies)
        schedules.push_back(ScheduleAttr::get(
            op.getContext(), getName(), rows, kTileKeys, SplitPolicy::Balanced,
            /*split_tiles=*/1,
            std::max<int64_t>(2, stagesThatFit(problem, target, rows)),
            /*row_blocks=*/1, copy, PlanPolicy::Inline,
            /*cluster=*/canPair(problem.headDim, problem.headDimV) ? 2 : 1));
    return schedules;
  }

  std::optional<std::string> check(TargetAttr,
                                   ScheduleAttr schedule) const override {
    int64_t rows = schedule.getBlockM();
    if (rows != 8 && rows != 16 && rows != 32)
      return llvm::formatv("block_m = 8, 16 or 32 is required with keys as M, "
                           "but got {0}",
                           rows)
          .str();
    if (schedule.getCluster() > 1 && schedule.getRowBlocks() != 1)
      return llvm::formatv("row_blocks = 1 is required with clusters, but got "
                           "{0}",
                           schedule.getRowBlocks())
          .str();
    return checkGPUSchedule(schedule);
  }

  std::optional<std::string>
  checkProblem(DecodeOp op, TargetAttr target,
               ScheduleAttr schedule) const override {
    if (std::optional<std::string> reason = check(target, schedule))
      return reason;
    if (std::optional<std::string> reason = checkGPUProblem(op, schedule))
      return reason;
    GPUProblem problem(op, LaunchHints());
    if (schedule.getCluster() > 1 &&
        !canPair(problem.headDim, problem.headDimV))
      return llvm::formatv("cluster = 1 is required where the queries' place "
                           "does not hold half of the rows' output, but got "
                           "{0}",
                           schedule.getCluster())
          .str();
    int64_t most = stagesThatFit(problem, target, schedule.getBlockM());
    if (schedule.getStages() > most)
      return llvm::formatv("{0} stages fit the shared memory at the most, but "
                           "got {1}",
                           most, schedule.getStages())
          .str();
    return std::nullopt;
  }

  double cost(DecodeOp op, TargetAttr, ScheduleAttr schedule,
              const LaunchHints &hints) const override {
    GPUProblem problem(op, hints);
    int64_t blocks = llvm::divideCeil(problem.rows, schedule.getBlockM());
    // An instruction of N rows takes 32 + N / 2 cycles, softmax included. Each
    // row block reads the keys for itself.
    double compute =
        problem.getKeyInstructions() * (32 + schedule.getBlockM() / 2.0);
    double load = problem.getMemoryCycles(schedule.getCopy());
    if (schedule.getCopy() == CopyKind::TMA)
      load = std::max(load, problem.getPageBoxes() * kCyclesPerBox);
    return problem.kvHeads * blocks * std::max(compute, load) / kTileKeys;
  }
};
} // namespace

std::unique_ptr<Dataflow> mla::createKeysAsMDataflow() {
  return std::make_unique<KeysAsM>();
}
