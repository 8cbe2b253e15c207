//===- GPUProblem.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/GPUProblem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::mla;

/// Rows that a swizzle of 128 bytes repeats after: what boxes are multiples of.
static constexpr int64_t kBoxHeads = 8;
/// Fewest keys of a box: lower ones are too many to a tile.
static constexpr int64_t kBoxKeys = 16;
/// Columns of a box of fewer keys than a tile's: 128 bytes.
static constexpr int64_t kBoxColumns = 64;

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether strides other than the last are multiples of 16 bytes. Free ones are
/// if they are `promised` to be.
static bool hasAlignedStrides(MemRefType type, bool promised) {
  int64_t elements = 16 / (type.getElementTypeBitWidth() / 8);
  if (type.getLayout().isIdentity()) // all are multiples of the columns
    return type.getShape().back() % elements == 0;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return false;
  return llvm::all_of(ArrayRef(strides).drop_back(), [&](int64_t stride) {
    return ShapedType::isDynamic(stride) ? promised : stride % elements == 0;
  });
}

/// Why a part of k cannot be copied by TMA, or nothing: a tile has to be few
/// boxes that lie in one page each, and strides have to be multiples of 16
/// bytes.
/// `paged`: the first dimension is pages, not requests.
static std::optional<std::string> whyNotTMA(MemRefType part, bool paged,
                                            bool promised) {
  if (paged && (part.isDynamicDim(1) || part.getDimSize(1) % kBoxKeys))
    return llvm::formatv("pages of a static multiple of {0} keys are required, "
                         "but k is {1}",
                         kBoxKeys, print(part))
        .str();
  if (!hasAlignedStrides(part, promised))
    return "strides of multiples of 16 bytes are required, but k is " +
           print(part);
  return std::nullopt;
}

std::optional<std::string> mla::checkWidths(ArrayRef<int64_t> parts,
                                            int64_t headDimV, Type type) {
  if (!type.isBF16() && !type.isF16())
    return "q and k of bf16 or f16 are required on a GPU, but got " +
           print(type);
  int64_t headDim = llvm::sum_of(parts);
  if (llvm::any_of(parts, [](int64_t width) { return width % 16; }) ||
      headDim > 576)
    return llvm::formatv("parts of q and k of multiples of 16, up to 576 "
                         "together, are required on a GPU, but got {0:$[ + ]}",
                         llvm::make_range(parts.begin(), parts.end()))
        .str();
  if (headDimV % 64 || headDimV > 512)
    return llvm::formatv("head_dim_v that is a multiple of 64 up to 512 is "
                         "required on a GPU, but got {0}",
                         headDimV)
        .str();
  return std::nullopt;
}

/// Why some part of k cannot be copied by TMA, or nothing.
static std::optional<std::string> whyNotTMA(DecodeOp op, bool promised) {
  for (Value part : {op.getK(), op.getKRope()})
    if (part)
      if (std::optional<std::string> reason = whyNotTMA(
              cast<MemRefType>(part.getType()), op.isPaged(), promised))
        return reason;
  return std::nullopt;
}

std::optional<std::string> mla::whyNotQueryTMA(DecodeOp op, bool promised) {
  int64_t group = op.getNumHeads() / op.getNumKVHeads();
  if (group % kBoxHeads)
    return llvm::formatv("multiples of {0} query heads to a KV head are "
                         "required, but got {1}",
                         kBoxHeads, group)
        .str();
  for (Value part : {op.getQ(), op.getQRope()}) {
    if (!part)
      continue;
    auto type = cast<MemRefType>(part.getType());
    if (!hasAlignedStrides(type, promised))
      return "strides of multiples of 16 bytes are required, but q is " +
             print(type);
  }
  return std::nullopt;
}

GPUProblem::GPUProblem(DecodeOp op, const LaunchHints &hints)
    : rows(op.getNumHeads() / op.getNumKVHeads() * hints.queries),
      kvHeads(op.getNumKVHeads()), headDim(op.getHeadDim()),
      headDimV(op.getHeadDimV()),
      copy(whyNotTMA(op, hints.alignedStrides) ? CopyKind::Gather
                                               : CopyKind::TMA),
      boxKeys(kTileKeys) {
  auto k = cast<MemRefType>(op.getK().getType());
  if (op.isPaged() && copy == CopyKind::TMA)
    boxKeys = std::gcd(kTileKeys, k.getDimSize(1));
}

int64_t GPUProblem::getPageBoxes() const {
  int64_t columnTiles = llvm::divideCeil(headDim, kBoxColumns);
  return boxKeys < kTileKeys ? kTileKeys / boxKeys * columnTiles : 0;
}

std::optional<std::string> mla::checkGPUProblem(DecodeOp problem,
                                                ScheduleAttr schedule) {
  Type q = cast<MemRefType>(problem.getQ().getType()).getElementType();
  Type k = cast<MemRefType>(problem.getK().getType()).getElementType();
  SmallVector<int64_t, 2> parts = {problem.getHeadDim() - problem.getRopeDim()};
  if (problem.getRopeDim())
    parts.push_back(problem.getRopeDim());
  if (std::optional<std::string> reason =
          checkWidths(parts, problem.getHeadDimV(), q))
    return reason;
  if (q != k)
    return "q and k of one element type are required on a GPU, but got " +
           print(q) + " and " + print(k);
  if (schedule.getCopy() == CopyKind::TMA)
    if (std::optional<std::string> reason =
            whyNotTMA(problem, /*promised=*/true))
      return "copy = tma cannot be done: " + *reason;
  return std::nullopt;
}

std::optional<std::string> mla::checkGPUSchedule(ScheduleAttr schedule) {
  if (schedule.getBlockN() != kTileKeys)
    return llvm::formatv("block_n = {0} is required, but got {1}", kTileKeys,
                         schedule.getBlockN())
        .str();
  if (schedule.getStages() < 2 || schedule.getStages() > 4)
    return llvm::formatv("2 to 4 stages are required, but got {0}",
                         schedule.getStages())
        .str();
  return std::nullopt;
}
