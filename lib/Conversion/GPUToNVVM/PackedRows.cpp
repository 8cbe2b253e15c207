//===- PackedRows.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::mla_gpu;

Value PackedRows::pointer(Value row, Value column) {
  Value packed = e.add(firstRow, row);
  SmallVector<Value> indices{packed};
  if (type.getRank() - isMatrix == 2) {
    Value inner = e.i32(type.getDimSize(1));
    indices = {arith::DivUIOp::create(e.b, e.loc, packed, inner),
               arith::RemUIOp::create(e.b, e.loc, packed, inner)};
  }
  if (isMatrix)
    indices.push_back(firstColumn ? e.add(firstColumn, column) : column);
  return e.elementPointer(memory, indices);
}

static Value addressOf(NVVMEmitter &e, const GlobalMemory &memory) {
  return LLVM::PtrToIntOp::create(e.b, e.loc, e.b.getI64Type(), memory.pointer);
}

Value mla_gpu::isNotNull(NVVMEmitter &e, Value memref) {
  while (Operation *view = memref.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp>(view))
      break;
    memref = view->getOperand(0);
  }
  return e.cmp(arith::CmpIPredicate::ne, addressOf(e, e.memory(memref)),
               e.i64(0));
}

Value mla_gpu::areRowsAligned(NVVMEmitter &e, const GlobalMemory &memory,
                              int64_t bytes, Value firstColumn) {
  int64_t elementBytes = memory.elementType.getIntOrFloatBitWidth() / 8;
  Value all = addressOf(e, memory);
  auto include = [&](Value elements) {
    all = arith::OrIOp::create(e.b, e.loc, all,
                               e.mul(elements, e.i64(elementBytes)));
  };
  for (auto [stride, size] :
       llvm::drop_end(llvm::zip_equal(memory.strides, memory.sizes))) {
    if (isConstantIntValue(size, 1)) // all indices are 0
      continue;
    if (auto known = getConstantIntValue(stride)) {
      if (*known * elementBytes % bytes)
        return {};
    } else {
      include(cast<Value>(stride));
    }
  }
  APInt known;
  if (firstColumn && matchPattern(firstColumn, m_ConstantInt(&known))) {
    if (known.getSExtValue() * elementBytes % bytes)
      return {};
  } else if (firstColumn) {
    include(arith::ExtSIOp::create(e.b, e.loc, e.b.getI64Type(), firstColumn));
  }
  Value rest = arith::AndIOp::create(e.b, e.loc, all, e.i64(bytes - 1));
  return e.cmp(arith::CmpIPredicate::eq, rest, e.i64(0));
}

//===----------------------------------------------------------------------===//
// Exchanges between lanes
//===----------------------------------------------------------------------===//

void mla_gpu::exchangePair(NVVMEmitter &e, Value odd, int64_t mask,
                           Value &first, Value &second) {
  Value received = shuffleXor(e, e.select(odd, first, second), mask);
  Value kept = e.select(odd, second, first);
  first = e.select(odd, received, kept);
  second = e.select(odd, kept, received);
}
