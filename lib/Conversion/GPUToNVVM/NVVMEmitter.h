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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Allocator.h"

namespace mlir::mla_gpu {

/// The one symbol in shared memory: where the launch's dynamic part begins.
inline constexpr llvm::StringLiteral kSharedPool = "smem";
/// Address spaces of NVPTX.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// A memref: where it begins in global (or shared) memory, and its sizes and
/// strides in elements, each a constant or an i64 value.
struct GlobalMemory {
  Value pointer; ///< !llvm.ptr<1>, or <3>
  SmallVector<OpFoldResult> sizes, strides;
  Type elementType;
};

/// Where a tile lies in shared memory. Storage with a swizzle of S bytes is
/// column tiles of rows x S bytes, one behind the other; `beginColumn` is the
/// tile's first column in that storage (views).
struct SharedTile {
  Value address;           ///< i32: of the storage (of its stage)
  int64_t rows = 1;        ///< of the storage; 1 for vectors
  int64_t columns = 0;     ///< of the storage: its pitch where not swizzled
  int64_t beginColumn = 0; ///< of the view
  TileType type;           ///< of the tile itself
  /// What hazards are tracked by: the alloc, or the acquire or wait that the
  /// tile is held by, and which of its results. A view keeps it.
  Operation *storage = nullptr;
  unsigned resultNumber = 0;
};

/// A pipeline, as a role sees it: i32 addresses of stage 0.
struct PipelineState {
  PipelineOp declaration;
  SmallVector<Value> storages; ///< of each tile, at its first column
  Value full, empty;           ///< mbarriers, 8 bytes a stage
  /// What an acquire waits for: `empty` of this pipeline or of one that it
  /// shares storage with, and whether for the same slot there (`after`) or for
  /// the one a round before.
  Value released;
  bool releasedInSameRound = false;
};

/// Threads that run the same code: a role, or, outside of roles, the CTA.
struct Role {
  int64_t warps = 0;
  int64_t barrier = 0; ///< named barrier of the first of roles that share code
  Value barrierOffset; ///< i32: which of these roles it is; null: only one
  Value thread, warp;  ///< i32
  bool hasMma = false;
  bool countsRegisters = false; ///< takes a part of the CTA's
};

/// Where the warps of a role exchange values of rows: two halves of shared
/// memory, used in turns.
struct RowExchange {
  int64_t offset = 0, bytes = 0; ///< of the first half, of each
  Value turn; ///< variable of the thread: bytes from the first half on
};

/// Barriers that the other CTA of the cluster arrives on, each once; i32
/// addresses. Null if nothing is exchanged.
struct PeerBarriers {
  Value ready; ///< the other CTA may be written to
  Value full;  ///< what the other CTA wrote here has come
};

class NVVMEmitter {
public:
  NVVMEmitter(OpBuilder &builder, func::FuncOp func);

  /// Emits the whole function, whose arguments are mapped already, but for the
  /// return.
  LogicalResult emitFunction();
  /// Emits the ops of a block, without its terminator.
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation &op);

  //===--- Values ---------------------------------------------------------===//

  /// What an op's scalar became.
  Value scalar(Value value) { return registers(value).front(); }
  /// The registers of a tensor, of a value in flight, or the one of a scalar.
  ArrayRef<Value> registers(Value value);
  /// May be called again for the arguments of a region that is emitted again.
  void map(Value value, ValueRange registers);
  void mapMemory(Value memref, GlobalMemory memory);
  void mapTile(Value value, SharedTile tile);
  GlobalMemory &memory(Value memref) { return *memories.at(memref); }
  SharedTile &tile(Value tile) { return *tiles.at(tile); }

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
  /// Emits `body` under a condition. Hazards are merged, as by the next one.
  void emitIf(Value condition, llvm::function_ref<void()> body);
  /// The same with values: each function returns those of its branch.
  SmallVector<Value> emitIf(Value condition, TypeRange types,
                            llvm::function_ref<SmallVector<Value>()> whenTrue,
                            llvm::function_ref<SmallVector<Value>()> whenFalse);

  /// Inline PTX: `text` with $0, $1, ... for outputs, then inputs. Outputs that
  /// begin as an input's value are tied by their number among the constraints
  /// ("=f,=f,r,0,1"). Returns the outputs. `pure`: depends on its operands only
  /// and may be moved or dropped; otherwise has side effects and clobbers
  /// memory.
  SmallVector<Value> ptx(StringRef text, StringRef constraints,
                         TypeRange outputs, ValueRange inputs,
                         bool pure = false);

  Value constant(TypedAttr value) {
    return arith::ConstantOp::create(b, loc, value);
  }
  /// Element (i, j, ...) of a memref, as !llvm.ptr<1>; indices are i32.
  Value elementPointer(const GlobalMemory &memory, ValueRange indices);

  //===--- Threads --------------------------------------------------------===//

  /// Of the CTA.
  Value threadOfCTA() { return ctaThread; }
  int64_t threadsOfCTA() const { return numThreads; }
  /// Within the role (or the CTA, outside of roles); i32.
  Value thread() { return role.thread; }
  Value warp() { return role.warp; } ///< known to be uniform in the warp
  /// Whether this is the one thread of the role that acts for it; i1.
  Value elected() { return cmp(arith::CmpIPredicate::eq, thread(), i32(0)); }
  /// Whether that thread is in this warp.
  Value inFirstWarp() { return cmp(arith::CmpIPredicate::eq, warp(), i32(0)); }
  Value lane() { return andi(ctaThread, kWarpThreads - 1); }
  int64_t roleThreads() const { return role.warps * kWarpThreads; }
  /// A value that is the same in all lanes, made known to be so (shfl of lane
  /// 0): control flow around wgmma must be provably uniform.
  Value uniform(Value value);
  /// The same i32, of which, in a role that says how many registers it has,
  /// LLVM knows nothing but that it comes into being here. So what depends on
  /// it is neither computed before a loop nor carried through it, each in a
  /// register of its own: fragments take them.
  Value opaque(Value value);

  //===--- Order within a role --------------------------------------------===//

  /// All threads of the role meet (a named barrier), or of the CTA. Stores that
  /// an MMA may read later are fenced before.
  void roleBarrier();
  /// Ordinary stores to shared memory become visible to the tensor cores and
  /// copies of the threads that meet this one's arrival later.
  void fenceAsync();

  /// Around ordinary stores to a tile: a barrier before, if other threads of
  /// the role may still read or write it.
  void beforeStore(const SharedTile &tile);
  void afterStore(const SharedTile &tile);
  /// Around the issue of an MMA: fence and barrier before, if the role wrote a
  /// tile since the last barrier. The reads last until an mma_wait that covers
  /// the MMA is emitted.
  void beforeMmaReads(ArrayRef<SharedTile> tiles);
  void afterMmaReads(ArrayRef<SharedTile> tiles);
  /// Before ordinary loads, which end in program order: a barrier if the role
  /// wrote the tile since the last one.
  void beforeLoad(const SharedTile &tile);

  //===--- Shared memory --------------------------------------------------===//

  /// Reserves bytes for the whole kernel; returns the offset from the pool's
  /// start, which is aligned to 1024.
  int64_t reserveShared(int64_t bytes, int64_t alignment);
  /// The same for code before the roles only: it may lie where their tiles
  /// will.
  int64_t reserveScratch(int64_t bytes, int64_t alignment);
  /// That of the role that a region is the body of; empty until it is used.
  RowExchange &rowExchange(Region *body) { return exchanges[body]; }
  const PeerBarriers &peerBarriers() const { return peer; }
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
  LogicalResult emitMergeRows(MergeRowsOp op);

  // EmitScalars.cpp
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitSCFIf(scf::IfOp op);
  LogicalResult emitMemRefOp(Operation &op);
  /// Memory of the CTA's own, without a layout.
  LogicalResult emitSharedMemRef(memref::AllocaOp op);
  LogicalResult emitArithOp(Operation &op);
  /// The values of all of a block's terminator's operands, one list.
  SmallVector<Value> terminatorRegisters(Block &block);

  // EmitPipelines.cpp, EmitRoles.cpp
  void allocate();
  void declarePipelines();
  /// Makes the mbarriers and fetches the tensor maps' descriptors.
  void initBarriers();
  /// Waits until both CTAs of the cluster have made their barriers.
  void waitForPeer();
  LogicalResult emitRoles(WarpSpecializeOp op);
  LogicalResult emitRole(WarpSpecializeOp op, Region &body, int64_t firstWarp,
                         int64_t firstBarrier);
  LogicalResult mapRoleArguments(WarpSpecializeOp op, Region &body,
                                 Value roleNumber);
  LogicalResult emitAcquire(AcquireOp op);
  LogicalResult emitCommit(CommitOp op);
  void emitWait(WaitOp op);
  void emitRelease(ReleaseOp op);
  void mapHeldTiles(Operation *op, Value pipeline, Value stage);
  /// Whether a copy has to tell its barrier how many bytes come.
  bool announcesItself(TMALoadOp op);
  /// Stage and phase bit of a slot.
  std::pair<Value, Value> position(const PipelineState &state, Value number);
  /// Waits for the phase of a barrier with that parity to be over.
  void waitBarrier(Value barrier, Value parity);

  // EmitCopies.cpp, EmitGather.cpp
  LogicalResult emitTMALoad(TMALoadOp op);
  LogicalResult emitGather(GatherOp op);
  void emitClearRows(ClearRowsOp op);

  //===--- Hazards --------------------------------------------------------===//

  /// Columns of a storage that were stored, loaded or are read by an MMA.
  struct Access {
    Operation *storage;
    unsigned resultNumber;
    int64_t begin, end;
    Operation *op; ///< the MMA, while it may still run
    bool operator==(const Access &other) const = default;
  };
  /// What happened since the last barrier of the role.
  struct Hazards {
    SmallVector<Access> stores, reads, runningReads;
    bool unfenced = false; ///< a store since the last fence
    void merge(const Hazards &other);
  };
  static Access accessOf(const SharedTile &tile, Operation *op = nullptr);
  /// A new hold of a slot: the hand-over orders what was done with it before.
  void forgetHazards(Operation *storage);
  void endMmaReads(MmaWaitOp op);
  /// Before a loop: takes what its ops access for done. A barrier that they
  /// would need for stores from before is cheaper here.
  void assumeAccesses(scf::ForOp loop);

  func::FuncOp func;
  int64_t numThreads = 0;
  int64_t usedShared = 0;
  int64_t tileBytes = 0;   ///< the storage of roles, at the pool's start
  int64_t usedScratch = 0; ///< of these bytes, before the roles
  bool hasMma = false;
  Value pool;      ///< i32: where dynamic shared memory begins
  Value ctaThread; ///< i32
  Role role;
  Hazards hazards;
  int64_t numBarriers = 0; ///< roleBarrier() calls so far
  Operation *currentOp = nullptr;

  llvm::BumpPtrAllocator allocator;
  DenseMap<Value, ArrayRef<Value>> values;
  DenseMap<Value, std::unique_ptr<GlobalMemory>> memories;
  DenseMap<Value, std::unique_ptr<SharedTile>> tiles;
  DenseMap<Value, PipelineState> pipelines;
  PeerBarriers peer;
  /// Where the storages of staged memory begin.
  DenseMap<Value, Value> storages;
  DenseMap<Region *, RowExchange> exchanges;
  /// The barrier on which copies to the tiles of an acquire arrive.
  DenseMap<Operation *, Value> fullBarriers;
};

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_NVVMEMITTER_H
