//===- IndexMath.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_WORK_INDEXMATH_H
#define MLA_CONVERSION_WORK_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::mla {

/// Index arithmetic, briefly.
struct IndexMath {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t v) {
    return arith::ConstantIndexOp::create(b, loc, v);
  }
  Value flag(bool v) { return arith::ConstantIntOp::create(b, loc, v, 1); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value floorDiv(Value x, Value y) {
    return arith::DivUIOp::create(b, loc, x, y);
  }
  /// ceil(x / y) of values that are not negative.
  Value ceilDiv(Value x, Value y) {
    return floorDiv(add(x, sub(y, constant(1))), y);
  }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  Value less(Value x, Value y) {
    return compare(arith::CmpIPredicate::slt, x, y);
  }
  Value lessEqual(Value x, Value y) {
    return compare(arith::CmpIPredicate::sle, x, y);
  }
  Value equal(Value x, Value y) {
    return compare(arith::CmpIPredicate::eq, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  /// An element of an integer memref.
  Value load(Value memref, ValueRange indices) {
    Value value = memref::LoadOp::create(b, loc, memref, indices);
    return cast(value);
  }
  Value cast(Value integer) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), integer);
  }
  /// Stores an index to an element of an i32 memref.
  void store(Value value, Value memref, ValueRange indices) {
    Value narrow = arith::IndexCastOp::create(b, loc, b.getI32Type(), value);
    memref::StoreOp::create(b, loc, narrow, memref, indices);
  }
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_WORK_INDEXMATH_H
