//===- MergeEntry.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The function around an mla.merge as the only entry of a kernel: what both
// targets do of it alike. It has no tile level.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_MERGEENTRY_H
#define MLA_CONVERSION_WORK_MERGEENTRY_H

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mla {

struct MergeEntry {
  func::FuncOp func;
  MergeOp merge;
  Value worker, numWorkers; ///< arguments of `func`
};

/// Makes the function with the module's mla.merge an entry: names of arguments,
/// and the number of the worker. Nothing if there is no such op.
FailureOr<std::optional<MergeEntry>> makeMergeEntry(ModuleOp module);

/// Describes the kernel that `entry` is all of.
KernelAttr describeMerge(const MergeEntry &entry, EntryAttr description);

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_MERGEENTRY_H
