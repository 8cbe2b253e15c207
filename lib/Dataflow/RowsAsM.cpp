//===- RowsAsM.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Many rows: 64 of them are M. One warpgroup does Q K^T and softmax with Q in
// registers, two do P V for half of the columns each.
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/Dataflow.h"
#include "mla/Dataflow/GPUProblem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mla;

static constexpr int64_t kRows = 64;
static constexpr int64_t kMostStages = 3;
/// Of the two warps that issue boxes.
static constexpr double kCyclesPerBox = 80;
/// Time that memory takes more than with keys as M.
static constexpr double kMemoryFactor = 1.03;
/// Barriers.
static constexpr int64_t kReservedBytes = 256;
/// Columns of Q that fit the registers; the others lie in shared memory.
static constexpr int64_t kRegisterColumns = 496;

/// Stages of keys that fit beside what else lies in shared memory.
static int64_t stagesThatFit(const GPUProblem &problem, TargetAttr target) {
  int64_t rope = problem.headDim - problem.headDimV;
  // The rope columns of Q go there first, as a whole.
  int64_t columns =
      problem.headDim <= kRegisterColumns
          ? 0
          : rope + std::max<int64_t>(0, problem.headDimV - kRegisterColumns);
  int64_t left = target.getSmemBytes() - kReservedBytes - kRows * columns * 2;
  // P takes the place of rope columns, or has two slots of its own; with it are
  // what rows of O are scaled by.
  int64_t scales = kRows * 4, stage = problem.getTileBytes();
  if (rope >= kTileKeys)
    stage += scales;
  else
    left -= 2 * (kRows * kTileKeys * 2 + scales);
  return std::min(left / stage, kMostStages);
}

/// CTAs that do the row blocks of a request side by side and share its keys.
static int64_t chooseRowBlocks(int64_t rows) {
  int64_t blocks = llvm::divideCeil(rows, kRows);
  if (blocks <= 3)
    return blocks;
  return blocks % 2 == 0 ? 2 : 1;
}

namespace {
class RowsAsM : public Dataflow {
public:
  StringRef getName() const override { return "rows_as_m"; }

  bool supportsTarget(TargetAttr target) const override {
    return target.isCuda();
  }

  SmallVector<ScheduleAttr> enumerate(DecodeOp op, TargetAttr target,
                                      const LaunchHints &hints) const override {
    GPUProblem problem(op, hints);
    if (whyNotQueryTMA(op, hints.alignedStrides))
      problem.copy = CopyKind::Gather;
    return {ScheduleAttr::get(
        op.getContext(), getName(), kRows, kTileKeys, SplitPolicy::Balanced,
        /*split_tiles=*/1, std::max<int64_t>(2, stagesThatFit(problem, target)),
        chooseRowBlocks(problem.rows), problem.copy)};
  }

  std::optional<std::string> check(TargetAttr,
                                   ScheduleAttr schedule) const override {
    if (schedule.getBlockM() != kRows)
      return llvm::formatv("block_m = {0} is required with rows as M, but got "
                           "{1}",
                           kRows, schedule.getBlockM())
          .str();
    if (schedule.getCluster() != 1)
      return llvm::formatv("cluster = 1 is required with rows as M, but got "
                           "{0}",
                           schedule.getCluster())
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
    // Q goes the way of keys.
    if (schedule.getCopy() == CopyKind::TMA)
      if (std::optional<std::string> reason =
              whyNotQueryTMA(op, /*promised=*/true))
        return "copy = tma cannot be done: " + *reason;
    // Two warpgroups halve V, each in whole swizzles.
    if (op.getHeadDimV() % 128)
      return llvm::formatv("head_dim_v that is a multiple of 128 is required "
                           "with rows as M, but got {0}",
                           op.getHeadDimV())
          .str();
    int64_t latent = op.getHeadDim() - op.getRopeDim();
    if (op.getRopeDim() && latent != int64_t(op.getHeadDimV()))
      return llvm::formatv("a latent part as wide as V, {0}, is required with "
                           "rows as M, but got {1}",
                           op.getHeadDimV(), latent)
          .str();
    int64_t most = stagesThatFit(GPUProblem(op, LaunchHints()), target);
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
    int64_t blocks = llvm::divideCeil(problem.rows, kRows);
    // 32 cycles a step of 64 x 64 x 16 on the tensor cores, and 5 % more. Row
    // blocks side by side read the keys from memory once.
    double compute = problem.getKeyInstructions() * 32 * 1.05;
    int64_t sharing = std::min(blocks, schedule.getRowBlocks());
    double load = problem.getMemoryCycles(schedule.getCopy()) * kMemoryFactor;
    double cycles = std::max(compute, load / sharing);
    if (schedule.getCopy() == CopyKind::TMA)
      cycles = std::max(cycles, problem.getPageBoxes() * kCyclesPerBox);
    return problem.kvHeads * blocks * cycles / kTileKeys;
  }
};
} // namespace

std::unique_ptr<Dataflow> mla::createRowsAsMDataflow() {
  return std::make_unique<RowsAsM>();
}
