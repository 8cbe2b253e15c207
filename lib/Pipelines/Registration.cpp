//===- Registration.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Pipelines/Registration.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mla::registerDialects(DialectRegistry &registry) {
  registry.insert<MLADialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
}

void mla::registerPasses() {
  registerMLATransformsPasses();
  registerCanonicalizerPass();
  registerCSEPass();
}
