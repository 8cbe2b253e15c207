//===- Hazards.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Program order among the threads of a role: which barriers and fences it takes
// that a tile is read as it was written. Barriers are all-or-nothing, so what
// is tracked is what happened since the last one.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"

using namespace mlir;
using namespace mlir::mla_gpu;

void NVVMEmitter::Hazards::merge(const Hazards &other) {
  auto add = [](SmallVector<Access> &mine, const SmallVector<Access> &theirs) {
    for (const Access &access : theirs)
      if (!llvm::is_contained(mine, access))
        mine.push_back(access);
  };
  add(stores, other.stores);
  add(reads, other.reads);
  add(runningReads, other.runningReads);
  unfenced |= other.unfenced;
}

NVVMEmitter::Access NVVMEmitter::accessOf(const SharedTile &tile,
                                          Operation *op) {
  return {tile.storage, tile.resultNumber, tile.beginColumn,
          tile.beginColumn + tile.type.getColumns(), op};
}

/// Whether some access is to columns of the other's.
template <typename Access>
static bool overlaps(ArrayRef<Access> accesses, const Access &with) {
  return llvm::any_of(accesses, [&](const Access &access) {
    return access.storage == with.storage &&
           access.resultNumber == with.resultNumber &&
           access.begin < with.end && with.begin < access.end;
  });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void NVVMEmitter::fenceAsync() {
  ptx("fence.proxy.async.shared::cta;", "", {}, {});
  hazards.unfenced = false;
}

void NVVMEmitter::roleBarrier() {
  if (hazards.unfenced)
    fenceAsync();
  hazards.stores.clear();
  hazards.reads.clear();
  ++numBarriers;
  if (role.warps == 1) {
    ptx("bar.warp.sync -1;", "", {}, {});
    return;
  }
  std::string threads = std::to_string(roleThreads());
  if (role.barrierOffset)
    ptx("bar.sync $0, " + threads + ";", "r", {},
        add(role.barrierOffset, i32(role.barrier)));
  else
    ptx("bar.sync " + std::to_string(role.barrier) + ", " + threads + ";", "",
        {}, {});
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void NVVMEmitter::beforeStore(const SharedTile &tile) {
  Access access = accessOf(tile);
  if (overlaps<Access>(hazards.stores, access) ||
      overlaps<Access>(hazards.reads, access) ||
      overlaps<Access>(hazards.runningReads, access))
    roleBarrier();
}

void NVVMEmitter::afterStore(const SharedTile &tile) {
  hazards.stores.push_back(accessOf(tile));
  hazards.unfenced = true;
}

void NVVMEmitter::beforeLoad(const SharedTile &tile) {
  Access access = accessOf(tile);
  if (overlaps<Access>(hazards.stores, access))
    roleBarrier();
  hazards.reads.push_back(access);
}

void NVVMEmitter::beforeMmaReads(ArrayRef<SharedTile> tiles) {
  if (llvm::any_of(tiles, [&](const SharedTile &tile) {
        return overlaps<Access>(hazards.stores, accessOf(tile));
      }))
    roleBarrier();
}

void NVVMEmitter::afterMmaReads(ArrayRef<SharedTile> tiles) {
  for (const SharedTile &tile : tiles)
    hazards.runningReads.push_back(accessOf(tile, currentOp));
}

void NVVMEmitter::endMmaReads(MmaWaitOp op) {
  // MMAs end in order. Of one that is not known, none is known to have ended.
  Operation *waited = op.getValue().getDefiningOp();
  auto &running = hazards.runningReads;
  auto last = llvm::find_if(llvm::reverse(running), [&](const Access &access) {
    return access.op == waited;
  });
  auto end = waited ? last.base() : running.begin();
  for (Access access : llvm::make_range(running.begin(), end)) {
    access.op = nullptr;
    hazards.reads.push_back(access);
  }
  running.erase(running.begin(), end);
}

void NVVMEmitter::forgetHazards(Operation *storage) {
  auto forget = [&](SmallVector<Access> &accesses) {
    llvm::erase_if(accesses, [&](const Access &access) {
      return access.storage == storage;
    });
  };
  forget(hazards.stores);
  forget(hazards.reads);
  forget(hazards.runningReads);
}

void NVVMEmitter::assumeAccesses(scf::ForOp loop) {
  // Tiles that the role has for the whole loop: allocated ones, and those of
  // slots that it holds around it.
  auto tileBefore = [&](Value value) -> const SharedTile * {
    while (auto view = value.getDefiningOp<ViewOp>())
      value = view.getTile();
    auto found = tiles.find(value);
    bool isInside = loop.getRegion().isAncestor(value.getParentRegion());
    return found == tiles.end() || isInside ? nullptr : found->second.get();
  };
  bool runsOn = llvm::any_of(loop.getResultTypes(),
                             [](Type type) { return isa<InflightType>(type); });
  SmallVector<Access> stores, reads, runningReads;
  loop.getBody()->walk([&](Operation *op) {
    if (isa<ViewOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<TileType>(operand.getType()))
        continue;
      const SharedTile *tile = tileBefore(operand);
      if (!tile)
        continue;
      if (isa<StoreSharedOp, ClearRowsOp, GatherOp>(op))
        stores.push_back(accessOf(*tile));
      else if (isa<MmaOp>(op) && runsOn)
        runningReads.push_back(accessOf(*tile, op));
      else
        reads.push_back(accessOf(*tile));
    }
  });
  // A tile that is stored inside needs its barrier there anyway.
  if (llvm::any_of(llvm::concat<Access>(reads, runningReads),
                   [&](const Access &access) {
                     return overlaps<Access>(hazards.stores, access) &&
                            !overlaps<Access>(stores, access);
                   }))
    roleBarrier();
  hazards.merge({stores, reads, runningReads});
}
