//===- ApproximateMath.h -------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_GPUTONVVM_APPROXIMATEMATH_H
#define MLA_CONVERSION_GPUTONVVM_APPROXIMATEMATH_H

#include "mlir/IR/Operation.h"

namespace mlir::mla_gpu {

/// Turns functions of f32 scalars in `root` into the instructions that the
/// hardware has for them. An error names a function that it has none for.
LogicalResult approximateMath(Operation *root);

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_APPROXIMATEMATH_H
