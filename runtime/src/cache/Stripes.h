//===- Stripes.h - State that readers do not share --------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What every reader writes to (a lock, a count) is kept once for each of a few
// stripes, so that readers on different processors write to different cache
// lines: that, not the instructions, is what keeps threads from scaling.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_STRIPES_H
#define MLA_JIT_SRC_CACHE_STRIPES_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <sched.h>
#include <shared_mutex>
#include <utility>

namespace mla_jit::cache {

inline constexpr size_t kStripes = 32;

/// The stripe of this processor. Right on any other one too, if slower.
inline size_t thisStripe() {
  int processor = ::sched_getcpu();
  return processor < 0 ? 0 : static_cast<size_t>(processor) % kStripes;
}

/// A reader locks one stripe, a writer all of them.
class StripedMutex {
public:
  std::shared_mutex &stripe(size_t i) { return stripes[i].mutex; }
  void lock() {
    for (Stripe &stripe : stripes)
      stripe.mutex.lock();
  }
  void unlock() {
    for (Stripe &stripe : stripes)
      stripe.mutex.unlock();
  }

private:
  struct alignas(64) Stripe {
    std::shared_mutex mutex;
  };
  std::array<Stripe, kStripes> stripes;
};

/// A value with a reference count for each stripe, so that threads which take
/// and drop it do not write to one count. A count has a cache line of its own.
template <typename T> class StripedPointer {
public:
  StripedPointer() = default;
  explicit StripedPointer(std::shared_ptr<T> given) : value(std::move(given)) {
    for (std::shared_ptr<T> &copy : copies)
      copy = std::shared_ptr<T>(value.get(), Hold{value, {}});
  }

  T *get() const { return value.get(); }
  T *operator->() const { return get(); }
  explicit operator bool() const { return value != nullptr; }
  const std::shared_ptr<T> &copyOf(size_t stripe) const {
    return copies[stripe];
  }
  const std::shared_ptr<T> &copy() const { return copyOf(thisStripe()); }

  /// Whether anybody else holds it.
  bool isInUse() const {
    for (const std::shared_ptr<T> &copy : copies)
      if (copy.use_count() > 1)
        return true;
    return value.use_count() > static_cast<long>(1 + kStripes);
  }

private:
  /// What a count keeps instead of deleting something.
  struct Hold {
    std::shared_ptr<T> value;
    char apart[64];
    void operator()(T *) const {}
  };
  std::shared_ptr<T> value;
  std::array<std::shared_ptr<T>, kStripes> copies;
};

/// A counter for each value of `Event`, an enumeration that ends in Last.
template <typename Event> class EventCounts {
public:
  void add(Event event) {
    stripes[thisStripe()].counts[static_cast<size_t>(event)].fetch_add(
        1, std::memory_order_relaxed);
  }

  uint64_t get(Event event) const {
    uint64_t sum = 0;
    for (const Stripe &stripe : stripes)
      sum += stripe.counts[static_cast<size_t>(event)].load(
          std::memory_order_relaxed);
    return sum;
  }

private:
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, static_cast<size_t>(Event::Last) + 1>
        counts = {};
  };
  std::array<Stripe, kStripes> stripes;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_STRIPES_H
