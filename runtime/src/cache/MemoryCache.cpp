//===- MemoryCache.cpp - Loaded kernels by key ----------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryCache.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace mla_jit::cache;

/// A value being made.
struct MemoryCacheBase::Flight {
  const pid_t process = ::getpid();
  const std::thread::id thread = std::this_thread::get_id();
  std::mutex mutex;
  std::condition_variable changed;
  bool isLong = false;
  std::optional<Result<Value>> result;
};

MemoryCacheBase::MemoryCacheBase(size_t capacity) : capacity(capacity) {}
MemoryCacheBase::~MemoryCacheBase() = default;

/// Ends a flight, also where `make` is left by an exception: nobody waits for
/// what does not come.
class MemoryCacheBase::Landing {
public:
  Landing(MemoryCacheBase &cache, const CacheKey &key,
          std::shared_ptr<Flight> flight)
      : cache(cache), key(key), flight(std::move(flight)) {}
  ~Landing() {
    if (flight)
      cache.land(key, flight, Error{ErrorKind::NoMemory, "no memory"});
  }
  void land(const Result<Value> &result) {
    cache.land(key, flight, result);
    flight = nullptr;
  }

private:
  MemoryCacheBase &cache;
  const CacheKey &key;
  std::shared_ptr<Flight> flight;
};

void MemoryCacheBase::markUsed(Slot &slot) {
  uint64_t now = clock.load(std::memory_order_relaxed);
  if (slot.lastUse.load(std::memory_order_relaxed) != now)
    slot.lastUse.store(now, std::memory_order_relaxed);
}

MemoryCacheBase::Value MemoryCacheBase::hit(const CacheKey &key) {
  size_t stripe = thisStripe();
  Value value;
  {
    std::shared_lock lock(mutex.stripe(stripe));
    auto found = slots.find(key);
    if (found == slots.end() || !found->second.value)
      return nullptr;
    markUsed(found->second);
    value = found->second.value.copyOf(stripe);
  }
  counts.add(MemoryEvent::Hit);
  return value;
}

Result<MemoryCacheBase::Value> MemoryCacheBase::getOrMake(const CacheKey &key,
                                                          const Make &make,
                                                          WaitFor wait) {
  std::shared_ptr<Flight> flight;
  bool isMine = false;
  {
    std::lock_guard lock(mutex);
    Slot &slot = slots[key];
    if (slot.value) {
      markUsed(slot);
      counts.add(MemoryEvent::Hit);
      return slot.value.copy();
    }
    // The thread of a flight of the parent process is not in this one.
    if (!slot.flight || slot.flight->process != ::getpid()) {
      slot.flight = std::make_shared<Flight>();
      isMine = true;
    }
    flight = slot.flight;
  }
  if (!isMine)
    return waitFor(*flight, wait);

  counts.add(MemoryEvent::Miss);
  Landing landing(*this, key, flight);
  Result<Value> result = make();
  if (result && !*result)
    result = Error{ErrorKind::Invalid, "a value is required, but got none"};
  landing.land(result);
  if (result)
    shrink(capacity);
  return result;
}

void MemoryCacheBase::land(const CacheKey &key,
                           const std::shared_ptr<Flight> &flight,
                           const Result<Value> &result) {
  if (!result)
    counts.add(MemoryEvent::Failed);
  StripedPointer<void> value;
  if (result)
    value = StripedPointer<void>(*result);
  {
    std::lock_guard lock(mutex);
    auto found = slots.find(key);
    // After a fork inside `make`, another may have begun anew.
    bool isMine = found != slots.end() && found->second.flight == flight;
    if (isMine && !result)
      slots.erase(found);
    if (isMine && result) {
      found->second.value = std::move(value);
      found->second.flight = nullptr;
      found->second.lastUse = clock.fetch_add(1) + 1;
      ++numValues;
    }
  }
  std::lock_guard lock(flight->mutex);
  flight->result = result;
  flight->changed.notify_all();
}

void MemoryCacheBase::takesLong(const CacheKey &key) {
  std::shared_ptr<Flight> flight;
  {
    std::lock_guard lock(mutex);
    if (auto found = slots.find(key); found != slots.end())
      flight = found->second.flight;
  }
  if (!flight || flight->thread != std::this_thread::get_id())
    return;
  std::lock_guard lock(flight->mutex);
  flight->isLong = true;
  flight->changed.notify_all();
}

Result<MemoryCacheBase::Value> MemoryCacheBase::waitFor(Flight &flight,
                                                        WaitFor wait) {
  if (flight.thread == std::this_thread::get_id())
    return Error{ErrorKind::Invalid,
                 "a value is required that does not need itself to be made"};
  counts.add(MemoryEvent::Wait);
  std::unique_lock lock(flight.mutex);
  auto isLeft = [&] { return flight.isLong && wait == WaitFor::NotLong; };
  flight.changed.wait(lock, [&] { return flight.result || isLeft(); });
  if (flight.result && (*flight.result || !isLeft()))
    return *flight.result;
  counts.add(MemoryEvent::LeftLong);
  return Error{ErrorKind::Busy, "another thread takes long to make it"};
}

/// Takes the longest unused of the values that nobody holds out of the cache.
/// Looking through all of them is nothing beside making one.
StripedPointer<void> MemoryCacheBase::dropOldest() {
  std::lock_guard lock(mutex);
  auto oldest = slots.end();
  for (auto slot = slots.begin(); slot != slots.end(); ++slot)
    if (slot->second.value && !slot->second.value.isInUse() &&
        (oldest == slots.end() ||
         slot->second.lastUse < oldest->second.lastUse))
      oldest = slot;
  if (oldest == slots.end())
    return {};
  StripedPointer<void> dropped = std::move(oldest->second.value);
  slots.erase(oldest);
  --numValues;
  return dropped;
}

size_t MemoryCacheBase::shrink(size_t most) {
  size_t dropped = 0;
  while (numValues.load() > most) {
    // Destroyed here, without the lock.
    StripedPointer<void> oldest = dropOldest();
    if (!oldest)
      break; // all are in use
    counts.add(MemoryEvent::Evicted);
    ++dropped;
  }
  return dropped;
}
