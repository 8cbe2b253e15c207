//===- WorkerPoolTest.cpp - Tests of the worker threads -------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/WorkerPool.h"

#include <thread>

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>

using namespace mla_jit;

namespace {
/// Counts the calls of each worker.
struct Calls {
  std::vector<std::atomic<int>> of;
  std::atomic<int> inside = 0, mostInside = 0;
  explicit Calls(int workers) : of(workers) {}

  static void call(void *context, int worker) {
    Calls &calls = *static_cast<Calls *>(context);
    int inside = ++calls.inside;
    int most = calls.mostInside;
    while (most < inside &&
           !calls.mostInside.compare_exchange_weak(most, inside)) {
    }
    ++calls.of[worker];
    --calls.inside;
  }
};
} // namespace

class WorkerPoolTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, WorkerPoolTest, testing::Values(1, 2, 3, 8));

TEST_P(WorkerPoolTest, EveryWorkerRunsOnce) {
  WorkerPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  Calls calls(GetParam());
  for (int run = 1; run <= 200; ++run) {
    pool.run(Calls::call, &calls);
    // All have returned by now.
    for (std::atomic<int> &count : calls.of)
      ASSERT_EQ(count, run);
  }
}

TEST_P(WorkerPoolTest, TheCallerIsWorkerZero) {
  WorkerPool pool(GetParam());
  std::vector<std::thread::id> ids(GetParam());
  pool.run(
      [](void *context, int worker) {
        (*static_cast<std::vector<std::thread::id> *>(context))[worker] =
            std::this_thread::get_id();
      },
      &ids);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST_P(WorkerPoolTest, ConcurrentRunsWaitForEachOther) {
  constexpr int kThreads = 4, kRuns = 100;
  WorkerPool pool(GetParam());
  Calls calls(GetParam());
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < kRuns; ++run)
        pool.run(Calls::call, &calls);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (std::atomic<int> &count : calls.of)
    EXPECT_EQ(count, kThreads * kRuns);
  EXPECT_LE(calls.mostInside, GetParam());
}

TEST_P(WorkerPoolTest, EndsWithoutARun) {
  for (int i = 0; i < 50; ++i)
    WorkerPool pool(GetParam());
}
