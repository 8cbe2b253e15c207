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
#include <sched.h>
#include <shared_mutex>

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
