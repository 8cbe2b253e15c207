//===- Passes.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_PASSES_TD
#define MLA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToHost : Pass<"mla-convert-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "tile ops to loops over register blocks, and the kernel's description";
  let description = [{
    Each tile op becomes loops over vectors in the worker's scratch; work loops
    become the scheduler over the lengths. Each entry gets a `scratch` argument, and
    the module `mla.kernel`, from which the runtime launches.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertTileToGPU : Pass<"mla-convert-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "tile ops to the roles of a CTA, and the kernel's description";
  let description = [{
    The dataflow that the schedule names emits the kernel of the first entry: who
    plans, roles, pipelines between them. The second entry becomes the merge of what
    was split. `plan = shared` puts an entry that plans before them. Entries get arguments for the plan and for tensor maps, and the
    module `mla.kernel`, whose entries have no parameters yet.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
                           "::mlir::mla_gpu::MLAGPUDialect"];
}

def ExpandPlan : Pass<"mla-gpu-expand-plan", "::mlir::func::FuncOp"> {
  let summary = "plans to scans over the lengths, and items of their lists to loads";
  let description = [{
    Each `mla_gpu.plan_work` and `mla_gpu.plan_splits` becomes `mla_gpu.scan`s that store
    its list; each item of a list becomes loads of the fields that are used. The
    `mla.plan` that they take goes, if nothing else has it.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
                           "::mlir::mla_gpu::MLAGPUDialect"];
}

def ConvertGPUToNVVM : Pass<"mla-convert-gpu-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "entries of the gpu level to kernels: what one thread does";
  let description = [{
    Each function with `mla.entry` becomes a kernel of scalars, control flow (`scf`) and
    inline PTX; `mla.kernel` learns its parameters and launch. An error says how much
    shared memory an entry requires, if the target has less.

    f32 functions and divisions become the hardware's approximations
    (ApproximateMath.cpp names them); others are an error.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def ScalarsToLLVM : Pass<"mla-scalars-to-llvm", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "arithmetic on scalars and branches to the llvm dialect";
  let description = [{
    Each op of arith and cf that is one op of the llvm dialect becomes that, if its types
    are the same there and it has no flags. Others stay, for the dialect conversion.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandMath : Pass<"mla-expand-math"> {
  let summary = "math ops to arithmetic: no library calls remain";
  let description = [{
    `math.exp2` becomes a polynomial of relative error below 1e-7 that keeps NaN
    and gives 0 from -150 down; other functions by upstream's approximations
    or expansions (ExpandMath.cpp names them). What has neither is left, and
    becomes a call of the C library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // MLA_CONVERSION_PASSES_TD
