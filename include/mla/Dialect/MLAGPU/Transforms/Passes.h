//===- Passes.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLAGPU_TRANSFORMS_PASSES_H
#define MLA_DIALECT_MLAGPU_TRANSFORMS_PASSES_H

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mla_gpu {

#define GEN_PASS_DECL
#include "mla/Dialect/MLAGPU/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mla/Dialect/MLAGPU/Transforms/Passes.h.inc"

} // namespace mlir::mla_gpu

#endif // MLA_DIALECT_MLAGPU_TRANSFORMS_PASSES_H
