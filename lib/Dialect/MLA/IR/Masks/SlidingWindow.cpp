//===- SlidingWindow.cpp --------------------------------------------------===//
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

SmallVector<StringRef> SlidingWindowAttr::getParameterNames() const {
  return {"window"};
}

Value SlidingWindowAttr::buildVisible(OpBuilder &builder, Location loc,
                                      const ScorePoint &point,
                                      ValueRange parameters) const {
  // One unsigned comparison says 0 <= distance < window, for windows of 0 and
  // up.
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value window = arith::MaxSIOp::create(builder, loc, parameters[0], zero);
  Value distance = arith::SubIOp::create(builder, loc, point.q, point.k);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                               distance, window);
}

// Query q sees [q - window + 1, q]: the hull runs from the first query's begin
// to the last one's end, what all see from the last one's begin to the first
// one's end.
bool SlidingWindowAttr::isCausal() const { return true; }

KeyRange SlidingWindowAttr::buildRange(OpBuilder &builder, Location loc,
                                       Value firstQ, Value lastQ, Value,
                                       ValueRange parameters) const {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value window = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(), parameters[0]);
  window = arith::MaxSIOp::create(builder, loc, window, zero);
  auto endOf = [&](Value q) -> Value { // one past q, at least 0
    Value end = arith::AddIOp::create(builder, loc, q, one);
    return arith::MaxSIOp::create(builder, loc, end, zero);
  };
  auto beginOf = [&](Value q) -> Value {
    Value begin = arith::SubIOp::create(builder, loc, endOf(q), window);
    return arith::MaxSIOp::create(builder, loc, begin, zero);
  };
  Value innerBegin = beginOf(lastQ);
  Value innerEnd =
      arith::MaxSIOp::create(builder, loc, endOf(firstQ), innerBegin);
  return {beginOf(firstQ), endOf(lastQ), innerBegin, innerEnd};
}
