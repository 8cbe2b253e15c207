//===- Combine.h ---------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_COMBINE_H
#define MLA_CONVERSION_TILETOGPU_COMBINE_H

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mla {

/// Whether the main entry lists what is split: where its CTAs leave no
/// registers for those that merge, these could not plan before it ends.
bool listsSplits(ScheduleAttr schedule);

/// Lowers the entry that mla-split-kv makes, mla.for_split { mla.combine;
/// mla.store }, to the gpu level: the grid's CTAs divide what the main entry
/// listed as split.
LogicalResult emitCombine(func::FuncOp func, ScheduleAttr schedule);

/// Makes a kernel of the module's mla.merge, if it has one.
LogicalResult convertMergeToGPU(ModuleOp module);

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_COMBINE_H
