//===- NoMask.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::mla;

SmallVector<StringRef> NoMaskAttr::getParameterNames() const { return {}; }

Value NoMaskAttr::buildVisible(OpBuilder &builder, Location loc,
                               const ScorePoint &, ValueRange) const {
  return arith::ConstantIntOp::create(builder, loc, 1, 1);
}

bool NoMaskAttr::isCausal() const { return false; }

KeyRange NoMaskAttr::buildRange(OpBuilder &builder, Location loc, Value, Value,
                                Value kvLen, ValueRange) const {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return {zero, kvLen, zero, kvLen};
}
