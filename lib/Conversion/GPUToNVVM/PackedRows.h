//===- PackedRows.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Rows of global memory that fragments are stored to, and the exchanges between
// lanes that make runs of them.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_GPUTONVVM_PACKEDROWS_H
#define MLA_CONVERSION_GPUTONVVM_PACKEDROWS_H

#include "Fragments.h"

namespace mlir::mla_gpu {

/// Whether all rows of a memref, from a column on (i32; null: the first), are
/// aligned to `bytes`; null: they are not, whatever the arguments are.
Value areRowsAligned(NVVMEmitter &e, const GlobalMemory &memory, int64_t bytes,
                     Value firstColumn = {});

/// Packed rows of a memref.
class PackedRows {
public:
  PackedRows(NVVMEmitter &e, Value memref, Value row, Value column, Value count)
      : e(e), type(cast<MemRefType>(memref.getType())),
        memory(e.memory(memref)), firstRow(e.scalar(row)),
        firstColumn(column ? e.scalar(column) : Value()),
        count(e.scalar(count)), isMatrix(bool(column)) {}

  /// The element in a row of the tensor, `column` from the first one on.
  Value pointer(Value row, Value column);
  /// Whether a row of the tensor is below the count.
  Value exists(Value row) {
    return e.cmp(arith::CmpIPredicate::slt, row, count);
  }
  int64_t elementBytes() const {
    return type.getElementType().getIntOrFloatBitWidth() / 8;
  }

  /// Whether all rows, from the first column on, are aligned to `bytes`; null:
  /// they are not, whatever the arguments are.
  Value areAligned(int64_t bytes) {
    return areRowsAligned(e, memory, bytes, firstColumn);
  }
  /// Columns begin at 0 where there is none given.
  void beginAtColumnZero() { isMatrix = true; }

private:
  NVVMEmitter &e;
  MemRefType type;
  const GlobalMemory &memory;
  Value firstRow, firstColumn, count;
  bool isMatrix;
};

/// Whether there is memory: asked of what a memref is a part of, as that has an
/// offset also where there is none.
Value isNotNull(NVVMEmitter &e, Value memref);

/// Exchanges with the lane that differs in `mask`: the lanes without that bit
/// get both their first values, the ones with it (`odd`) their second ones.
void exchangePair(NVVMEmitter &e, Value odd, int64_t mask, Value &first,
                  Value &second);

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_PACKEDROWS_H
