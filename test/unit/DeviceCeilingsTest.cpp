//===- DeviceCeilingsTest.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../tools/mla-jit/DeviceCeilings.h"
#include "mla/Target/PtxReport.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mla_jit;

/// An instrument that spills or whose products wait measures itself.
static void expectFastCode(const std::string &ptx) {
  auto assembler = mlir::mla::findAssembler();
  if (!assembler) {
    llvm::Error error = assembler.takeError();
    bool isMissing = error.isA<mlir::mla::ToolNotFound>();
    std::string reason = llvm::toString(std::move(error));
    if (isMissing)
      GTEST_SKIP() << reason << ": docs/building.md says how to get it";
    FAIL() << reason;
  }
  auto report = mlir::mla::assemble(
      ptx, llvm::cantFail(mlir::mla::findGPUChip("sm_90a")), *assembler);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError()) << ptx;
  EXPECT_EQ(llvm::join(mlir::mla::findPerformanceLosses(*report, 0), "\n"), "");
}

TEST(DeviceCeilingsTest, ReadsAssemble) { expectFastCode(getReadPTX()); }

TEST(DeviceCeilingsTest, ProductsAssemble) { expectFastCode(getMultiplyPTX()); }
