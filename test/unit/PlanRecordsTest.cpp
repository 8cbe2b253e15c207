//===- PlanRecordsTest.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/PlanRecords.h"

#include "gtest/gtest.h"

#include <thread>

using namespace mla_jit;

namespace {
class PlanRecordsTest : public testing::Test {
protected:
  static PlanValues valuesOf(int64_t batch) {
    return {{"batch", batch}, {"max_ctas", 132}};
  }
  static const void *buffer(uintptr_t number) {
    return reinterpret_cast<const void *>(number << 8);
  }
  bool isRight(const void *plan, const KernelInfo &kernel, int64_t batch) {
    llvm::Error error = records.check(plan, kernel, valuesOf(batch));
    bool isRight = !error;
    llvm::consumeError(std::move(error));
    return isRight;
  }

  PlanRecords records;
  std::shared_ptr<const KernelInfo> kernel = std::make_shared<KernelInfo>(),
                                    other = std::make_shared<KernelInfo>();
};
} // namespace

TEST_F(PlanRecordsTest, NewVersionOnlyWhereChecksChange) {
  uint64_t none = records.version();
  records.add(buffer(1), kernel, valuesOf(1));
  uint64_t first = records.version();
  EXPECT_NE(first, none);
  records.add(buffer(1), kernel, valuesOf(1));
  EXPECT_EQ(records.version(), first);
  records.add(buffer(1), kernel, valuesOf(2));
  uint64_t second = records.version();
  EXPECT_NE(second, first);
  records.add(buffer(1), other, valuesOf(2));
  EXPECT_NE(records.version(), second);
  EXPECT_TRUE(isRight(buffer(1), *other, 2));
  EXPECT_FALSE(isRight(buffer(1), *kernel, 2));
}

TEST_F(PlanRecordsTest, ForgetsTheOldest) {
  for (size_t i = 0; i <= PlanRecords::kMaxRecords; ++i) {
    records.add(buffer(1 + i), kernel, valuesOf(1));
    records.add(buffer(1), kernel, valuesOf(1)); // never the oldest
  }
  EXPECT_TRUE(isRight(buffer(1), *kernel, 1));
  EXPECT_FALSE(isRight(buffer(2), *kernel, 1));
  EXPECT_TRUE(isRight(buffer(3), *kernel, 1));
}

// Each thread makes plans in buffers of its own, and all have one in common. A
// version that was read before a check that holds promises that as long as it
// is the same.
TEST_F(PlanRecordsTest, ByManyThreads) {
  constexpr size_t kThreads = 4, kRounds = 4000;
  std::atomic<size_t> wrong = 0;
  auto work = [&](size_t thread) {
    for (size_t round = 0; round < kRounds; ++round) {
      const void *mine = buffer(100 + thread * 2000 + round % 1500);
      records.add(mine, thread % 2 ? kernel : other, valuesOf(thread));
      wrong += !isRight(mine, thread % 2 ? *kernel : *other, thread);
      records.add(buffer(1), kernel, valuesOf(round / 100 % 2));
      uint64_t version = records.version();
      bool before = isRight(buffer(1), *kernel, 0);
      bool after = isRight(buffer(1), *kernel, 0);
      wrong += before != after && records.version() == version;
    }
  };
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
}
