//===- NVVMEmitter.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Turns one function of the gpu level into what one thread does: scalars (scf,
// arith on f32, i1, i32, i64), llvm memory ops and inline PTX. `index` becomes
// i32; addresses in global memory are computed in 64 bits. A tensor becomes the
// registers that a thread holds of it (FragmentLayout.h).
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_GPUTONVVM_NVVMEMITTER_H
#define MLA_CONVERSION_GPUTONVVM_NVVMEMITTER_H

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mla_gpu {

/// A memref: where it begins in global memory, and its sizes and strides in
/// elements, each a constant or an i64 value.
struct GlobalMemory {
  Value pointer; ///< !llvm.ptr<1>
  SmallVector<OpFoldResult> sizes, strides;
  Type elementType;
};

/// Where a tile lies in shared memory. Storage with a swizzle of S bytes is
/// column tiles of rows x S bytes, one behind the other; `beginColumn` is the
/// tile's first column in that storage (views).
struct SharedTile {
  Value address;       ///< i32: of the storage (of its stage)
  int64_t rows;        ///< of the storage; 1 for vectors
  int64_t beginColumn; ///< of the view
  TileType type;       ///< of the tile itself
  /// The op and stage expression that the storage comes from: what hazards are
  /// tracked by.
  Operation *storage;
};

class NVVMEmitter {
public:
  NVVMEmitter(OpBuilder &builder, func::FuncOp func);

  /// Emits the ops of a block, without its terminator.
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation &op);

  //===--- Values ---------------------------------------------------------===//

  /// What an op's scalar became.
  Value scalar(Value value) { return registers(value).front(); }
  /// The registers of a tensor, of a value in flight, or the one of a scalar.
  ArrayRef<Value> registers(Value value);
  void map(Value value, ValueRange registers);
  GlobalMemory &memory(Value memref);
  SharedTile &tile(Value tile);

  /// index to i32; other scalars stay.
  Type convertScalar(Type type);
  /// Types of the registers of a value: one scalar, or those of a fragment.
  SmallVector<Type> convertType(Type type);

  //===--- Building -------------------------------------------------------===//

  OpBuilder &b;
  Location loc; ///< of the op that is being emitted

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(float value);
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value andi(Value x, int64_t mask);
  Value xori(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  Value shl(Value x, int64_t bits);
  Value shr(Value x, int64_t bits); ///< unsigned
  Value cmp(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  /// Emits `body` under a condition.
  void emitIf(Value condition, llvm::function_ref<void()> body);

  /// Inline PTX: `text` with $0, $1, ... for outputs, then inputs. Outputs that
  /// begin as an input's value are tied by their number among the constraints
  /// ("=f,=f,r,0,1"). Returns the outputs. `pure`: depends on its operands only
  /// and may be moved or dropped; otherwise has side effects and clobbers
  /// memory.
  SmallVector<Value> ptx(StringRef text, StringRef constraints,
                         TypeRange outputs, ValueRange inputs,
                         bool pure = false);

  /// Element (i, j, ...) of a memref, as !llvm.ptr<1>; indices are i32.
  Value elementPointer(const GlobalMemory &memory, ValueRange indices);

  //===--- Threads --------------------------------------------------------===//

  /// Of the CTA.
  Value threadOfCTA();
  int64_t threadsOfCTA() const { return numThreads; }
  /// Within the role (or the CTA, outside of roles); i32.
  Value thread();
  Value warp(); ///< uniform in the warp, known to be so by the assembler
  Value lane();
  int64_t roleThreads() const;
  /// A value that is the same in all lanes, made known to be so (shfl of lane
  /// 0): control flow around wgmma must be provably uniform.
  Value uniform(Value value);

  //===--- Order within a role --------------------------------------------===//

  /// All threads of the role meet (a named barrier), or of the CTA.
  void roleBarrier();
  /// Ordinary stores to shared memory become visible to the tensor cores and
  /// copies of the threads that meet this one's arrival later.
  void fenceAsync();

  /// To be called before a tile is written by ordinary stores: emits a barrier
  /// if warps of the role may still read it (an MMA that others wait for).
  void beforeStore(const SharedTile &tile);
  void afterStore(const SharedTile &tile);
  /// To be called before an MMA reads tiles: emits fence and barrier if the
  /// role wrote them since the last barrier. Writes that are handed over by a
  /// pipeline need none.
  void beforeMmaReads(ArrayRef<SharedTile> tiles);
  void afterMmaReads(ArrayRef<SharedTile> tiles);
  /// The same for ordinary loads of what other threads of the role stored.
  void beforeLoad(const SharedTile &tile);

  //===--- Shared memory --------------------------------------------------===//

  /// Reserves bytes for the whole kernel; returns the offset from the pool's
  /// start, which is aligned to 1024.
  int64_t reserveShared(int64_t bytes, int64_t alignment);
  /// i32 address of an offset.
  Value sharedAddress(int64_t offset);
  int64_t sharedBytes() const { return usedShared; }
  /// Address of element (row, column) of a tile, swizzle applied; i32 inputs.
  Value elementAddress(const SharedTile &tile, Value row, Value column);

private:
  // By file: EmitScalars.cpp, EmitPipelines.cpp, EmitCopies.cpp, ...
  LogicalResult emitScalarOp(Operation &op);   // scf, arith, memref
  LogicalResult emitPipelineOp(Operation &op); // alloc .. release, roles, grid
  LogicalResult emitCopyOp(Operation &op);     // tma_load, gather, clear_rows
  LogicalResult emitFragmentOp(Operation &op); // whatever has a tensor or mma
  LogicalResult emitScan(ScanOp op);
  LogicalResult emitMerge(MergeOp op);

  func::FuncOp func;
  int64_t numThreads = 0;
  int64_t usedShared = 0;
};

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_NVVMEMITTER_H
