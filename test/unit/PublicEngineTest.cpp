//===- PublicEngineTest.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the tool's flags become in the C interface.
//
//===----------------------------------------------------------------------===//

#include "../../tools/mla-jit/PublicEngine.h"
#include "../../runtime/src/SpecFields.h"
#include "../../runtime/src/capi/SpecText.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace mla_jit;

TEST(PublicEngineTest, SpecsSurviveTheInterface) {
  using Change = void (*)(Spec &);
  constexpr Change kChanges[] = {
      [](Spec &) {},
      [](Spec &s) { s.qDType = s.outDType = DType::F16; },
      [](Spec &s) { s.kvDType = DType::F32; },
      [](Spec &s) { s.numHeads = 96, s.numKVHeads = 8; },
      [](Spec &s) { s.headDim = 320, s.headDimV = 256, s.ropeDim = 64; },
      [](Spec &s) { s.layout = KVLayout::Dense; },
      [](Spec &s) { s.layout = KVLayout::CSR, s.pageSize = 61; },
      [](Spec &s) { s.tableRows = true, s.tableDType = DType::I64; },
      [](Spec &s) { s.lengthDType = DType::I64, s.raggedQ = true; },
      [](Spec &s) { s.mask = "none"; },
      [](Spec &s) { s.mask = "sliding_window"; },
      [](Spec &s) { s.scoreBody = "mla.yield %score : f32"; },
      [](Spec &s) {
        s.scoreArguments = {{"gain", "f32"}, {"bias", "memref<?xf32>"}};
        s.scoreBody = "mla.yield %score : f32";
      },
      [](Spec &s) { s.rowLocalSplits = true, s.queries = 4; },
      [](Spec &s) { s.alignedStrides = false; },
      [](Spec &s) { s.schedule = "#mla.schedule<block_m = 16>"; },
  };
  for (Change change : kChanges) {
    Spec spec;
    change(spec);
    if (spec.layout == KVLayout::Dense) // has none
      spec.pageSize = Spec().pageSize;
    PublicSpec made(spec);
    auto back = capi::toSpec(made.get(), "host");
    ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
    EXPECT_EQ(specText(*back), specText(spec));
    EXPECT_EQ(back->schedule, spec.schedule);
  }
}

TEST(PublicEngineTest, NumbersThatDoNotFitAreRefused) {
  Spec spec;
  spec.numHeads = (int64_t(1) << 32) + 16;
  auto back = capi::toSpec(PublicSpec(spec).get(), "host");
  ASSERT_FALSE(bool(back));
  EXPECT_NE(llvm::toString(back.takeError()).find("'h_q'"), std::string::npos);
}

TEST(PublicEngineTest, FailuresAreWhole) {
  auto engine = PublicEngine::create(Machine());
  ASSERT_TRUE(bool(engine));
  std::string name = std::string(2000, 'x') + ".mlir";
  auto text = (*engine)->compile("module {", name, "tile");
  auto kernel = (*engine)->prepare("module {", name);
  ASSERT_FALSE(bool(text));
  ASSERT_FALSE(bool(kernel));
  EXPECT_GT(llvm::toString(text.takeError()).size(), 2000u);
  EXPECT_GT(llvm::toString(kernel.takeError()).size(), 2000u);
}

TEST(PublicEngineTest, EachFailureHasItsOwnWholeText) {
  auto engine = PublicEngine::create(Machine());
  ASSERT_TRUE(bool(engine));
  std::atomic<int> numWrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      // Alike for longer than a status is.
      std::string name = std::string(2000, 'x') + std::to_string(i) + ".mlir";
      for (int time = 0; time < 100; ++time) {
        auto kernel = (*engine)->prepare("module {", name);
        std::string text = llvm::toString(kernel.takeError());
        numWrong += text.find(name) == std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numWrong, 0);
}
