//===- CacheMemoryTest.cpp - Tests of the cache in memory -----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include "../../runtime/src/cache/MemoryCache.h"

using namespace mla_jit::cache;
using namespace std::chrono_literals;

namespace {
/// Counts how many there are.
struct Kernel {
  static inline std::atomic<int> alive = 0;
  int number;
  explicit Kernel(int number) : number(number) { ++alive; }
  ~Kernel() { --alive; }
};
using Kernels = MemoryCache<Kernel>;
using KernelResult = Result<std::shared_ptr<Kernel>>;
} // namespace

static KernelResult get(Kernels &cache, int i) {
  return cache.getOrMake(
      keyOf(i), [&]() -> KernelResult { return std::make_shared<Kernel>(i); });
}

TEST(CacheMemoryTest, MakesOnce) {
  Kernels cache(10);
  EXPECT_EQ(cache.find(keyOf(1)), nullptr);
  auto first = get(cache, 1), second = get(cache, 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ(cache.find(keyOf(1)), *first);
  EXPECT_EQ((*get(cache, 2))->number, 2);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.count(MemoryEvent::Hit), 2u);
  EXPECT_EQ(cache.count(MemoryEvent::Miss), 3u);
}

TEST(CacheMemoryTest, OneThreadMakesAndTheOthersWait) {
  Kernels cache(10);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      auto kernel = cache.getOrMake(keyOf(1), [&]() -> KernelResult {
        ++made;
        // All others are waiting by now, and none of them holds us up.
        while (cache.count(MemoryEvent::Wait) < 7)
          std::this_thread::yield();
        return std::make_shared<Kernel>(1);
      });
      EXPECT_EQ((*kernel)->number, 1);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
}

TEST(CacheMemoryTest, AllWhoWaitedGetTheFailureAndItIsNotKept) {
  Kernels cache(10);
  auto cause = std::make_shared<int>(42);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto kernel = cache.getOrMake(keyOf(1), [&]() -> KernelResult {
        ++made;
        while (cache.count(MemoryEvent::Wait) < 3)
          std::this_thread::yield();
        return Error{ErrorKind::Failed, "no", 0, cause};
      });
      ASSERT_FALSE(kernel);
      EXPECT_EQ(kernel.error().message, "no");
      EXPECT_EQ(kernel.error().cause, cause);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.count(MemoryEvent::Failed), 1u);
  EXPECT_TRUE(get(cache, 1));
}

TEST(CacheMemoryTest, OtherKeysDoNotWait) {
  Kernels cache(100);
  auto outer = cache.getOrMake(keyOf(0), [&]() -> KernelResult {
    // Some of these share a shard with the one being made.
    for (int i = 1; i < 80; ++i)
      EXPECT_TRUE(get(cache, i));
    EXPECT_EQ(cache.find(keyOf(0)), nullptr);
    return std::make_shared<Kernel>(0);
  });
  EXPECT_TRUE(outer);
  EXPECT_EQ(cache.size(), 80u);
}

TEST(CacheMemoryTest, AValueThatNeedsItselfIsAnError) {
  Kernels cache(10);
  auto outer = cache.getOrMake(keyOf(0), [&]() -> KernelResult {
    auto inner = get(cache, 0);
    EXPECT_EQ(inner.error().kind, ErrorKind::Invalid);
    return std::make_shared<Kernel>(0);
  });
  EXPECT_TRUE(outer);
  auto none = cache.getOrMake(
      keyOf(1), []() -> KernelResult { return std::shared_ptr<Kernel>(); });
  EXPECT_EQ(none.error().kind, ErrorKind::Invalid);
}

TEST(CacheMemoryTest, SomeDoNotWaitForWhatTakesLong) {
  for (bool isLong : {false, true}) {
    Kernels cache(10);
    std::atomic<bool> started = false, isWaitedFor = false, goOn = false;
    std::thread maker([&] {
      EXPECT_TRUE(cache.getOrMake(keyOf(1), [&]() -> KernelResult {
        cache.takesLong(keyOf(2)); // none of this thread's
        started = true;
        while (!isWaitedFor)
          std::this_thread::yield();
        if (isLong)
          cache.takesLong(keyOf(1));
        while (!goOn)
          std::this_thread::yield();
        return std::make_shared<Kernel>(1);
      }));
    });
    while (!started)
      std::this_thread::yield();
    cache.takesLong(keyOf(1)); // nor this one
    std::thread waiter([&] {
      auto waited = cache.getOrMake(
          keyOf(1),
          [&]() -> KernelResult { return std::make_shared<Kernel>(9); },
          WaitFor::NotLong);
      if (isLong)
        EXPECT_EQ(waited.error().kind, ErrorKind::Busy);
      else
        EXPECT_EQ((*waited)->number, 1);
    });
    while (!cache.count(MemoryEvent::Wait))
      std::this_thread::yield();
    isWaitedFor = true;
    if (isLong)
      waiter.join();
    goOn = true;
    maker.join();
    if (!isLong)
      waiter.join();
    EXPECT_EQ(cache.count(MemoryEvent::LeftLong), isLong ? 1u : 0u);
    EXPECT_EQ((*get(cache, 1))->number, 1);
  }
}

TEST(CacheMemoryTest, DropsTheLongestUnused) {
  Kernels cache(3);
  for (int i : {0, 1, 2, 0, 3})
    ASSERT_TRUE(get(cache, i));
  EXPECT_TRUE(cache.find(keyOf(0)));
  EXPECT_FALSE(cache.find(keyOf(1)));
  EXPECT_TRUE(cache.find(keyOf(2)));
  EXPECT_TRUE(cache.find(keyOf(3)));
  EXPECT_EQ(cache.count(MemoryEvent::Evicted), 1u);
}

TEST(CacheMemoryTest, WhatIsInUseStays) {
  int before = Kernel::alive;
  {
    Kernels cache(2);
    auto held = *get(cache, 0);
    for (int i = 1; i < 50; ++i)
      ASSERT_TRUE(get(cache, i));
    EXPECT_EQ(*get(cache, 0), held); // found, not made again
    EXPECT_EQ(cache.size(), 2u);
    // More in use than the capacity.
    std::vector<std::shared_ptr<Kernel>> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(*get(cache, i));
    EXPECT_EQ(cache.size(), 5u);
    EXPECT_EQ(cache.trim(), 0u);
    all.clear();
    EXPECT_EQ(cache.trim(), 4u);
    EXPECT_EQ(Kernel::alive, before + 1);
    EXPECT_EQ(cache.find(keyOf(0)), held);
  }
  EXPECT_EQ(Kernel::alive, before);
}

TEST(CacheMemoryTest, ValuesOutliveTheCache) {
  std::shared_ptr<Kernel> held;
  {
    Kernels cache(1);
    held = *get(cache, 5);
  }
  EXPECT_EQ(held->number, 5);
}

// A value may use the cache when it ends: no lock is held.
TEST(CacheMemoryTest, ValuesEndWithoutALock) {
  struct Curious {
    MemoryCache<Curious> *cache;
    ~Curious() {
      if (cache)
        for (int i = 0; i < 100; ++i)
          cache->find(keyOf(i));
    }
  };
  MemoryCache<Curious> cache(1);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(cache.getOrMake(keyOf(i), [&] {
      return Result(std::make_shared<Curious>(Curious{nullptr}));
    }));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(
        cache.getOrMake(keyOf(i), [&]() -> Result<std::shared_ptr<Curious>> {
          auto value = std::make_shared<Curious>(Curious{nullptr});
          value->cache = &cache;
          return value;
        }));
  (*cache.getOrMake(keyOf(99), []() -> Result<std::shared_ptr<Curious>> {
    return Error{};
  }))->cache = nullptr; // the last ends with the cache itself
}

TEST(CacheMemoryTest, ManyThreadsManyKeysLittleRoom) {
  int before = Kernel::alive;
  {
    Kernels cache(16);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        std::vector<std::shared_ptr<Kernel>> held(3);
        for (int i = 0; i < 2000; ++i) {
          int number = (i * 37 + t * 11) % 50;
          auto kernel = get(cache, number);
          ASSERT_TRUE(kernel);
          ASSERT_EQ((*kernel)->number, number);
          held[i % 3] = *kernel;
          if (i % 500 == 0)
            cache.trim();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    cache.trim();
    EXPECT_EQ(Kernel::alive, before);
    EXPECT_EQ(cache.size(), 0u);
  }
}

/// Kilobytes in memory.
static long residentKiB() {
  std::ifstream status("/proc/self/statm");
  long pages = 0, resident = 0;
  status >> pages >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

TEST(CacheMemoryTest, MemoryDoesNotGrowWithTheNumberOfKeys) {
  int before = Kernel::alive;
  struct Large : Kernel {
    std::vector<char> code = std::vector<char>(100 << 10, 1);
    using Kernel::Kernel;
  };
  Kernels cache(64);
  std::vector<long> samples;
  auto inUse = *get(cache, -1);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(cache.getOrMake(keyOf(i), [&]() -> KernelResult {
      return std::shared_ptr<Kernel>(std::make_shared<Large>(i));
    }));
    ASSERT_LE(Kernel::alive, before + 65);
    if (i % 100 == 99)
      samples.push_back(residentKiB());
  }
  EXPECT_EQ(cache.find(keyOf(-1)), inUse);
  EXPECT_EQ(cache.size(), 64u);
  RecordProperty("resident KiB after 100", static_cast<int>(samples.front()));
  RecordProperty("resident KiB after 2000", static_cast<int>(samples.back()));
  // 1,900 more would be 190 MB.
  if (!kIsSanitized)
    EXPECT_LT(samples.back(), samples.front() + (20 << 10));
}

TEST(CacheMemoryTest, AChildProcessMakesWhatItsParentWasMaking) {
  Kernels cache(10);
  ASSERT_TRUE(get(cache, 0));
  std::atomic<bool> started = false, goOn = false;
  std::thread parent([&] {
    EXPECT_TRUE(cache.getOrMake(keyOf(1), [&]() -> KernelResult {
      started = true;
      while (!goOn)
        std::this_thread::yield();
      return std::make_shared<Kernel>(1);
    }));
  });
  while (!started)
    std::this_thread::yield();
  int status = inChild([&] {
    bool right = cache.find(keyOf(0)) && (*get(cache, 1))->number == 1 &&
                 cache.size() == 2;
    return right ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  goOn = true;
  parent.join();
  EXPECT_EQ(cache.size(), 2u);
}
