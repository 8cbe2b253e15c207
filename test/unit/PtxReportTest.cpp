//===- PtxReportTest.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/PtxReport.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>

using namespace mlir;
using namespace mlir::mla;
using namespace std::chrono_literals;

/// The text of an error, "" of success.
template <typename T> static std::string errorOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

TEST(PtxReport, ReadsTheLog) {
  PtxReport report;
  parseAssemblerLog(
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' "
      "ignored; unable to determine register count at entry.\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'decode' for 'sm_90a'\n"
      "ptxas info    : Function properties for decode\n"
      "    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 3 barriers, 64 bytes smem, 396 "
      "bytes cmem[0]\n"
      "ptxas info    : Compile time = 3.349 ms\n"
      "ptxas info    : Function properties for helper\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas warning : Something else\n",
      report);
  ASSERT_EQ(report.kernels.size(), 2u);
  const KernelReport &kernel = report.kernels[0];
  EXPECT_EQ(kernel.name, "decode");
  EXPECT_TRUE(kernel.entry);
  EXPECT_EQ(kernel.registers, 168u);
  EXPECT_EQ(kernel.barriers, 3u);
  EXPECT_EQ(kernel.staticSharedBytes, 64u);
  EXPECT_EQ(kernel.stackBytes, 24u);
  EXPECT_EQ(kernel.spillStoreBytes, 8u);
  EXPECT_EQ(kernel.spillLoadBytes, 12u);
  EXPECT_FALSE(report.kernels[1].entry);
  ASSERT_EQ(report.notices.size(), 2u);
  EXPECT_EQ(report.notices[0].code, "C7508");
  EXPECT_EQ(report.notices[1].code, "");
  EXPECT_EQ(report.notices[1].text, "Something else");
  EXPECT_EQ(findPerformanceLosses(report).size(), 4u);
  EXPECT_EQ(findPerformanceLosses(report, 16).size(), 2u);
}

TEST(PtxReport, CountsOpcodes) {
  SassCounts counts = parseSass(
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00 */\n"
      "                                                            /* 0x0f */\n"
      ".L_x_0:\n"
      "        /*0010*/              @!P0 LDL.64 R2, [R1] ;\n"
      "        /*11a0*/                   HGMMA.64x8x16.F32.BF16 R24 ;\n"
      "        /*11b0*/             @UP0  UTMALDG.2D [UR8], [UR4] ;\n"
      "        /*11c0*/                   LDL R2, [R1+0x4] ;\n");
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts["LDC"], 1u);
  EXPECT_EQ(counts["LDL"], 2u);
  EXPECT_EQ(counts["HGMMA"], 1u);
  EXPECT_EQ(counts["UTMALDG"], 1u);
}

namespace {
/// A shell script in the assembler's place.
class FakeAssembler {
public:
  explicit FakeAssembler(const char *onAssembly) {
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("fake-ptxas", "sh", path));
    {
      std::ofstream script(path.c_str());
      script << "#!/bin/sh\n"
                "if [ \"$1\" = --version ]; then\n"
                "  echo 'Cuda compilation tools, release 12.8, V12.8.1'\n"
                "  exit 0\n"
                "fi\n"
             << onAssembly << "\n";
    }
    EXPECT_FALSE(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all));
  }
  ~FakeAssembler() { llvm::sys::fs::remove(path); }

  std::string error(AssembleOptions options = {},
                    const char *ptx = ".version 8.0\n") const {
    GPUChip chip = llvm::cantFail(findGPUChip("sm_90a"));
    auto assembler = askAssembler(path);
    return assembler ? errorOf(assemble(ptx, chip, *assembler, options))
                     : errorOf(std::move(assembler));
  }

private:
  SmallString<128> path;
};
} // namespace

TEST(Assembler, EveryFailureIsAnError) {
  auto contains = [](const std::string &error, const char *text) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  contains(FakeAssembler("echo bad input >&2; exit 255").error(),
           "stage 'assemble': ptxas refused the module:\nbad input");
  contains(FakeAssembler("kill -9 $$").error(), "Killed");
  contains(FakeAssembler("kill -11 $$").error(), "Segmentation fault");
  contains(FakeAssembler("exit 0").error(), "ptxas left no cubin");
  AssembleOptions hurried;
  hurried.timeLimit = 50ms;
  contains(FakeAssembler("exec sleep 10").error(hurried),
           "was not done within the time limit of 50 ms");
  contains(FakeAssembler("exit 0").error({}, ".version 8.8\n"),
           "the module is PTX 8.8, but ");
  contains(FakeAssembler("exit 0").error({}, ".version 8.8\n"),
           "of release 12.8 supports up to PTX 8.7");
  AssemblerDefect defects[] = {
      {{12, 8, 1}, {12, 8, 2}, true, "it gets kernel 'k' wrong"}};
  AssembleOptions careful;
  careful.defects = defects;
  contains(FakeAssembler("exit 0").error(careful),
           "is not to be used: it gets kernel 'k' wrong");
  AssembleOptions homeless;
  homeless.scratch = {"/nowhere", "/proc"};
  contains(FakeAssembler("exit 0").error(homeless),
           "requires a directory for temporary files, but /nowhere and /proc "
           "cannot be written");
  homeless.scratch.push_back("/tmp");
  contains(FakeAssembler("exit 0").error(homeless), "ptxas left no cubin");
}

TEST(Assembler, MissingOneIsItsOwnError) {
  llvm::Error error = findTool({"no-such-program"}).takeError();
  EXPECT_TRUE(error.isA<ToolNotFound>());
  EXPECT_EQ(llvm::toString(std::move(error)),
            "no-such-program not found in PATH or /usr/local/cuda/bin");
  error = askAssembler("/nowhere/ptxas").takeError();
  EXPECT_TRUE(error.isA<ToolNotFound>());
  EXPECT_EQ(llvm::toString(std::move(error)), "there is no /nowhere/ptxas");
}

static constexpr const char *kPTX = ".version 8.0\n"
                                    ".target sm_90a\n"
                                    ".address_size 64\n"
                                    ".visible .entry k() { ret; }\n";

TEST(Assembler, Assembles) {
  auto found = findAssembler();
  if (!found) {
    llvm::consumeError(found.takeError());
    GTEST_SKIP() << "skipped: ptxas not found";
  }
  auto report = assemble(kPTX, llvm::cantFail(findGPUChip("sm_90a")), *found);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  EXPECT_EQ(StringRef(report->cubin).take_front(4), "\x7f"
                                                    "ELF");
  ASSERT_EQ(report->kernels.size(), 1u);
  EXPECT_EQ(report->kernels[0].name, "k");
  EXPECT_GT(report->kernels[0].registers, 0u);
  EXPECT_TRUE(findPerformanceLosses(*report).empty());

  // Without reqntid it cannot say how many registers there are.
  std::string budget = StringRef(kPTX).str();
  budget.insert(budget.find("ret;"), "setmaxnreg.dec.sync.aligned.u32 40; ");
  report = assemble(budget, llvm::cantFail(findGPUChip("sm_90a")), *found);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  ASSERT_EQ(report->notices.size(), 1u);
  EXPECT_EQ(report->notices[0].code, "C7508");
  EXPECT_EQ(findPerformanceLosses(*report).size(), 1u);
}

TEST(PTXVersion, OfAssemblers) {
  EXPECT_EQ(ptxVersionOfRelease("11.8"), 78u);
  EXPECT_EQ(ptxVersionOfRelease("12.0"), 80u);
  EXPECT_EQ(ptxVersionOfRelease("12.6"), 85u);
  EXPECT_EQ(ptxVersionOfRelease("12.9"), 88u);
  EXPECT_EQ(ptxVersionOfRelease("13.0"), 90u);
  EXPECT_EQ(ptxVersionOfRelease("12"), 0u);
  EXPECT_EQ(ptxVersionOfRelease("nonsense"), 0u);
}

TEST(AssemblerDefects, KnowsWhatWasVerified) {
  EXPECT_TRUE(isVerifiedAssembler("driver 580.159.04", "sm_90a"));
  EXPECT_TRUE(isVerifiedAssembler("ptxas 13.0.88", "sm_90a"));
  EXPECT_FALSE(isVerifiedAssembler("driver 580.159.04", "sm_100a"));
  EXPECT_FALSE(isVerifiedAssembler("driver 580.1590", "sm_90a"));
  EXPECT_FALSE(isVerifiedAssembler("driver 580.15", "sm_90a"));
  EXPECT_FALSE(isVerifiedAssembler("driver of CUDA 13.0", "sm_90a"));
  EXPECT_FALSE(isVerifiedAssembler("", "sm_90a"));
}

TEST(AssemblerDefects, AreOfVersions) {
  EXPECT_EQ(parseAssemblerVersion("V13.0.88"), (AssemblerVersion{13, 0, 88}));
  EXPECT_EQ(parseAssemblerVersion("CUDA 12.6"),
            (AssemblerVersion{12, 6, kUnknownPatch}));
  EXPECT_EQ(parseAssemblerVersion("none"), AssemblerVersion());
  auto count = [](const char *version) {
    return findDefects(parseAssemblerVersion(version)).size();
  };
  EXPECT_EQ(count("V12.6.84"), 1u);
  EXPECT_EQ(count("V12.6.85"), 0u);
  EXPECT_EQ(count("CUDA 12.6"), 0u); // it may have been fixed
  EXPECT_EQ(count("CUDA 13.0"), 2u);
  EXPECT_EQ(count("CUDA 13.3"), 0u);
  EXPECT_EQ(count("none"), 0u);
  bool denied = false;
  for (const AssemblerDefect &defect : findDefects({12, 3, 103}))
    denied |= defect.denied;
  EXPECT_TRUE(denied);
}
