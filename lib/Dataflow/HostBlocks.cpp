//===- HostBlocks.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The cost model of the host dataflow (docs/dataflows.md derives it): cycles a
// key, counted from the instructions of the register blocks and the traffic
// between caches.
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/Dataflow.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mla;

namespace {

/// What the formulas need of a problem.
struct Shape {
  int64_t rows; // that share a key, with one query
  int64_t kvHeads, headDim, headDimV, elementBytes;
  double widen; // instructions to widen one vector of keys to f32

  explicit Shape(DecodeOp op)
      : rows(op.getNumHeads() / op.getNumKVHeads()),
        kvHeads(op.getNumKVHeads()), headDim(op.getHeadDim()),
        headDimV(op.getHeadDimV()) {
    Type type = cast<MemRefType>(op.getK().getType()).getElementType();
    elementBytes = type.getIntOrFloatBitWidth() / 8;
    widen = type.isBF16() ? 2 : type.isF16() ? 1 : 0;
  }
};

/// Vector registers that a Q K^T block keeps live: accumulators, keys, one row.
int64_t qkRegisters(ScheduleAttr s) {
  return s.getQkRows() * s.getQkKeys() + s.getQkKeys() + 1;
}

/// The same for P V: accumulators, columns of V, one broadcast weight.
int64_t pvRegisters(ScheduleAttr s) {
  return s.getPvRows() * s.getPvVectors() + s.getPvVectors() + 1;
}

/// Cycles of one step of a block with `fmas` independent accumulators: two
/// vector units, two load ports (of which about 1.75 are had), a latency of 4
/// on each accumulator.
double stepCycles(double fmas, double otherVector, double loads) {
  return std::max({(fmas + otherVector) / 2, loads / 1.75, 4.0});
}

class HostBlocks : public Dataflow {
public:
  StringRef getName() const override { return "host_blocks"; }

  bool supportsTarget(TargetAttr target) const override {
    return target.isHost();
  }

  SmallVector<ScheduleAttr> enumerate(DecodeOp problem, TargetAttr target,
                                      const LaunchHints &) const override {
    static constexpr std::pair<int64_t, int64_t> kQKBlocks[] = {
        {1, 4}, {4, 2}, {2, 4}, {4, 4}, {8, 1}, {8, 2}, {16, 1}};
    static constexpr std::pair<int64_t, int64_t> kPVBlocks[] = {
        {1, 4}, {4, 2}, {2, 4}, {4, 3}, {4, 4}, {8, 1}, {8, 2}, {16, 1}};
    Shape shape(problem);
    SmallVector<ScheduleAttr> schedules;
    for (auto [qkRows, qkKeys] : kQKBlocks)
      for (auto [pvRows, pvVectors] : kPVBlocks)
        for (auto [rows, kv] :
             {std::pair<int64_t, KVAccess>{16, KVAccess::Direct},
              {16, KVAccess::Staged},
              {32, KVAccess::Staged},
              {64, KVAccess::Staged},
              {128, KVAccess::Staged}}) {
          // One tile height serves both blocks.
          int64_t unit = std::lcm(qkRows, pvRows);
          // A power of two, or whole vectors of rows.
          int64_t height =
              std::min<int64_t>(rows, llvm::PowerOf2Ceil(shape.rows));
          int64_t blockM = llvm::alignTo(height, unit);
          auto schedule = ScheduleAttr::get(
              problem.getContext(),
              StringAttr::get(problem.getContext(), getName()), blockM, 64,
              SplitPolicy::Balanced,
              /*split_tiles=*/16, qkRows, qkKeys, pvRows, pvVectors, kv);
          if (!check(target, schedule) &&
              !llvm::is_contained(schedules, schedule))
            schedules.push_back(schedule);
        }
    return schedules;
  }

  std::optional<std::string> check(TargetAttr target,
                                   ScheduleAttr schedule) const override {
    int64_t registers = target.getVectorRegisters();
    for (auto [name, used] : {std::pair{"qk", qkRegisters(schedule)},
                              std::pair{"pv", pvRegisters(schedule)}})
      if (used > registers)
        return llvm::formatv("register block '{0}' needs {1} vector registers, "
                             "but the target has {2}",
                             name, used, registers)
            .str();
    if (schedule.getBlockM() > 1024 || schedule.getBlockN() > 1024)
      return llvm::formatv(
                 "a tile of {0} x {1} is over the limit of 1024 x 1024",
                 schedule.getBlockM(), schedule.getBlockN())
          .str();
    if (int64_t rows = schedule.getQkRows();
        !llvm::isPowerOf2_64(rows) || rows > target.getLanes())
      return llvm::formatv("register block 'qk' of {0} rows is not a power of "
                           "two of at most the "
                           "{1} f32 lanes of a vector",
                           rows, target.getLanes())
          .str();
    // Row state is vectors of rows.
    int64_t height = schedule.getBlockM();
    if (height < target.getLanes() ? !llvm::isPowerOf2_64(height)
                                   : height % target.getLanes() != 0)
      return llvm::formatv("block_m = {0} is neither a power of two nor a "
                           "multiple of the {1} f32 "
                           "lanes of a vector",
                           height, target.getLanes())
          .str();
    return std::nullopt;
  }

  double cost(DecodeOp problem, TargetAttr target, ScheduleAttr schedule,
              const LaunchHints &) const override {
    Shape shape(problem);
    double lanes = target.getLanes();
    bool staged = schedule.getKv() == KVAccess::Staged;
    double widen = staged ? 0 : shape.widen;
    double keyBytes = shape.headDim * shape.elementBytes;
    // L2 delivers about half a vector a cycle, memory 8 bytes.
    double l2BytesPerCycle = target.getVectorBits() / 16.0;
    constexpr double kMemoryBytesPerCycle = 8;
    // Starting and leaving an inner loop.
    constexpr double kLoopCycles = 20;
    double cycles = 0;
    for (int64_t first = 0; first < shape.rows; first += schedule.getBlockM()) {
      int64_t rows = std::min(schedule.getBlockM(), shape.rows - first);
      double qkGroups = llvm::divideCeil(rows, schedule.getQkRows());
      double pvGroups = llvm::divideCeil(rows, schedule.getPvRows());

      double m = schedule.getQkRows(), n = schedule.getQkKeys();
      double steps = std::ceil(shape.headDim / lanes);
      // The sum across lanes shuffles twice an accumulator, on one port.
      double qkBlock =
          steps * stepCycles(m * n, n * widen, m + n) + m * n * 2 + kLoopCycles;
      // Threads of one core share L1: a group of rows beyond half of it comes
      // from L2, in part.
      if (m * shape.headDim * 4 > target.getL1Bytes() / 2.0)
        qkBlock += 0.25 * m * shape.headDim * 4 / l2BytesPerCycle;
      cycles += qkGroups * qkBlock / n;

      m = schedule.getPvRows();
      double c = schedule.getPvVectors();
      double columnBlocks = std::ceil(shape.headDimV / (lanes * c));
      // O is read, rescaled and written once a tile.
      double state = (1.5 * m * c + kLoopCycles) / schedule.getBlockN();
      cycles += pvGroups * columnBlocks *
                (stepCycles(m * c, c * widen, m + c) + state);
      // The O of a tall tile lives in L2.
      if (rows * shape.headDimV * 4 > target.getL1Bytes())
        cycles += 2.0 * rows * shape.headDimV * 4 / schedule.getBlockN() /
                  l2BytesPerCycle;
      // The softmax: about 24 instructions a vector of scores.
      cycles += 12.0 * std::ceil(rows / lanes);

      // From memory once a row block; a staged copy widens and stores besides.
      cycles += keyBytes / kMemoryBytesPerCycle;
      if (staged)
        cycles += steps * (shape.widen + 2) / 2;
    }
    return cycles * shape.kvHeads;
  }
};

} // namespace

std::unique_ptr<Dataflow> mla::createHostBlocksDataflow() {
  return std::make_unique<HostBlocks>();
}
