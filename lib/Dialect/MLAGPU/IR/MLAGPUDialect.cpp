//===- MLAGPUDialect.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

using namespace mlir;
using namespace mlir::mla_gpu;

#include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.cpp.inc"

void MLAGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mla/Dialect/MLAGPU/IR/MLAGPUOps.cpp.inc"
      >();
}
