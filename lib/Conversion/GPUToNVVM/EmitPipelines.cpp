//===- EmitPipelines.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Storage, and pipelines as pairs of mbarriers. Slot n is stage n mod stages; a
// barrier's phase number n / stages is over when slot n is handed over (`full`)
// or let go by all readers (`empty`).
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static constexpr int64_t kBarrierBytes = 8;

LogicalResult NVVMEmitter::emitPipelineOp(Operation &op) {
  if (isa<AllocOp, PipelineOp>(op))
    return success(); // emitted at the function's begin
  if (auto view = dyn_cast<ViewOp>(op)) {
    SharedTile result = tile(view.getTile());
    result.beginColumn += view.getBegin();
    result.type = view.getType();
    mapTile(view, result);
    return success();
  }
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return emitAcquire(acquire);
  if (auto commit = dyn_cast<CommitOp>(op))
    return emitCommit(commit);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    emitWait(wait);
    return success();
  }
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    emitRelease(release);
    return success();
  }
  if (auto roles = dyn_cast<WarpSpecializeOp>(op))
    return emitRoles(roles);
  if (isa<GridWaitOp>(op))
    ptx("griddepcontrol.wait;", "", {}, {});
  else
    ptx("griddepcontrol.launch_dependents;", "", {}, {});
  return success();
}

//===----------------------------------------------------------------------===//
// Storage and barriers
//===----------------------------------------------------------------------===//

void NVVMEmitter::allocate() {
  // A swizzle's pattern is one of addresses, and repeats after 8 runs.
  auto alignmentOf = [](AllocOp op) -> int64_t {
    int64_t swizzle = 0;
    if (auto tile = dyn_cast<TileType>(op.getType()))
      swizzle = tile.getSwizzle();
    else
      swizzle = cast<SmemType>(op.getType()).getSwizzle();
    return swizzle ? 8 * swizzle : 16;
  };
  // By alignment, so that no space is lost between them.
  auto allocs = llvm::to_vector(func.getOps<AllocOp>());
  llvm::stable_sort(allocs, [&](AllocOp x, AllocOp y) {
    return alignmentOf(x) > alignmentOf(y);
  });
  for (AllocOp op : allocs) {
    if (auto type = dyn_cast<TileType>(op.getType())) {
      SharedTile tile;
      tile.address =
          sharedAddress(reserveShared(type.getBytes(), alignmentOf(op)));
      tile.rows = type.isMatrix() ? type.getRows() : 1;
      tile.columns = type.getColumns();
      tile.type = type;
      tile.storage = op;
      mapTile(op, tile);
    } else {
      int64_t bytes = cast<SmemType>(op.getType()).getBytes();
      storages[op] = sharedAddress(reserveShared(bytes, alignmentOf(op)));
    }
  }
  tileBytes = usedShared;
}

void NVVMEmitter::declarePipelines() {
  DenseMap<Operation *, PipelineOp> later;
  for (auto op : func.getOps<PipelineOp>()) {
    if (PipelineOp earlier = op.getEarlier())
      later[earlier] = op;
    int64_t stages = op.getType().getStages();
    PipelineState state;
    state.declaration = op;
    state.full =
        sharedAddress(reserveShared(2 * stages * kBarrierBytes, kBarrierBytes));
    state.empty = add(state.full, i32(stages * kBarrierBytes));
    for (auto [storage, begin] : llvm::zip(op.getStorages(), op.getBegins())) {
      auto type = cast<SmemType>(storage.getType());
      int64_t columnBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
      // Ranges are whole runs of a swizzle, which lie one behind the other.
      if (type.getSwizzle())
        columnBytes *= type.getShape()[1];
      Value address = storages.at(storage);
      state.storages.push_back(begin ? add(address, i32(begin * columnBytes))
                                     : address);
    }
    pipelines[op] = state;
  }
  for (auto op : func.getOps<PipelineOp>()) {
    PipelineOp last = op;
    if (PipelineOp earlier = op.getEarlier())
      last = earlier;
    else
      while (PipelineOp next = later.lookup(last))
        last = next;
    PipelineState &state = pipelines.find(op)->second;
    state.released = pipelines.find(last)->second.empty;
    state.releasedInSameRound = bool(op.getEarlier());
  }
}

void NVVMEmitter::initBarriers() {
  auto roles = *func.getOps<WarpSpecializeOp>().begin();
  auto warpsOf = [&](StringRef name) -> int64_t {
    for (unsigned i = 0; i < roles.getNumRoles(); ++i)
      if (roles.getName(i) == name)
        return roles.getWarps()[i];
    return 0;
  };
  std::string text;
  SmallVector<Value> operands;
  std::string constraints;
  auto operand = [&](Value value, StringRef constraint) {
    constraints += (operands.empty() ? "" : ",") + constraint.str();
    operands.push_back(value);
    return "$" + std::to_string(operands.size() - 1);
  };
  for (auto op : func.getOps<PipelineOp>()) {
    int64_t writers = 1, readers = 0;
    if (op.getWriter() == Writer::Threads)
      writers = warpsOf(op.getFrom());
    else if (op.getWriter() == Writer::CpAsync)
      writers = warpsOf(op.getFrom()) * kWarpThreads;
    for (StringRef name : op.getTo().getAsValueRange<StringAttr>())
      readers += warpsOf(name);
    std::string base = operand(pipelines.find(op)->second.full, "r");
    int64_t stages = op.getType().getStages();
    for (int64_t i = 0; i < 2 * stages; ++i)
      text += "mbarrier.init.shared::cta.b64 [" + base + "+" +
              std::to_string(i * kBarrierBytes) + "], " +
              std::to_string(i < stages ? writers : readers) + ";\n";
  }
  bool hasPeer = func.walk([](ExchangeOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
  if (hasPeer) {
    peer.ready = sharedAddress(reserveShared(2 * kBarrierBytes, kBarrierBytes));
    peer.full = add(peer.ready, i32(kBarrierBytes));
    std::string base = operand(peer.ready, "r");
    text += "mbarrier.init.shared::cta.b64 [" + base + "], " +
            std::to_string(kWarpgroupWarps) + ";\n";
    text += "mbarrier.init.shared::cta.b64 [" + base + "+" +
            std::to_string(kBarrierBytes) + "], " +
            std::to_string(kWarpgroupWarps * kWarpThreads) + ";\n";
  }
  if (!operands.empty())
    text += "fence.mbarrier_init.release.cluster;\n";
  for (BlockArgument argument : func.getArguments())
    if (isa<TensorMapType>(argument.getType()) && !argument.use_empty())
      text += "prefetch.tensormap [" + operand(scalar(argument), "l") + "];\n";
  if (text.empty())
    return;
  emitIf(cmp(arith::CmpIPredicate::eq, ctaThread, i32(0)),
         [&] { ptx(text, constraints, {}, operands); });
  // Waited for before the roles: the other CTA comes here meanwhile.
  if (hasPeer)
    ptx("barrier.cluster.arrive.release;", "", {}, {});
}

void NVVMEmitter::waitForPeer() {
  if (peer.ready)
    ptx("barrier.cluster.wait.acquire;", "", {}, {});
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

std::pair<Value, Value> NVVMEmitter::position(const PipelineState &state,
                                              Value number) {
  int64_t stages = PipelineOp(state.declaration).getType().getStages();
  // Whole rounds ahead, which acquires are, the stage is the same: it need not
  // be divided for again.
  Value before;
  llvm::APInt ahead;
  if (matchPattern(number, m_Op<arith::AddIOp>(matchers::m_Any(&before),
                                               m_ConstantInt(&ahead))) &&
      ahead.isStrictlyPositive() && ahead.urem(stages) == 0) {
    auto [stage, phase] = position(state, before);
    bool isOdd = ahead.udiv(stages)[0];
    return {stage, isOdd ? xori(phase, i32(1)) : phase};
  }
  if (stages == 1)
    return {i32(0), andi(number, 1)};
  if (llvm::isPowerOf2_64(stages))
    return {andi(number, stages - 1),
            andi(shr(number, llvm::Log2_64(stages)), 1)};
  Value round = arith::DivUIOp::create(b, loc, number, i32(stages));
  return {sub(number, mul(round, i32(stages))), andi(round, 1)};
}

static std::string waitText(StringRef barrier, StringRef parity) {
  return ("retry:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [" +
          barrier + "], " + parity +
          ";\n"
          "@!done bra retry;\n")
      .str();
}

void NVVMEmitter::waitBarrier(Value barrier, Value parity) {
  ptx("{\n.reg .pred done;\n" + waitText("$0", "$1") + "}", "r,r", {},
      {barrier, parity});
}

void NVVMEmitter::mapHeldTiles(Operation *op, Value pipeline, Value stage) {
  PipelineState &state = pipelines.find(pipeline)->second;
  forgetHazards(op);
  for (auto [i, result, address, storage] : llvm::enumerate(
           op->getResults(), state.storages, state.declaration.getStorages())) {
    auto type = cast<SmemType>(storage.getType());
    int64_t stages = type.getStages();
    SharedTile tile;
    tile.address = address;
    if (stages > 1)
      tile.address = add(address, mul(stage, i32(type.getBytes() / stages)));
    tile.rows = type.isMatrix() ? type.getShape()[1] : 1;
    tile.columns = type.getColumns();
    tile.type = cast<TileType>(result.getType());
    tile.storage = op;
    tile.resultNumber = i;
    mapTile(result, tile);
  }
}

/// The copies to the tiles of an acquire.
static llvm::SmallDenseSet<Operation *> copiesTo(AcquireOp op) {
  llvm::SmallDenseSet<Operation *> result;
  SmallVector<Value> tiles(op.getTiles());
  while (!tiles.empty())
    for (Operation *user : tiles.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user))
        tiles.push_back(view);
      else if (isa<TMALoadOp>(user))
        result.insert(user);
    }
  return result;
}

/// Bytes that a block copies, whichever way branches in it go; null if that
/// depends on them, or on trips of a loop.
static std::optional<int64_t>
bytesIn(Block &block, const llvm::SmallDenseSet<Operation *> &copies) {
  int64_t bytes = 0;
  for (Operation &op : block) {
    if (copies.contains(&op)) {
      bytes += cast<TMALoadOp>(op).getBytes();
      continue;
    }
    SmallVector<int64_t> ways;
    for (Region &region : op.getRegions()) {
      int64_t inRegion = 0;
      if (!region.empty()) {
        std::optional<int64_t> some = bytesIn(region.front(), copies);
        if (!some)
          return std::nullopt;
        inRegion = *some;
      }
      ways.push_back(inRegion);
    }
    if (ways.empty() || llvm::all_of(ways, [](int64_t n) { return n == 0; }))
      continue;
    if (!isa<scf::IfOp>(op) || !llvm::all_equal(ways))
      return std::nullopt;
    bytes += ways.front();
  }
  return bytes;
}

/// Bytes of all copies to the tiles of an acquire, which it can announce
/// itself; null if they may be more or less.
static std::optional<int64_t> bytesTo(AcquireOp op) {
  llvm::SmallDenseSet<Operation *> copies = copiesTo(op);
  for (Operation *copy : copies)
    if (!op->getBlock()->findAncestorOpInBlock(*copy))
      return std::nullopt;
  std::optional<int64_t> bytes = bytesIn(*op->getBlock(), copies);
  return bytes && *bytes ? bytes : std::nullopt;
}

bool NVVMEmitter::announcesItself(TMALoadOp op) {
  Operation *acquire = tile(op.getTile()).storage;
  return !isa<AcquireOp>(acquire) || !bytesTo(cast<AcquireOp>(acquire));
}

LogicalResult NVVMEmitter::emitAcquire(AcquireOp op) {
  PipelineState &state = pipelines.find(op.getPipeline())->second;
  auto [stage, phase] = position(state, scalar(op.getNumber()));
  Value offset = shl(stage, 3);
  Value barrier = add(state.released, offset);
  // A fresh barrier is in phase 0, as if one with parity 1 were over.
  Value parity = state.releasedInSameRound ? phase : xori(phase, i32(1));
  Value full = add(state.full, offset);
  mapHeldTiles(op, op.getPipeline(), stage);
  if (state.declaration.getWriter() != Writer::TMA) {
    waitBarrier(barrier, parity);
    return success();
  }
  fullBarriers[op] = full;
  // All lanes wait: the assembler takes what follows a loop of one lane alone
  // for divergent, and keeps addresses out of uniform registers.
  std::string text =
      "{\n.reg .pred done;\n@!$0 bra end;\n" + waitText("$1", "$2") + "end:\n";
  std::string constraints = "b,r,r";
  SmallVector<Value> operands = {inFirstWarp(), barrier, parity};
  if (std::optional<int64_t> bytes = bytesTo(op)) {
    text += "@$4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$3], " +
            std::to_string(*bytes) + ";\n";
    constraints += ",r,b";
    operands.append({full, elected()});
  }
  ptx(text + "}", constraints, {}, operands);
  return success();
}

LogicalResult NVVMEmitter::emitCommit(CommitOp op) {
  PipelineState &state = pipelines.find(op.getPipeline())->second;
  Writer writer = state.declaration.getWriter();
  Value stage = position(state, scalar(op.getNumber())).first;
  Value full = add(state.full, shl(stage, 3));
  if (writer == Writer::CpAsync) {
    ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r", {}, full);
    return success();
  }
  if (writer == Writer::Threads) {
    bool hasStorage = !state.declaration.getStorages().empty();
    if (hasStorage)
      fenceAsync();
    ptx("bar.warp.sync -1;\n"
        "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
        "r,b", {}, {full, cmp(arith::CmpIPredicate::eq, lane(), i32(0))});
    return success();
  }
  // Its acquire has arrived already if it knew what to expect.
  AcquireOp acquire;
  for (Operation *user : op.getPipeline().getUsers())
    if (auto candidate = dyn_cast<AcquireOp>(user))
      if (candidate.getNumber() == op.getNumber() &&
          (!acquire || candidate->getBlock() == op->getBlock()))
        acquire = candidate;
  if (!acquire)
    return op.emitOpError(
        "requires an acquire of the same slot number in the same role");
  if (!bytesTo(acquire)) // behind what the lane that copies has announced
    ptx("bar.warp.sync -1;\n"
        "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
        "r,b", {}, {full, elected()});
  return success();
}

void NVVMEmitter::emitWait(WaitOp op) {
  PipelineState &state = pipelines.find(op.getPipeline())->second;
  auto [stage, phase] = position(state, scalar(op.getNumber()));
  waitBarrier(add(state.full, shl(stage, 3)), phase);
  // Of these copies, only the threads that issued them know.
  if (state.declaration.getWriter() == Writer::CpAsync)
    fenceAsync();
  mapHeldTiles(op, op.getPipeline(), stage);
}

void NVVMEmitter::emitRelease(ReleaseOp op) {
  PipelineState &state = pipelines.find(op.getPipeline())->second;
  Value stage = position(state, scalar(op.getNumber())).first;
  ptx("bar.warp.sync -1;\n"
      "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
      "r,b", {},
      {add(state.empty, shl(stage, 3)),
       cmp(arith::CmpIPredicate::eq, lane(), i32(0))});
}
