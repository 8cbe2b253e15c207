//===- PropertyTest.cpp - Random problems against the oracle --------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Random specs and shapes. A failure prints its seed and case; repeat it with
//   mla-jit verify --filter random.N --seed S
//
//===----------------------------------------------------------------------===//

#include "../../tools/mla-jit/Verify.h"

#include "gtest/gtest.h"

using namespace mla_jit;

class PropertyTest : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, PropertyTest, testing::Values(20, 21, 22));

TEST_P(PropertyTest, RandomProblemsMatchTheOracle) {
  auto engine = llvm::cantFail(PublicEngine::create(Machine()));
  VerifyOptions options;
  options.filter = "random";
  options.seed = GetParam();
  options.randomCases = 8;
  RecordProperty("seed", std::to_string(options.seed));
  std::string table;
  llvm::raw_string_ostream stream(table);
  auto passed = runVerify(*engine, options, stream);
  ASSERT_TRUE(bool(passed)) << llvm::toString(passed.takeError());
  EXPECT_TRUE(*passed) << "seed " << options.seed << "\n" << table;
}

TEST(RandomCasesTest, DependOnSeedAndNumberOnly) {
  auto engine = llvm::cantFail(PublicEngine::create(Machine()));
  auto list = [&](const char *filter, uint64_t seed, int count) {
    VerifyOptions options;
    options.filter = filter;
    options.list = true;
    options.seed = seed;
    options.randomCases = count;
    std::string text;
    llvm::raw_string_ostream stream(text);
    EXPECT_TRUE(llvm::cantFail(runVerify(*engine, options, stream)));
    return text;
  };
  EXPECT_EQ(list("random.3", 5, 4), list("random.3", 5, 50));
  EXPECT_EQ(list("random.3", 5, 0), list("random.3", 5, 50));
  EXPECT_NE(list("random.3", 5, 4), list("random.3", 6, 4));
}
