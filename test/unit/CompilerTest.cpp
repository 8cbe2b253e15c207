//===- CompilerTest.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Compiler.h"
#include "gtest/gtest.h"

using namespace mla_jit;

/// Of DeepSeek-V3's decode, which has two entries.
static CompileRequest request(unsigned threads) {
  CompileRequest result;
  result.mlir = llvm::cantFail(buildProblemText(Spec()));
  result.name = "spec";
  result.chip = "sm_90a";
  result.alignedStrides = true;
  result.verifyProtocol = false;
  result.keepStages = true;
  result.entryThreads = threads;
  result.trail = std::make_shared<CompileTrail>();
  return result;
}

// With a thread to spare the last text is printed beside LLVM's passes.
TEST(Compiler, StagesAreTheSameWithAnyNumberOfThreads) {
  CompileRequest alone = request(1), beside = request(4);
  auto a = compile(alone, Stage::PTX), b = compile(beside, Stage::PTX);
  ASSERT_TRUE(bool(a)) << llvm::toString(a.takeError());
  ASSERT_TRUE(bool(b)) << llvm::toString(b.takeError());
  ASSERT_EQ(a->info->entries.size(), 2u);
  EXPECT_TRUE(a->text == b->text);
  ASSERT_EQ(a->stages.size(), 4u);
  ASSERT_EQ(b->stages.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(a->stages[i].first, b->stages[i].first);
    EXPECT_TRUE(a->stages[i].second == b->stages[i].second);
  }
  EXPECT_TRUE(alone.trail->given() == beside.trail->given());
  EXPECT_EQ(beside.trail->given().first, "nvvm");
  // What inline PTX returns has a short name.
  EXPECT_NE(b->stages.back().second.find("!registers"), std::string::npos);
}
