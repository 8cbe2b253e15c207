//===- KernelStoreEvents.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a host is told, and what is counted for it.
//
//===----------------------------------------------------------------------===//

#include "KernelStore.h"

namespace mla_jit {

/// Of the outermost Silence of this thread, or null.
static thread_local std::vector<EngineEvent> *untold = nullptr;

KernelStore::Silence::Silence(const KernelStore &store)
    : store(store), isOutermost(!untold) {
  if (isOutermost)
    untold = &events;
}

KernelStore::Silence::~Silence() {
  if (!isOutermost)
    return;
  untold = nullptr; // what hosts call from an event has a silence of its own
  try {
    for (const EngineEvent &event : events)
      store.onEvent(event);
  } catch (...) { // of the host's callback
  }
}

void KernelStore::tell(EngineEvent::Kind kind, const KernelKeys *keys,
                       double seconds, std::string message) const {
  if (!onEvent)
    return;
  EngineEvent event{kind, seconds, std::move(message), {}, {}};
  if (keys) {
    event.digest = keys->local.digest().hex();
    event.key = keys->local.text();
  }
  if (untold)
    untold->push_back(std::move(event));
  else
    onEvent(event);
}

EngineCounters KernelStore::counters() const {
  EngineCounters counts;
  counts.memoryHits = memory.count(cache::MemoryEvent::Hit);
  counts.memoryMisses = memory.count(cache::MemoryEvent::Miss);
  counts.evictions = memory.count(cache::MemoryEvent::Evicted);
  counts.archiveHits = archiveHits;
  counts.diskHits = diskHits;
  counts.compiles = compiles;
  counts.compileFailures = compileFailures;
  counts.compileNanoseconds = compileNanoseconds;
  counts.forbidden = forbidden;
  counts.kernelsInMemory = memory.size();
  if (!disk)
    return counts;
  counts.stored = disk->count(cache::DiskEvent::Stored);
  counts.storeFailures = disk->count(cache::DiskEvent::StoreFailed);
  counts.damaged = disk->count(cache::DiskEvent::Damaged);
  counts.peerWaits = disk->count(cache::DiskEvent::PeerWait);
  counts.peerTimeouts = disk->count(cache::DiskEvent::PeerTimeout);
  return counts;
}

} // namespace mla_jit
