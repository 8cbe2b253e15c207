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

/// Splits of a row block; 0: by worker.
static int64_t splitsOf(const KernelInfo &info, const Arguments &arguments) {
  auto splits = static_cast<int64_t>(arguments.scalar("num_splits", 0));
  return splits ? splits : info.defaultSplits;
}

static int64_t countOf(KernelInfo::Scope scope, int64_t items, int64_t splits,
                       int64_t workers) {
  switch (scope) {
  case KernelInfo::Scope::Worker:
    return workers;
  case KernelInfo::Scope::Slot:
    return splits > 0 ? items * splits : 2 * workers;
  case KernelInfo::Scope::Piece:
    return items * std::max<int64_t>(splits, 1) + workers;
  }
  return 0;
}

Workspace layOutWorkspace(const KernelInfo &info, const Arguments &arguments,
                          int64_t workers, size_t alignment, void *base,
                          const void *plan) {
  Workspace workspace;
  int64_t items = arguments.maxItems();
  int64_t splits = splitsOf(info, arguments);
  for (size_t i = 0; i < info.workspace.size(); ++i) {
    const KernelInfo::Buffer &buffer = info.workspace[i];
    Tensor &tensor = workspace.tensors[i];
    bool isApart = plan && buffer.ofPlan;
    size_t &used = isApart ? workspace.planBytes : workspace.bytes;
    void *start = isApart ? const_cast<void *>(plan) : base;
    tensor.data = static_cast<char *>(start) + used;
    tensor.rank = buffer.rank;
    tensor.shape = buffer.shape;
    tensor.shape[0] = countOf(buffer.scope, items, splits, workers);
    int64_t stride = 1;
    for (int dim = buffer.rank - 1; dim >= 0; --dim) {
      tensor.stride[dim] = stride;
      stride *= tensor.shape[dim];
    }
    used += llvm::alignTo(tensor.shape[0] * buffer.bytesEach, alignment);
  }
  return workspace;
}

size_t workspaceBound(const KernelInfo &info, WorkspacePart part, int64_t batch,
                      int64_t totalQueries, int64_t maxSplits, int64_t workers,
                      size_t alignment) {
  // Ragged requests have the most row blocks, see Arguments::maxItems.
  int64_t unit = info.blockM * info.rowBlocks;
  int64_t items = (totalQueries * info.group / unit + batch) * info.rowBlocks *
                  info.kvHeads;
  size_t bytes = 0;
  for (const KernelInfo::Buffer &buffer : info.workspace) {
    if (part != WorkspacePart::All &&
        buffer.ofPlan != (part == WorkspacePart::Plan))
      continue;
    int64_t count =
        std::max(countOf(buffer.scope, items, info.defaultSplits, workers),
                 countOf(buffer.scope, items, maxSplits, workers));
    bytes += llvm::alignTo(count * buffer.bytesEach, alignment);
  }
  return bytes;
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

int64_t LaunchValues::word(const KernelInfo::Param &param) const {
  switch (param.kind) {
  case KernelInfo::ParamKind::Pointer:
    return reinterpret_cast<int64_t>(tensor(param).data);
  case KernelInfo::ParamKind::Size:
    return tensor(param).shape[param.dim];
  case KernelInfo::ParamKind::Stride:
    return tensor(param).stride[param.dim];
  case KernelInfo::ParamKind::Scalar:
    return arguments.values[param.index].i64;
  case KernelInfo::ParamKind::Offset:
  case KernelInfo::ParamKind::TensorMap:
    return 0;
  }
  return 0;
}

} // namespace mla_jit
