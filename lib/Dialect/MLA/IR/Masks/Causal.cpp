//===- Causal.cpp ---------------------------------------------------------===//
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

SmallVector<StringRef> CausalAttr::getParameterNames() const { return {}; }

Value CausalAttr::buildVisible(OpBuilder &builder, Location loc,
                               const ScorePoint &point, ValueRange) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, point.k,
                               point.q);
}

// Query q sees [0, q]. The last query is below kvLen by the alignment, and
// queries of negative position see nothing.
bool CausalAttr::isCausal() const { return true; }

KeyRange CausalAttr::buildRange(OpBuilder &builder, Location loc, Value firstQ,
                                Value lastQ, Value, ValueRange) const {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto endOf = [&](Value q) -> Value {
    Value end = arith::AddIOp::create(builder, loc, q, one);
    return arith::MaxSIOp::create(builder, loc, end, zero);
  };
  return {zero, endOf(lastQ), zero, endOf(firstQ)};
}
