//===- MemoryCache.h - Loaded kernels by key --------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_MEMORYCACHE_H
#define MLA_JIT_SRC_CACHE_MEMORYCACHE_H

#include "Key.h"
#include "Stripes.h"

#include <functional>
#include <unordered_map>

namespace mla_jit::cache {

enum class MemoryEvent {
  Hit,
  Miss,     ///< made here, or not at all (find)
  Wait,     ///< another thread was making it
  LeftLong, ///< and takes longer than this one was to wait
  Failed,   ///< to make; not kept
  Evicted,
  Last = Evicted
};

/// Whether to wait for a value that another thread takes long to make.
enum class WaitFor { All, NotLong };

/// What MemoryCache does, for values of any type.
class MemoryCacheBase {
public:
  using Value = std::shared_ptr<void>;
  using Make = std::function<Result<Value>()>;

  explicit MemoryCacheBase(size_t capacity);
  ~MemoryCacheBase();
  MemoryCacheBase(const MemoryCacheBase &) = delete;
  MemoryCacheBase &operator=(const MemoryCacheBase &) = delete;

  Value hit(const CacheKey &key);
  Result<Value> getOrMake(const CacheKey &key, const Make &make, WaitFor wait);
  void takesLong(const CacheKey &key);
  size_t shrink(size_t most);
  size_t size() const { return numValues.load(std::memory_order_relaxed); }
  EventCounts<MemoryEvent> counts;

private:
  struct Flight;
  /// A value, or a flight that will bring one.
  struct Slot {
    StripedPointer<void> value;
    std::shared_ptr<Flight> flight;
    std::atomic<uint64_t> lastUse = 0;
  };
  class Landing;

  void markUsed(Slot &slot);
  void land(const CacheKey &key, const std::shared_ptr<Flight> &flight,
            const Result<Value> &result);
  Result<Value> waitFor(Flight &flight, WaitFor wait);
  StripedPointer<void> dropOldest();

  size_t capacity;
  std::atomic<size_t> numValues = 0;
  /// Goes on with each new value: readers find it unchanged nearly always, and
  /// need not write to what others read.
  std::atomic<uint64_t> clock = 1;
  StripedMutex mutex; // of `slots`; held for a few instructions only
  std::unordered_map<CacheKey, Slot, CacheKeyHash> slots;
};

/// Values by key, made once: who asks while a value is being made waits for it.
/// No lock is held while one is made or destroyed. Failures go to all who wait
/// and are not kept. Above `capacity`, values that nobody else holds are
/// dropped, the longest unused first; so there are never more than `capacity`
/// and what callers hold. In a child process, values that were being made when
/// it was forked are made again.
template <typename T> class MemoryCache {
public:
  using Pointer = std::shared_ptr<T>;

  explicit MemoryCache(size_t capacity) : base(capacity) {}

  /// The value if it is there; never waits for one being made.
  Pointer find(const CacheKey &key) {
    Pointer value = std::static_pointer_cast<T>(base.hit(key));
    if (!value)
      base.counts.add(MemoryEvent::Miss);
    return value;
  }

  /// `make` gives a Result<Pointer>, not null, and runs in the calling thread.
  /// WaitFor::NotLong: the error is Busy once another thread's takesLong.
  template <typename Make>
  Result<Pointer> getOrMake(const CacheKey &key, Make make,
                            WaitFor wait = WaitFor::All) {
    if (MemoryCacheBase::Value value = base.hit(key))
      return std::static_pointer_cast<T>(value);
    auto makeAny = [&]() -> Result<MemoryCacheBase::Value> {
      Result<Pointer> value = make();
      if (!value)
        return value.error();
      return MemoryCacheBase::Value(std::move(*value));
    };
    Result<MemoryCacheBase::Value> value =
        base.getOrMake(key, std::ref(makeAny), wait);
    if (!value)
      return value.error();
    return std::static_pointer_cast<T>(*value);
  }

  /// To be called by `make`, if it does: of the value that it makes.
  void takesLong(const CacheKey &key) { base.takesLong(key); }

  /// Drops all values that nobody else holds. Returns how many.
  size_t trim() { return base.shrink(0); }

  size_t size() const { return base.size(); }
  uint64_t count(MemoryEvent event) const { return base.counts.get(event); }

private:
  MemoryCacheBase base;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_MEMORYCACHE_H
