//===- Passes.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TRANSFORMS_PASSES_TD
#define MLA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"mla-attach-target", "::mlir::ModuleOp"> {
  let summary = "puts a #mla.target on the module";
  let description = [{
    Describes a CPU by LLVM's name of it: `native` is the one that this process
    runs on, others are `x86-64-v3`, `x86-64-v4`, `znver4`, ... With a `chip`
    (`sm_90a`) the target is that GPU instead. A module that has a target keeps
    it.
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"native\"", "CPU to compile for">,
    Option<"chip", "chip", "std::string", "\"\"",
           "GPU to compile for: sm_90a. None: for the CPU">];
  let dependentDialects = ["::mlir::mla::MLADialect"];
}

def SelectSchedule : Pass<"mla-select-schedule", "::mlir::func::FuncOp"> {
  let summary = "chooses a #mla.schedule for every mla.decode that has none";
  let description = [{
    Asks each dataflow for its schedules and takes the cheapest by its cost model
    (docs/dataflows.md). A schedule that is there is checked and kept. An analysis
    remark (`--remarks-filter=mla`) gives the choice and the next best with their
    costs.

    `queries` only chooses: the kernel is right for any number of them.
    `aligned-strides` allows TMA where strides are free, and chosen schedules of a GPU
    say `alignment = 16`; launches must keep it.
  }];
  let options = [
    Option<"split", "split", "std::string", "\"balanced\"",
           "split policy of chosen schedules: whole, balanced or row_local">,
    Option<"queries", "queries", "int64_t", "1",
           "queries that a request typically has">,
    Option<"alignedStrides", "aligned-strides", "bool", "false",
           "promise that free strides of q, k and out, and where they begin, are multiples of 16 bytes">,
    Option<"sharedPlan", "shared-plan", "bool", "false",
           "GPU: chosen schedules have plan = shared, and given ones have to">];
  let dependentDialects = ["::mlir::mla::MLADialect"];
}

def Tile : Pass<"mla-tile", "::mlir::func::FuncOp"> {
  let summary = "turns mla.decode into tile ops: one worker's loop, nothing split";
  let description = [{
    The function becomes the first entry of a kernel: it takes a worker's index and
    the number of workers, and does that worker's row blocks, each whole, with one
    loop over the tiles that its mask's hull touches. Every tile is masked here;
    `mla-split-kv` and `mla-specialize-tiles` improve on this.

    Problems that can be written but not lowered yet are refused here.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SplitKV : Pass<"mla-split-kv", "::mlir::ModuleOp"> {
  let summary = "lets several workers share a row block, and merges what they make";
  let description = [{
    Where the schedule splits: the plan cuts row blocks into pieces, a piece that
    is not a whole row block is stored as a partial result, and a second entry,
    `<name>_combine`, merges the pieces in split order. Row blocks that were not
    split pay nothing.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def SpecializeTiles : Pass<"mla-specialize-tiles", "::mlir::func::FuncOp"> {
  let summary = "separate loop bodies for tiles that need a mask and tiles that do not";
  let description = [{
    The loop over tiles becomes two: over the tiles that every row sees in full,
    without any mask code, and over the rest at both ends.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

#endif // MLA_TRANSFORMS_PASSES_TD
