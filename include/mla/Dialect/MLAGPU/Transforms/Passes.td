//===- Passes.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_GPU_TRANSFORMS_PASSES_TD
#define MLA_GPU_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyProtocol : Pass<"mla-gpu-verify-protocol", "::mlir::func::FuncOp"> {
  let summary = "checks that roles can neither deadlock nor overwrite each other's tiles";
  let description = [{
    First checks what can be seen without running anything: roles and pipelines fit
    together, storage is shared only in turns, shared memory is enough.

    Then runs the roles' pipeline ops, for every trip count of loops from 0 to
    2 x stages + 2 and both ways of branches that are not known. Counts that roles
    share (a load of the same place, an argument) are the same number in all of them.
    Reports, with the counts and what each role did last: slots that are not committed
    or released, accesses outside of a hold, accesses that nothing orders, deadlocks.

    Roles are deterministic and a pipeline's counts only grow, so every order of
    execution ends in the same state: one run for each choice of counts is a proof
    for these counts. docs/gpu-dialect.md has the argument.

    An analysis remark (`--remarks-filter=mla_gpu`) for each pipeline says which of its
    waits the others already imply, and so how many barriers a slot needs.
  }];
  let options = [
    Option<"maxRuns", "max-runs", "unsigned", "20000",
           "fail rather than run more choices of counts than this">];
}

#endif // MLA_GPU_TRANSFORMS_PASSES_TD
