//===- CudaKernelLoadTest.cpp
//----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// How a kernel gets onto a device: modules, refusals, and reports.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Assemble.h"
#include "FakeKernel.h"

using namespace mla_jit;

namespace {
class CudaKernelLoadTest : public FakeKernelTest {};
} // namespace

TEST_F(CudaKernelLoadTest, RequiresAnEntryForLaunchesWithoutPairs) {
  info.entries[0].launch.cluster = 2;
  auto loaded = load();
  ASSERT_FALSE(bool(loaded));
  EXPECT_NE(llvm::toString(loaded.takeError())
                .find("entry 'decode_main' with clusters requires one without "
                      "before it, but has none"),
            std::string::npos);
}

TEST_F(CudaKernelLoadTest, LoadsEachModuleAsALibrary) {
  auto state = cuda::get(load());
  EXPECT_EQ(fake->libraries, 2);
  EXPECT_EQ(fake->linked.size(), 2u);
  // The same on one thread, and of one module with both entries.
  threads = 1;
  auto onOneThread = cuda::get(load());
  EXPECT_EQ(fake->libraries, 4);
  ptx = "\n.version 8.0\n.entry decode_main()\n.entry decode_combine()";
  auto together = cuda::get(load());
  EXPECT_EQ(fake->libraries, 5);
  ASSERT_TRUE(cuda::Failure(run(*together, fakeArguments(together->info))).ok);
  EXPECT_EQ(fake->launches.size(), 2u);
}

TEST_F(CudaKernelLoadTest, RefusesAnEntryThatNoModuleHas) {
  info.entries[1].symbol = "decode_other";
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("kernel 'decode_other'")) << failure.message;
}

TEST_F(CudaKernelLoadTest, RefusedPTXOfTheSecondModule) {
  ptx += "bad";
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("Unknown symbol 'bad'")) << failure.message;
}

TEST_F(CudaKernelLoadTest, RefusesWhatTheDeviceLacks) {
  info.entries[0].launch.sharedBytes = 232449;
  cuda::Failure failure = load();
  EXPECT_EQ(failure.kind, cuda::ErrorKind::Unsupported);
  EXPECT_TRUE(failure.says("stage 'load'")) << failure.message;
  EXPECT_TRUE(failure.says("232448")) << failure.message;
  EXPECT_TRUE(failure.says("got 232449")) << failure.message;
}

TEST_F(CudaKernelLoadTest, RefusesOtherParametersThanTheCode) {
  fake->parameterBytes[3] = 8;
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("parameter 3")) << failure.message;
  EXPECT_TRUE(failure.says("requires 8 bytes, but got 4")) << failure.message;
}

TEST_F(CudaKernelLoadTest, WarnsOfLosses) {
  ptx = "decode_main decode_combine";
  fake->infoLog = "ptxas info    : Compiling entry function 'decode_main' for "
                  "'sm_90a'\n"
                  "ptxas info    : Function properties for decode_main\n"
                  "ptxas         .     0 bytes stack frame, 8 bytes spill "
                  "stores, 0 bytes spill loads\n"
                  "ptxas info    : (C7510) Potential Performance Loss: wgmma";
  auto state = cuda::get(load());
  ASSERT_EQ(state->info->warnings.size(), 2u);
  EXPECT_EQ(state->info->warnings[0],
            "decode_main: 8 bytes of spill stores, over the limit of 0");
  EXPECT_EQ(state->info->warnings[1],
            "C7510: Potential Performance Loss: wgmma");
}

TEST_F(CudaKernelLoadTest, ReportsWhatTheDriverAssembled) {
  auto state = cuda::get(load());
  for (const char *part :
       {"assembler: ptxas 12.8 (the driver's)\n",
        "launch decode_main: ", "kernel decode_combine:\n  registers: 168\n"})
    EXPECT_NE(state->report.find(part), std::string::npos) << state->report;
  // Two graphs of the eight that there may be: of the code nobody knows.
  EXPECT_EQ(state->deviceBytes, 2u * (96 << 10));
  EXPECT_TRUE(state->times.back().isLoading);
}

TEST_F(CudaKernelLoadTest, PrefersTheCubin) {
  info.warnings = {"of the tool that assembled it"};
  std::string cubin = fakeCubin("decode_main decode_combine");
  auto state = cuda::get(load(/*maxWorkers=*/0, cubin, "bad"));
  EXPECT_TRUE(fake->linked.empty()); // nothing was assembled
  EXPECT_EQ(state->info->warnings, info.warnings);
  EXPECT_EQ(state->report, "");
  EXPECT_EQ(state->deviceBytes, cubin.size() + 2 * (96 << 10));
  ASSERT_EQ(state->times.size(), 2u);
  EXPECT_EQ(state->times[0].stage, "load");
  EXPECT_EQ(state->times[1].stage, "graphs");
  cuda::Failure failure = load(/*maxWorkers=*/0, fakeCubin("other"));
  EXPECT_TRUE(failure.says("stage 'load'")) << failure.message;
  EXPECT_TRUE(failure.says("decode_main")) << failure.message;
}

TEST_F(CudaKernelLoadTest, RefusedPTX) {
  cuda::Failure failure = load(/*maxWorkers=*/0, "", "bad decode_main");
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("Unknown symbol 'bad'")) << failure.message;
}

//===----------------------------------------------------------------------===//
// Reports of the driver's assembler
//===----------------------------------------------------------------------===//

TEST_F(CudaKernelLoadTest, ReportsOnTheCodeAsItIsLoaded) {
  info.chip = "sm_90a";
  ptx += "setmaxnreg";
  auto report = cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_EQ(fake->calls["cuLinkCreate"], 0);
  EXPECT_EQ(fake->libraries, 0);
  EXPECT_EQ(report.release, "12.8 (the driver's)");
  EXPECT_TRUE(report.cubin.empty());
  ASSERT_EQ(report.kernels.size(), 3u); // one without a name from the log
  EXPECT_EQ(report.kernels[1].name, "decode_main");
  EXPECT_EQ(report.kernels[1].registers, 168u);
  EXPECT_EQ(report.kernels[1].stackBytes, 16u);
  std::string text = cuda::get(describeCode(report, info));
  EXPECT_NE(text.find("cubin: not available"), std::string::npos) << text;
  EXPECT_NE(text.find("launch decode_combine"), std::string::npos) << text;
}

TEST_F(CudaKernelLoadTest, AssemblesAgainWhatTheDriverHadInItsCache) {
  info.chip = "sm_90a";
  fake->cacheHits = true;
  cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_EQ(fake->calls["cuLibraryLoadData"], 2);
  auto report = cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_NE(report.log.find("Used 8 registers"), std::string::npos);
}

TEST_F(CudaKernelLoadTest, GivesNoCubinThatWouldIgnoreSetmaxnreg) {
  info.chip = "sm_90a";
  auto report = cuda::get(assembleByDriver(ptx, info, true, context));
  EXPECT_EQ(llvm::StringRef(report.cubin).substr(1, 3), "ELF");
  cuda::Failure failure =
      assembleByDriver(ptx + "setmaxnreg", info, true, context);
  EXPECT_TRUE(failure.says("requires ptxas")) << failure.message;
  EXPECT_TRUE(failure.says("setmaxnreg")) << failure.message;
}
