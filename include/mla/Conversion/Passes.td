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
