//===- Passes.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLA_TRANSFORMS_PASSES_H
#define MLA_DIALECT_MLA_TRANSFORMS_PASSES_H

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mla {

struct LaunchHints;

#define GEN_PASS_DECL
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"

/// Why there is no target of some name.
struct NoTarget {
  std::string reason; ///< what is required, and what was given
  bool isKnown;       ///< a CPU or GPU that there is, but no lowering to it
};

/// Describes a CPU by LLVM's name of it, or "native": it has to be of this
/// machine's architecture.
FailureOr<TargetAttr> makeHostTarget(MLIRContext *context, StringRef cpu,
                                     NoTarget &why);

/// Nothing for a GPU that dataflows are lowered to.
std::optional<NoTarget> whyNoCudaTarget(StringRef chip);

/// Describes a GPU by its architecture, as in sm_90a: dataflows have to be
/// lowered to it.
FailureOr<TargetAttr> makeCudaTarget(MLIRContext *context, StringRef chip,
                                     NoTarget &why);

/// The fewest queries of a request for which the same schedule is chosen as for
/// those of the hints.
int64_t fewestQueriesAlike(DecodeOp op, TargetAttr target,
                           const LaunchHints &hints);

/// Names of the arguments that passes add to entries.
namespace argument_names {
inline constexpr llvm::StringLiteral kWorker = "worker";
inline constexpr llvm::StringLiteral kNumWorkers = "num_workers";
inline constexpr llvm::StringLiteral kPartialOut = "partial_out";
inline constexpr llvm::StringLiteral kPartialLse = "partial_lse";
inline constexpr llvm::StringLiteral kScratch = "scratch";
inline constexpr llvm::StringLiteral kWorkList = "work_list";
inline constexpr llvm::StringLiteral kWorkRange = "work_range";
inline constexpr llvm::StringLiteral kSplitList = "split_list";
inline constexpr llvm::StringLiteral kSplitCount = "split_count";
/// GPU, i32, not 0: launches behind this one may begin before it ends.
inline constexpr llvm::StringLiteral kPDLTrigger = "pdl_trigger";
/// All of them: no argument of a problem may have such a name.
inline constexpr llvm::StringLiteral kReserved[] = {
    kWorker,   kNumWorkers, kPartialOut, kPartialLse, kScratch,
    kWorkList, kWorkRange,  kSplitList,  kSplitCount, kPDLTrigger};
} // namespace argument_names

/// Appends an argument with an `mla.name` to a function, and returns it.
BlockArgument appendArgument(func::FuncOp func, StringRef name, Type type);

/// The entries of a kernel (functions with `mla.entry`) in launch order, none
/// if there is no kernel; fails where two have the same place.
FailureOr<SmallVector<func::FuncOp>> collectEntries(ModuleOp module);

} // namespace mlir::mla

#endif // MLA_DIALECT_MLA_TRANSFORMS_PASSES_H
