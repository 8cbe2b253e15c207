//===- SideBySideTest.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/SideBySide.h"

#include "gtest/gtest.h"

#include <new>

using namespace mla_jit;

TEST(SideBySideTest, DoesAllOnSoManyThreads) {
  for (unsigned threads : {1u, 3u, 8u}) {
    std::atomic<int> done = 0, running = 0, most = 0;
    runSideBySide(20, threads, [&](size_t) {
      int now = ++running;
      for (int seen = most;
           seen < now && !most.compare_exchange_weak(seen, now);)
        ;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --running;
      ++done;
    });
    EXPECT_EQ(done, 20);
    EXPECT_LE(most, int(threads));
  }
  runSideBySide(0, 4, [](size_t) { FAIL(); });
}

TEST(SideBySideTest, HandsOnWhatAThreadThrows) {
  for (size_t bad : {0, 5, 9}) {
    std::atomic<int> begun = 0;
    auto body = [&](size_t i) {
      ++begun;
      if (i == bad)
        throw std::bad_alloc();
    };
    EXPECT_THROW(runSideBySide(10, 3, body), std::bad_alloc);
    EXPECT_GT(begun, 0);
  }
}

TEST(ThreadBudgetTest, SharesAreNoMoreThanTheLimit) {
  ThreadBudget budget;
  auto pool = budget.take(8, 5);
  EXPECT_EQ(pool.threads(), 5u);
  {
    auto first = budget.take(8, 2), second = budget.take(8, 4);
    EXPECT_EQ(first.threads(), 2u);
    EXPECT_EQ(second.threads(), 1u);
    // The calling thread is there in any case.
    EXPECT_EQ(budget.take(8, 4).threads(), 1u);
  }
  EXPECT_EQ(budget.take(8, 4).threads(), 3u);
}
