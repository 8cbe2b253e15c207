//===- Fragments.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The parts of NVVMEmitter::emitFragmentOp, by file, and what they share.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_GPUTONVVM_FRAGMENTS_H
#define MLA_CONVERSION_GPUTONVVM_FRAGMENTS_H

#include "FragmentLayout.h"
#include "NVVMEmitter.h"

namespace mlir::mla_gpu {

// EmitElementwise.cpp
LogicalResult emitElementwise(NVVMEmitter &e, Operation &op);
LogicalResult emitSplat(NVVMEmitter &e, arith::ConstantOp op);
LogicalResult emitMap(NVVMEmitter &e, MapOp op);

// EmitMma.cpp
LogicalResult emitMma(NVVMEmitter &e, MmaOp op);
LogicalResult emitMmaWait(NVVMEmitter &e, MmaWaitOp op);

// EmitShared.cpp
LogicalResult emitLoadShared(NVVMEmitter &e, LoadSharedOp op);
LogicalResult emitStoreShared(NVVMEmitter &e, StoreSharedOp op);

// EmitExchange.cpp
LogicalResult emitExchange(NVVMEmitter &e, ExchangeOp op);

// EmitRows.cpp
LogicalResult emitStoreRows(NVVMEmitter &e, StoreRowsOp op);

// EmitReductions.cpp
LogicalResult emitRowReduce(NVVMEmitter &e, RowReduceOp op);
LogicalResult emitBroadcast(NVVMEmitter &e, BroadcastOp op);
LogicalResult emitIota(NVVMEmitter &e, IotaOp op);
LogicalResult emitConvertLayout(NVVMEmitter &e, ConvertLayoutOp op);
LogicalResult emitIfAny(NVVMEmitter &e, IfAnyOp op);

// EmitFragments.cpp
/// Where this thread's elements lie in a tensor.
class ThreadPosition {
public:
  explicit ThreadPosition(NVVMEmitter &e);
  Value warp, lane;
  Value group; ///< g = lane / 4
  Value quad;  ///< q = lane % 4

  /// What a coordinate of that part depends on the thread by.
  Value get(ThreadPart part, bool rowsAsM);
  /// A coordinate of one of this thread's elements; i32.
  Value coordinate(const FragmentLayout &layout, unsigned dim, int64_t element);

private:
  NVVMEmitter &e;
};

/// The value that the lane whose number differs in `mask` has; i32 or f32.
Value shuffleXor(NVVMEmitter &e, Value value, int64_t mask);
/// Whether `value` & `bit` is not zero.
Value testBit(NVVMEmitter &e, Value value, int64_t bit);

/// An i32 shared-memory address as a pointer, and one some bytes further on.
Value sharedPointer(NVVMEmitter &e, Value address);
Value advance(NVVMEmitter &e, Value pointer, int64_t bytes);
/// Loads or stores 32-bit words (or one narrower value) that lie side by side,
/// aligned to their size together.
SmallVector<Value> loadWords(NVVMEmitter &e, Value pointer, Type type,
                             int64_t count);
void storeWords(NVVMEmitter &e, Value pointer, ValueRange words);

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_FRAGMENTS_H
