//===- LaunchValues.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchValues.h"
#include "llvm/Support/MathExtras.h"

namespace mla_jit {

/// What is counted and measured ends there, so that sums of a few do not wrap:
/// no machine has as many bytes.
static constexpr int64_t kMost = int64_t(1) << 59;

static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kMost
                                                : std::min(product, kMost);
}

static int64_t countOf(KernelInfo::Scope scope, int64_t items, int64_t splits,
                       int64_t workers) {
  switch (scope) {
  case KernelInfo::Scope::Worker:
    return workers;
  case KernelInfo::Scope::Slot:
    return splits > 0 ? times(items, splits) : 2 * workers;
  case KernelInfo::Scope::Piece:
    return times(items, std::max<int64_t>(splits, 1)) + workers;
  }
  return 0;
}

static size_t bytesOf(const KernelInfo::Buffer &buffer, int64_t count,
                      size_t alignment) {
  return llvm::alignToPowerOf2(times(count, buffer.bytesEach), alignment);
}

Workspace layOutWorkspace(const KernelInfo &info, const Arguments &arguments,
                          int64_t workers, size_t alignment, void *base,
                          const void *plan) {
  Workspace workspace;
  int64_t items = arguments.maxItems();
  int64_t splits = arguments.givenSplits(); // of a row block; 0: by worker
  if (!splits)
    splits = info.defaultSplits;
  workspace.tensors.resize(info.workspace.size());
  for (size_t i = 0; i < info.workspace.size(); ++i) {
    const KernelInfo::Buffer &buffer = info.workspace[i];
    Tensor &tensor = workspace.tensors[i];
    bool isApart = plan && buffer.ofPlan;
    size_t &used = isApart ? workspace.planBytes : workspace.bytes;
    void *start = isApart ? const_cast<void *>(plan) : base;
    tensor.data = start ? static_cast<char *>(start) + used : nullptr;
    tensor.rank = buffer.rank;
    tensor.shape = buffer.shape;
    tensor.shape[0] = countOf(buffer.scope, items, splits, workers);
    int64_t stride = 1;
    for (int dim = buffer.rank - 1; dim >= 0; --dim) {
      tensor.stride[dim] = stride;
      stride *= tensor.shape[dim];
    }
    used += bytesOf(buffer, tensor.shape[0], alignment);
  }
  return workspace;
}

size_t workspaceBound(const KernelInfo &info, WorkspacePart part, int64_t batch,
                      int64_t totalQueries, int64_t maxSplits, int64_t workers,
                      size_t alignment) {
  // Ragged requests have the most row blocks, see Arguments::maxItems.
  int64_t unit = info.blockM * info.rowBlocks;
  int64_t items = times(times(totalQueries, info.group) / unit + batch,
                        info.rowBlocks * info.kvHeads);
  size_t bytes = 0;
  for (const KernelInfo::Buffer &buffer : info.workspace) {
    if (part != WorkspacePart::All &&
        buffer.ofPlan != (part == WorkspacePart::Plan))
      continue;
    int64_t count =
        std::max(countOf(buffer.scope, items, info.defaultSplits, workers),
                 countOf(buffer.scope, items, maxSplits, workers));
    bytes += bytesOf(buffer, count, alignment);
  }
  return bytes < static_cast<size_t>(kMost) ? bytes : kBeyondMemory;
}

const Tensor &LaunchValues::tensor(const KernelInfo::Param &param) const {
  return param.source == KernelInfo::Source::Workspace
             ? workspace.tensors[param.index]
             : arguments.values[param.index].tensor;
}

const std::string &LaunchValues::name(const KernelInfo::Param &param) const {
  return param.source == KernelInfo::Source::Workspace
             ? info.workspace[param.index].name
             : info.arguments[param.index].name;
}

/// From the start of a value's tensor.
static size_t offsetInTensor(const KernelInfo::Param &param) {
  switch (param.kind) {
  case KernelInfo::ParamKind::Size:
    return offsetof(Tensor, shape) + param.dim * sizeof(int64_t);
  case KernelInfo::ParamKind::Stride:
    return offsetof(Tensor, stride) + param.dim * sizeof(int64_t);
  default:
    return offsetof(Tensor, data);
  }
}

ParameterPlace LaunchValues::placeOf(const KernelInfo::Param &param) {
  using Place = ParameterPlace;
  if (param.source == KernelInfo::Source::NumWorkers)
    return {Place::NumWorkers, 0};
  if (param.source == KernelInfo::Source::Worker ||
      param.kind == KernelInfo::ParamKind::Offset ||
      param.kind == KernelInfo::ParamKind::TensorMap)
    return {Place::Zero, 0};
  size_t offset = offsetInTensor(param);
  if (param.source == KernelInfo::Source::Workspace)
    return {Place::Workspace,
            static_cast<uint32_t>(param.index * sizeof(Tensor) + offset)};
  using Value = Arguments::Value;
  if (param.kind == KernelInfo::ParamKind::Scalar)
    offset = offsetof(Value, i64);
  else
    offset += offsetof(Value, tensor);
  return {Place::Argument,
          static_cast<uint32_t>(param.index * sizeof(Value) + offset)};
}

LaunchValues::Words::Words(const LaunchValues &values,
                           const int64_t &numWorkers) {
  static constexpr int64_t kZero = 0;
  auto bytesOf = [](const auto *start) {
    return reinterpret_cast<const char *>(start);
  };
  bases[ParameterPlace::Argument] = bytesOf(values.arguments.values.data());
  bases[ParameterPlace::Workspace] = bytesOf(values.workspace.tensors.data());
  bases[ParameterPlace::NumWorkers] = bytesOf(&numWorkers);
  bases[ParameterPlace::Zero] = bytesOf(&kZero);
}

} // namespace mla_jit
