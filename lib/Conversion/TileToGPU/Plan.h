//===- Plan.h ------------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Who plans, by the schedule's `plan`: each CTA of the main entry for itself,
// or an entry of its own, whose lists launches with the same lengths share.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_PLAN_H
#define MLA_CONVERSION_TILETOGPU_PLAN_H

#include "TileEntry.h"

namespace mlir::mla {

/// Makes the entry that plans for the main one, which must not be lowered yet,
/// and puts it before all of them. `pairs`: as emitSharedPlan's.
FailureOr<func::FuncOp> makePlanEntry(const TileEntry &main, bool pairs);

/// Erases a plan that nothing uses; another one gets a name to be printed by.
void finishPlan(PlanOp plan);

/// Emits what the main entry begins with, and where its pieces are.
LogicalResult emitPlan(TileEntry &entry);

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_PLAN_H
