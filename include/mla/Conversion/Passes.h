//===- Passes.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_PASSES_H
#define MLA_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mla {

#define GEN_PASS_DECL
#include "mla/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mla/Conversion/Passes.h.inc"

} // namespace mlir::mla

#endif // MLA_CONVERSION_PASSES_H
