//===- CacheSpeedTest.cpp - The kernel cache takes no time ----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Bounds that a caller relies on, each on the best of many tries, so that other
// work on the machine does not matter. The figures are printed.
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include "../../runtime/src/cache/MemoryCache.h"

#include <algorithm>
#include <cstdio>
#include <sys/resource.h>
#include <thread>

using namespace mla_jit::cache;
using std::chrono::steady_clock;

static double nsSince(steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(steady_clock::now() - start)
      .count();
}

namespace {
struct CacheSpeedTest : testing::Test {
  void SetUp() override {
    if (kIsSanitized)
      GTEST_SKIP() << "requires a build without sanitizers";
  }
};

/// 1,000 warm keys.
struct Warm {
  static constexpr int kKeys = 1000;
  MemoryCache<int> cache{kKeys};
  std::vector<CacheKey> keys;
  Warm() {
    for (int i = 0; i < kKeys; ++i) {
      keys.push_back(keyOf(i));
      (void)get(i);
    }
  }
  bool get(int i) {
    auto value =
        cache.getOrMake(keys[i], [&]() -> Result<std::shared_ptr<int>> {
          return std::make_shared<int>(i);
        });
    return value && **value == i;
  }
};
} // namespace

TEST_F(CacheSpeedTest, AHitInMemory) {
  Warm warm;
  double best = 1e9;
  for (int run = 0; run < 50; ++run) {
    auto start = steady_clock::now();
    bool right = true;
    for (int i = 0; i < Warm::kKeys; ++i)
      right &= warm.get(i);
    best = std::min(best, nsSince(start) / Warm::kKeys);
    ASSERT_TRUE(right);
  }
  std::printf("memory hit: %.0f ns\n", best);
  EXPECT_LT(best, 1000);
}

namespace {
struct Rate {
  double getsPerSecond = 0;
  double cpuNsPerGet = 1e9; // of each thread: other work does not count
  long sleeps = 0;          // of a thread that waited for another
};
} // namespace

/// Each thread goes through all keys, beginning at another one.
static Rate rateOf(Warm &warm, int numThreads) {
  constexpr int kGets = 50 * Warm::kKeys;
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::atomic<long> cpuNs = 0, sleeps = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (!go)
        std::this_thread::yield();
      struct timespec start, end;
      struct rusage before, after;
      ::getrusage(RUSAGE_THREAD, &before);
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
      for (int i = 0; i < kGets; ++i)
        EXPECT_TRUE(warm.get((i + t * 125) % Warm::kKeys));
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      ::getrusage(RUSAGE_THREAD, &after);
      cpuNs += (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec -
               start.tv_nsec;
      sleeps += after.ru_nvcsw - before.ru_nvcsw;
    });
  while (ready < numThreads)
    std::this_thread::yield();
  auto start = steady_clock::now();
  go = true;
  for (std::thread &thread : threads)
    thread.join();
  double gets = double(numThreads) * kGets;
  return {1e9 * gets / nsSince(start), double(cpuNs) / gets, sleeps};
}

TEST_F(CacheSpeedTest, ThreadsScale) {
  Warm warm;
  Rate best[2];
  long sleeps = 0;
  for (int run = 0; run < 20; ++run)
    for (int many : {0, 1}) {
      Rate rate = rateOf(warm, many ? 8 : 1);
      best[many].getsPerSecond =
          std::max(best[many].getsPerSecond, rate.getsPerSecond);
      best[many].cpuNsPerGet =
          std::min(best[many].cpuNsPerGet, rate.cpuNsPerGet);
      sleeps += rate.sleeps;
    }
  std::printf("1 thread: %.1f M gets/s, %.0f ns each; 8 threads on %u "
              "processors: %.1f M gets/s, %.0f ns each, %ld sleeps\n",
              best[0].getsPerSecond / 1e6, best[0].cpuNsPerGet,
              std::thread::hardware_concurrency(), best[1].getsPerSecond / 1e6,
              best[1].cpuNsPerGet, sleeps);
  EXPECT_LT(best[1].cpuNsPerGet, 2 * best[0].cpuNsPerGet);
  EXPECT_LT(sleeps, 1000); // of 9 million gets
}

TEST_F(CacheSpeedTest, AHitOnTheDisk) {
  TemporaryDirectory directory;
  auto disk = openDisk(directory / "cache");
  // Larger than the IR of all stages and the code of a large kernel.
  CacheKey key = keyOf(1);
  std::string ir = contentOf(keyOf(2), 150 << 10);
  std::vector<std::string> names;
  std::vector<Section> sections;
  for (int i = 0; i < 10; ++i)
    names.push_back("stage" + std::to_string(i));
  for (const std::string &name : names)
    sections.push_back({name, ir});
  ASSERT_TRUE(disk->store(key, *Entry::make(key, "b1", sections)));
  double best = 1e12;
  for (int run = 0; run < 50; ++run) {
    auto start = steady_clock::now();
    auto entry = disk->lookup(key);
    best = std::min(best, nsSince(start));
    ASSERT_TRUE(entry);
  }
  std::printf("disk hit of 1.5 MB: %.2f ms\n", best / 1e6);
  EXPECT_LT(best, 2e6);
}
