//===- EngineTest.cpp - Tests of compilation through the engine -----------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallKernel.h"

#include <thread>

using namespace mla_jit;

/// What the engine says against a small spec with a change.
static std::string refusal(llvm::function_ref<void(Spec &)> change) {
  Spec spec = smallSpec();
  change(spec);
  std::string support = textOf(smallEngine().isSupported(spec));
  auto kernel = smallEngine().prepare(spec);
  std::string prepared = textOf(kernel.takeError());
  EXPECT_EQ(support, prepared) << "isSupported and prepare disagree";
  return prepared;
}

TEST(EngineTest, RefusesBadSpecs) {
  expectParts(refusal([](Spec &s) { s.headDim = 577; }),
              {"'d_qk'", "multiple of 8", "577"});
  expectParts(refusal([](Spec &s) { s.headDimV = 20; }),
              {"'d_v'", "multiple of 8", "20"});
  expectParts(refusal([](Spec &s) { s.headDimV = 80; }),
              {"'d_v'", "at most 72", "80"});
  expectParts(refusal([](Spec &s) { s.ropeDim = 16; }),
              {"'d_v'", "at most 56", "64"});
  expectParts(refusal([](Spec &s) { s.ropeDim = 72; }), {"'d_rope'", "72"});
  expectParts(refusal([](Spec &s) { s.ropeDim = -8; }), {"'d_rope'", "-8"});
  expectParts(refusal([](Spec &s) { s.numKVHeads = 3; }),
              {"'h_q'", "multiple of h_kv = 3", "4"});
  expectParts(refusal([](Spec &s) { s.numHeads = 0; }),
              {"'h_q'", "positive", "0"});
  expectParts(refusal([](Spec &s) { s.numKVHeads = -1; }),
              {"'h_kv'", "positive", "-1"});
  expectParts(refusal([](Spec &s) { s.pageSize = 0; }),
              {"'page_size'", "positive", "0"});
  expectParts(refusal([](Spec &s) { s.kvDType = DType::I32; }),
              {"'kv_dtype'", "i32"});
  expectParts(refusal([](Spec &s) { s.outDType = DType::None; }),
              {"'out_dtype'", "none"});
  expectParts(refusal([](Spec &s) { s.tableDType = DType::F32; }),
              {"'table_dtype'", "f32"});
  expectParts(refusal([](Spec &s) { s.mask = "diagonal"; }),
              {"'mask'", "diagonal"});
  expectParts(refusal([](Spec &s) {
                s.layout = KVLayout::Dense;
                s.tableRows = true;
              }),
              {"'table_rows'", "dense"});
  EXPECT_EQ(textOf(smallEngine().isSupported(smallSpec())), "");
}

TEST(EngineTest, RefusesBadText) {
  // A bad schedule, bad score code, bad MLIR: an error value each time, and the
  // engine works on.
  EXPECT_NE(refusal([](Spec &s) { s.schedule = "#mla.schedule<nonsense>"; }),
            "");
  EXPECT_NE(refusal([](Spec &s) { s.scoreBody = "mla.yield %nothing : f32"; }),
            "");
  for (const char *text :
       {"", "func.func @f() {", "func.func @f() { return }", "\xFF\xFE"}) {
    auto kernel = smallEngine().prepare(text, "test.mlir");
    EXPECT_NE(textOf(kernel.takeError()), "") << text;
  }
  EXPECT_NE(textOf(Engine({.cpu = "i386-sx"}).prepare(smallSpec()).takeError()),
            "");
  EXPECT_TRUE(bool(smallEngine().prepare(smallSpec())));
}

TEST(EngineTest, TellsRefusalsFromMistakes) {
  Engine gpu({.target = TargetKind::CUDA, .chip = "sm_90a"});
  auto expect = [](llvm::Error error, bool isRefusal, const char *part) {
    EXPECT_EQ(error.isA<UnsupportedError>(), isRefusal) << part;
    expectParts(textOf(std::move(error)), {part});
  };
  Spec spec = smallSpec();
  expect(gpu.isSupported(spec), true, "has no schedule for target 'cuda'");
  spec.headDim = 192;
  spec.headDimV = 128;
  EXPECT_EQ(textOf(gpu.isSupported(spec)), "");
  spec.schedule = "#mla.schedule<keys_as_m, block_m = 8, block_n = 32, split = "
                  "balanced, split_tiles = 1, stages = 2, row_blocks = 1, "
                  "copy = gather>";
  expect(gpu.isSupported(spec), true, "block_n = 64 is required");
  spec.schedule = "";
  spec.scoreBody = "mla.yield %nothing : f32";
  expect(gpu.isSupported(spec), false, "undeclared SSA value");

  // No stage refuses as such: this one chose how to compute, of wrong IR.
  auto text =
      gpu.compile("func.func @f() attributes {mla.entry = 0} { return }",
                  "test.mlir", Stage::GPU);
  expect(text.takeError(), false, "stage 'gpu'");
}

TEST(EngineTest, CompilesInManyThreads) {
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  threads.reserve(texts.size());
  for (std::string &text : texts)
    threads.emplace_back([&text] {
      text =
          llvm::cantFail(smallEngine().compile(smallSpec(), Stage::Assembly));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : texts)
    EXPECT_EQ(text, texts[0]);
  EXPECT_FALSE(texts[0].empty());
}

TEST(EngineTest, StagesByName) {
  for (Stage stage : {Stage::Problem, Stage::Tile, Stage::Host, Stage::LLVM,
                      Stage::Assembly, Stage::Object}) {
    EXPECT_EQ(llvm::cantFail(parseStage(toString(stage))), stage);
    EXPECT_FALSE(
        llvm::cantFail(smallEngine().compile(smallSpec(), stage)).empty());
  }
  for (Stage stage :
       {Stage::GPU, Stage::NVVM, Stage::PTX, Stage::Cubin, Stage::Report}) {
    EXPECT_EQ(llvm::cantFail(parseStage(toString(stage))), stage);
    expectParts(textOf(smallEngine().compile(smallSpec(), stage).takeError()),
                {"stage", "the target cuda", "host"});
  }
  expectParts(textOf(parseStage("sass").takeError()),
              {"stage", "problem, tile, host", "'sass'"});
}

TEST(EngineTest, AcceptsItsOwnStages) {
  // Text of the problem, the tile and the host level compiles to the same code.
  std::string want =
      llvm::cantFail(smallEngine().compile(smallSpec(), Stage::Assembly));
  for (Stage stage : {Stage::Problem, Stage::Tile, Stage::Host}) {
    std::string text =
        llvm::cantFail(smallEngine().compile(smallSpec(), stage));
    auto assembly = smallEngine().compile(text, "again.mlir", Stage::Assembly);
    ASSERT_TRUE(bool(assembly)) << textOf(assembly.takeError());
    EXPECT_EQ(*assembly, want) << std::string(toString(stage));
  }
}

TEST(EngineTest, BadAssemblyIsAnError) {
  std::string text =
      llvm::cantFail(smallEngine().compile(smallSpec(), Stage::Host));
  size_t end = text.find("    return");
  ASSERT_NE(end, std::string::npos);
  text.insert(end, "llvm.inline_asm has_side_effects \"no such\", \"\" : () -> "
                   "()\n");
  expectParts(
      textOf(
          smallEngine().compile(text, "bad.mlir", Stage::Object).takeError()),
      {"stage 'codegen'", "no such"});
  EXPECT_TRUE(bool(smallEngine().prepare(smallSpec())));
}
