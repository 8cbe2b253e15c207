//===- CasesTest.cpp - The suite of mla-jit verify ------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// `mla-jit verify`, a test for each theme: known answers of the case log,
// layouts, masks, types and schedules.
//
//===----------------------------------------------------------------------===//

#include "../../tools/mla-jit/Verify.h"

#include "gtest/gtest.h"

#include <set>

using namespace mla_jit;

static const char *const kThemes[] = {
    "A1",   "A2",    "A5",   "A6",       "A7",    "A10",      "B2",  "B3",
    "E2",   "E6",    "B4",   "B5",       "C1",    "C4",       "cpu", "size",
    "mask", "score", "list", "flashmla", "dtype", "schedule", "gqa", "layout"};

class CasesTest : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Theme, CasesTest, testing::ValuesIn(kThemes),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST_P(CasesTest, Pass) {
  auto engine = llvm::cantFail(PublicEngine::create(Machine()));
  VerifyOptions options;
  options.filter = GetParam();
  std::string table;
  llvm::raw_string_ostream stream(table);
  auto passed = runVerify(*engine, options, stream);
  ASSERT_TRUE(bool(passed)) << llvm::toString(passed.takeError());
  EXPECT_TRUE(*passed) << table;
}

static std::string listOf(const char *filter, bool quick = false) {
  auto engine = llvm::cantFail(PublicEngine::create(Machine()));
  VerifyOptions options;
  options.filter = filter;
  options.list = true;
  options.quick = quick;
  options.randomCases = 0;
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto listed = runVerify(*engine, options, stream);
  return listed ? text : llvm::toString(listed.takeError());
}

TEST(SuiteTest, EveryCaseHasAThemeAndItsOwnName) {
  std::set<llvm::StringRef> names;
  std::string text = listOf("");
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  EXPECT_GT(lines.size(), 300u);
  for (llvm::StringRef line : lines) {
    llvm::StringRef name = line.split(' ').first;
    EXPECT_TRUE(names.insert(name).second) << name.str() << " twice";
    EXPECT_TRUE(llvm::is_contained(kThemes, name.split('.').first))
        << name.str();
  }
}

TEST(SuiteTest, Filters) {
  auto count = [](const std::string &text) { return llvm::count(text, '\n'); };
  EXPECT_EQ(count(listOf("B4")), 14);
  EXPECT_EQ(count(listOf("B4.page6*")), 3 - 0) << "61, 64, 69";
  EXPECT_EQ(count(listOf("B4.page64")), 1);
  EXPECT_EQ(count(listOf("B4.page64, B4.page1")), 2)
      << "page1 is not page16 or page128";
  EXPECT_LT(count(listOf("", /*quick=*/true)), count(listOf("")));
  EXPECT_EQ(listOf("B9"), "--filter: 'B9' fits no case; --list names them");
  EXPECT_NE(listOf("[").find("'[' is no pattern"), std::string::npos);
}
