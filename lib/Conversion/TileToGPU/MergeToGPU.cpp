//===- MergeToGPU.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Work/MergeEntry.h"
#include "Combine.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

using namespace mlir;
using namespace mlir::mla;

/// So that an SM has 16 rows under way.
static constexpr int64_t kCtasPerWorker = 2, kWarps = 8;

LogicalResult mla::convertMergeToGPU(ModuleOp module) {
  FailureOr<std::optional<MergeEntry>> entry = makeMergeEntry(module);
  if (failed(entry))
    return failure();
  if (!*entry)
    return success();
  MergeOp merge = (*entry)->merge;
  func::FuncOp func = (*entry)->func;
  OpBuilder b(merge);
  mla_gpu::GridWaitOp::create(b, merge.getLoc());
  mla_gpu::MergeRowsOp::create(
      b, merge.getLoc(), merge.getParts(), merge.getLseParts(), merge.getOut(),
      merge.getLse(), merge.getLseScale(), merge.getLseEmpty(),
      (*entry)->worker, (*entry)->numWorkers);
  merge.erase();
  func->setAttr("mla_gpu.ctas_per_worker", b.getI64IntegerAttr(kCtasPerWorker));
  func->setAttr("mla_gpu.warps", b.getI64IntegerAttr(kWarps));
  module->setAttr(
      MLADialect::kKernel,
      describeMerge(**entry, EntryAttr::get(module.getContext(),
                                            func.getSymNameAttr(), {})));
  return success();
}
