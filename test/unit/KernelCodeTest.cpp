//===- KernelCodeTest.cpp - What the assembler makes of GPU kernels -------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Every kind of kernel for sm_90a goes through ptxas: registers that do not
// suffice, and MMAs that the assembler waits for, cost more speed than most
// changes bring, and nothing else on a machine without a GPU shows them.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Compiler.h"
#include "mla/Target/NVPTX.h"
#include "mla/Target/PtxReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mla_jit;

/// Local memory of a thread that does not matter: a few values of the setup.
static constexpr unsigned kLocalBytes = 16;
static constexpr int64_t kMostSharedBytes = 232448;
/// Pages of whole tiles, and some that no box fits.
static constexpr int64_t kTileKeys = 64, kOddPage = 61;

namespace {
struct Kind {
  const char *dataflow;
  int64_t rows;
};
struct Widths {
  int64_t headDim, headDimV;
  bool pairs; ///< whether half of O has room in Q's place
};
using Parameters = std::tuple<Kind, Widths, const char *, const char *>;

class KernelCodeTest : public testing::TestWithParam<Parameters> {
protected:
  void SetUp() override {
    auto found = mlir::mla::findAssembler();
    if (!found) {
      llvm::Error error = found.takeError();
      bool isMissing = error.isA<mlir::mla::ToolNotFound>();
      std::string reason = llvm::toString(std::move(error));
      if (isMissing)
        GTEST_SKIP() << reason << ": docs/building.md says how to get it";
      FAIL() << reason;
    }
    assembler = std::move(*found);
  }

  /// Compiles with as many stages as fit, as the schedules that are chosen
  /// have.
  CompileResult compile(Spec spec, const char *copy, bool pairs) {
    auto [kind, widths, name, mask] = GetParam();
    pairs &= widths.pairs && kind.rows < 64;
    // What is promised where TMA is chosen; others ask as they run.
    bool aligned = llvm::StringRef(copy) == "tma";
    for (int stages = 4; stages >= 2; --stages) {
      spec.schedule = llvm::formatv(
          "#mla.schedule<{0}, block_m = {1}, block_n = 64, split "
          "= balanced, split_tiles = 1, stages = {2}, row_blocks "
          "= 1, copy = {3}{4}{5}>",
          kind.dataflow, kind.rows, stages, copy, pairs ? ", cluster = 2" : "",
          aligned ? ", alignment = 16" : "");
      CompileRequest request;
      request.mlir = llvm::cantFail(buildProblemText(spec));
      request.name = "spec";
      request.chip = "sm_90a";
      request.supportedPTX = assembler.ptxVersion;
      request.verifyProtocol = false;
      auto result = mla_jit::compile(request, Stage::PTX);
      if (result)
        return std::move(*result);
      llvm::Error error = result.takeError();
      if (stages > 2 && error.isA<UnsupportedError>()) {
        llvm::consumeError(std::move(error));
        continue;
      }
      ADD_FAILURE() << llvm::toString(std::move(error));
      break;
    }
    return {};
  }

  void expectFastCode(const CompileResult &compiled) {
    if (!compiled.info)
      return;
    auto report = mlir::mla::assemble(
        compiled.text, llvm::cantFail(mlir::mla::findGPUChip("sm_90a")),
        assembler);
    ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
    EXPECT_EQ(llvm::join(mlir::mla::findPerformanceLosses(*report, kLocalBytes),
                         "\n"),
              "");
    for (const KernelInfo::Entry &entry : compiled.info->entries)
      EXPECT_LE(entry.launch.sharedBytes, kMostSharedBytes) << entry.symbol;
  }

  mlir::mla::Assembler assembler;
};
} // namespace

static Spec makeSpec(const Parameters &parameters, int64_t pageSize) {
  auto [kind, widths, dtype, mask] = parameters;
  Spec spec;
  spec.numHeads = kind.rows;
  spec.headDim = widths.headDim;
  spec.headDimV = widths.headDimV;
  spec.qDType = spec.kvDType = spec.outDType = parseDType(dtype);
  spec.pageSize = pageSize;
  if (llvm::StringRef(mask) != "score") {
    spec.mask = mask;
    return spec;
  }
  spec.mask = "causal";
  spec.scoreArguments = {{"cap", "f32"}};
  spec.scoreBody = "      %ratio = arith.divf %score, %cap : f32\n"
                   "      %part = math.tanh %ratio : f32\n"
                   "      %capped = arith.mulf %part, %cap : f32\n"
                   "      mla.yield %capped : f32\n";
  return spec;
}

TEST_P(KernelCodeTest, LosesNothingWithBoxes) {
  expectFastCode(compile(makeSpec(GetParam(), kTileKeys), "tma",
                         /*pairs=*/true));
}

TEST_P(KernelCodeTest, LosesNothingRowByRow) {
  expectFastCode(compile(makeSpec(GetParam(), kOddPage), "gather",
                         /*pairs=*/true));
}

/// Tiles of several pages, a box of each.
using KernelCodeOfPagesTest = KernelCodeTest;

TEST_P(KernelCodeOfPagesTest, LosesNothingWithSmallPages) {
  for (int64_t pageSize : {16, 32}) {
    SCOPED_TRACE(pageSize);
    expectFastCode(compile(makeSpec(GetParam(), pageSize), "tma",
                           /*pairs=*/false));
  }
}

static std::string nameOf(const testing::TestParamInfo<Parameters> &info) {
  auto [kind, widths, dtype, mask] = info.param;
  return llvm::formatv("{0}_{1}_{2}_{3}_{4}_{5}", kind.dataflow, kind.rows,
                       widths.headDim, widths.headDimV, dtype, mask);
}

static constexpr Kind kKinds[] = {
    {"keys_as_m", 8}, {"keys_as_m", 16}, {"keys_as_m", 32}, {"rows_as_m", 64}};
static constexpr Widths kWidths[] = {
    {576, 512, true}, {512, 512, false}, {320, 256, true}, {192, 128, true}};

INSTANTIATE_TEST_SUITE_P(BF16, KernelCodeTest,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::ValuesIn(kWidths),
                                          testing::Values("bf16"),
                                          testing::Values("none", "causal",
                                                          "sliding_window",
                                                          "score")),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(
    BF16, KernelCodeOfPagesTest,
    testing::Combine(testing::ValuesIn(kKinds),
                     testing::Values(kWidths[0], kWidths[2]),
                     testing::Values("bf16"),
                     testing::Values("causal", "sliding_window")),
    nameOf);
// Types differ in the instruction's type only.
INSTANTIATE_TEST_SUITE_P(F16, KernelCodeTest,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::ValuesIn(kWidths),
                                          testing::Values("f16"),
                                          testing::Values("causal")),
                         nameOf);
