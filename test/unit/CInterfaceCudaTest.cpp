//===- CInterfaceCudaTest.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Devices: failures, several of them, the caller's context, code that a driver
// refuses.
//
//===----------------------------------------------------------------------===//

#include "CInterfaceCuda.h"
#include "FakePtxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mla_test;
using mla_jit::cuda::ContextHandle;

// Each step of loading may find no memory: an error, and the next one works.
TEST_F(CInterfaceCudaTest, NoMemoryOnTheDevice) {
  for (const char *call : {"cuDevicePrimaryCtxRetain", "cuLibraryLoadData",
                           "cuKernelGetFunction"}) {
    SCOPED_TRACE(call);
    mla::Engine engine = engineOf(0);
    fake->failures[call] = mla_jit::cuda::OutOfMemory;
    auto kernel = engine.prepare(gpuSpec(128));
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.status().code(), MLA_E_OOM) << kernel.status().message();
    EXPECT_EQ(kernel.status()->driver_code, mla_jit::cuda::OutOfMemory);
    fake->failures.clear();
    kernel = engine.prepare(gpuSpec(128));
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_LE(countersOf(engine).compiles, 1u);
  }
}

TEST_F(CInterfaceCudaTest, AnErrorOfAnotherKernelIsALostDevice) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec(128));
  ASSERT_TRUE(kernel) << kernel.status().message();
  mla::Status status = kernel->launch(GPUStep().args);
  ASSERT_TRUE(status) << status.message();
  fake->failures["cuGraphLaunch"] = mla_jit::cuda::IllegalAddress;
  status = kernel->launch(GPUStep().args);
  EXPECT_EQ(status.code(), MLA_E_DEVICE_LOST) << status.message();
  EXPECT_EQ(status->driver_code, mla_jit::cuda::IllegalAddress);
  EXPECT_EQ(countersOf(engine).launch_failures, 1u);
  *kernel = mla::Kernel();
  (void)engine.trim();
  fake->failures = {{"cuLibraryLoadData", mla_jit::cuda::IllegalAddress}};
  auto second = engine.prepare(gpuSpec(128));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), MLA_E_DEVICE_LOST)
      << second.status().message();
}

// Code that the driver refuses is compiled once more, and then an error.
TEST_F(CInterfaceCudaTest, CodeThatTheDriverRefuses) {
  ASSERT_TRUE(engineOf(0).prepare(gpuSpec(128)));
  mla::Engine engine = engineOf(0);
  fake->failures["cuLibraryLoadData"] = mla_jit::cuda::InvalidPTX;
  auto kernel = engine.prepare(gpuSpec(128));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), MLA_E_COMPILE) << kernel.status().message();
  EXPECT_STREQ(kernel.status()->stage, "assemble");
  EXPECT_EQ(countersOf(engine).compiles, 1u);
  fake->failures.clear();
  EXPECT_TRUE(engine.prepare(gpuSpec(128)));
  EXPECT_EQ(countersOf(engine).compiles, 1u);
}

TEST_F(CInterfaceCudaTest, EachDeviceHasItsKernelsAndTheCallerItsContext) {
  auto callers = reinterpret_cast<ContextHandle>(&driver);
  for (ContextHandle before : {ContextHandle(nullptr), callers}) {
    reset();
    if (before)
      driver->call().ctxPushCurrent(before);
    {
      mla::Engine first = engineOf(0), second = engineOf(1);
      EXPECT_EQ(fake->contexts, 0); // engines ask no driver
      EXPECT_TRUE(first.sizes(gpuSpec(128), 8, 8));
      EXPECT_EQ(current(), before);
      auto one = first.prepare(gpuSpec(128));
      ASSERT_TRUE(one) << one.status().message();
      EXPECT_EQ(current(), before);
      auto two = second.prepare(gpuSpec(128));
      ASSERT_TRUE(two) << two.status().message();
      EXPECT_EQ(current(), before);
      EXPECT_EQ(fake->contexts, 2);
      EXPECT_EQ(fake->libraries, 4); // of each entry one
      EXPECT_TRUE(one->launch(GPUStep().args));
      EXPECT_EQ(current(), before);
      ASSERT_FALSE(fake->launches.empty());
      ContextHandle ofFirst = fake->launches.back().context;
      EXPECT_TRUE(two->launch(GPUStep().args));
      EXPECT_NE(fake->launches.back().context, ofFirst);
      EXPECT_EQ(current(), before);
      fake->failures["cuGraphLaunch"] = mla_jit::cuda::InvalidValue;
      EXPECT_FALSE(two->launch(GPUStep().args));
      EXPECT_EQ(current(), before);
      fake->failures.clear();
      EXPECT_TRUE(two->info(1, 1));
      *two = mla::Kernel();
      (void)second.trim();
      EXPECT_EQ(current(), before);
    }
    EXPECT_EQ(current(), before);
    EXPECT_EQ(fake->contexts, 0);
    ContextHandle popped;
    if (before)
      driver->call().ctxPopCurrent(&popped);
  }
  auto third = engineOf(2).prepare(gpuSpec(128));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.status().code(), MLA_E_NO_DRIVER) << third.status().message();
}

// E9: the limit is the device's own, and each function of each device is told.
TEST_F(CInterfaceCudaTest, SharedMemory) {
  mla::Engine first = engineOf(0), second = engineOf(1);
  auto kernel = first.prepare(gpuSpec(128));
  ASSERT_TRUE(kernel) << kernel.status().message();
  int64_t needed = kernel->info(1, 1)->shared_bytes;
  ASSERT_GT(needed, 49152);
  ASSERT_LE(needed, 232448);
  int calls = fake->calls["cuFuncSetAttribute"];
  EXPECT_GT(calls, 0);
  ASSERT_TRUE(second.prepare(gpuSpec(128)));
  EXPECT_EQ(fake->calls["cuFuncSetAttribute"], 2 * calls);

  fake->sharedBytesOptin = static_cast<int>(needed) - 1;
  mla::Engine third = engineOf(0);
  auto refused = third.prepare(gpuSpec(128));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), MLA_E_UNSUPPORTED);
  std::string message = refused.status().message();
  EXPECT_NE(message.find(std::to_string(needed - 1)), std::string::npos);
  EXPECT_NE(message.find("got " + std::to_string(needed)), std::string::npos)
      << message;
  EXPECT_STREQ(refused.status()->stage, "load");
  fake->sharedBytesOptin = static_cast<int>(needed);
  fake->failures["cuFuncSetAttribute"] = mla_jit::cuda::InvalidValue;
  mla::Engine fourth = engineOf(0);
  refused = fourth.prepare(gpuSpec(128));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), MLA_E_DEVICE);
  EXPECT_STREQ(refused.status()->stage, "load");
  fake->failures.clear();
  EXPECT_TRUE(fourth.prepare(gpuSpec(128)));
}

// 128 heads are two row blocks that are done side by side.
TEST_F(CInterfaceCudaTest, AsManySMsAsRowBlocksSideBySide) {
  for (int32_t limit : {1, 3}) {
    uint32_t used = std::max(limit, 2);
    mla::Engine limited = makeEngine([&](mla_engine_options &options) {
      options.num_sms = limit;
      options.target = "cuda";
      options.cache_dir = cacheDirectory().c_str();
    });
    EXPECT_EQ(limited.target()->num_workers, limit);
    mla::Engine whole = engineOf(0);
    auto one = limited.prepare(gpuSpec(128)), all = whole.prepare(gpuSpec(128));
    ASSERT_TRUE(one && all);
    EXPECT_EQ(one->info(1, 1)->num_workers, int32_t(used));
    EXPECT_EQ(all->info(1, 1)->num_workers, 132);
    GPUStep step;
    fake->launches.clear();
    ASSERT_TRUE(one->launch(step.args));
    step.args.max_ctas = limit;
    ASSERT_TRUE(all->launch(step.args));
    ASSERT_EQ(fake->launches.size(), 4u);
    for (size_t main : {0, 2})
      EXPECT_EQ(fake->launches[main].config.grid[0],
                used * one->info(1, 1)->ctas_per_sm);
  }
}

// The driver has the PTX beside a cubin that it refuses: no compilation that a
// policy forbids, as it assembles what is on disk, too. Without either, the
// status says why, and not what to add to the archive.
TEST_F(CInterfaceCudaTest, ACubinThatTheDriverRefuses) {
  TemporaryDirectory directory;
  std::string path = directory / "kernels.mla";
  FakePtxas ptxas("echo no cubin > \"$2\"");
  mla::Status built = makeEngine([&](mla_engine_options &options) {
                        options.target = "cuda:sm_90a";
                        options.device = 7; // where there is none
                        options.ptxas = ptxas.path().c_str();
                      }).buildArchive({gpuSpec(128)}, path.c_str());
  ASSERT_TRUE(built) << built.message();

  Events events;
  mla::Engine engine = makeEngine([&](mla_engine_options &options) {
    options.num_sms = 0;
    options.target = "cuda";
    options.jit_policy = MLA_POLICY_FORBID;
    events.record(options);
  });
  auto archive = engine.openArchive(path.c_str());
  ASSERT_TRUE(archive) << archive.status().message();
  fake->failures["cuLibraryLoadData"] = mla_jit::cuda::InvalidImage;
  const char *const kWords[] = {"the kernel that is there cannot be loaded",
                                "the cubin of ptxas 12.8.1 for sm_90a cannot "
                                "be loaded by driver 580.159.0: stage 'load'"};
  auto says = [&](const std::string &text) {
    for (const char *words : kWords)
      EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(text.find("nor in an archive"), std::string::npos) << text;
    EXPECT_EQ(text.find("q_dtype"), std::string::npos) << text;
  };
  for (bool isLookup : {false, true}) {
    auto kernel =
        isLookup ? engine.lookup(gpuSpec(128)) : engine.prepare(gpuSpec(128));
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.status().code(),
              isLookup ? MLA_E_NOT_FOUND : MLA_E_FORBIDDEN);
    EXPECT_STREQ(kernel.status()->stage, "load");
    says(kernel.status().message());
    auto warnings = events.of(MLA_EVENT_CACHE_WARNING);
    ASSERT_EQ(warnings.size(), isLookup ? 2u : 1u);
    EXPECT_NE(warnings.back().find("and the PTX beside it: stage 'assemble'"),
              std::string::npos)
        << warnings.back();
  }
  fake->failures.clear();
  auto kernel = engine.prepare(gpuSpec(128));
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_ARCHIVE);
  EXPECT_TRUE(kernel->launch(GPUStep().args));
  EXPECT_EQ(countersOf(engine).compiles, 0u);
  auto warnings = events.of(MLA_EVENT_CACHE_WARNING);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_NE(warnings[2].find("it has assembled the PTX beside it"),
            std::string::npos)
      << warnings[2];
}

TEST_F(CInterfaceCudaTest, DevicesSayWhatTheyAre) {
  mla::Engine engine = engineOf(1);
  auto device = engine.device();
  ASSERT_TRUE(device) << device.status().message();
  EXPECT_STREQ(device->name, "Fake H200");
  EXPECT_STREQ(device->chip, "sm_90a");
  EXPECT_STREQ(device->driver, "CUDA 12.3");
  EXPECT_EQ(device->num_sms, 132);
  EXPECT_EQ(device->shared_bytes, 232448);
  auto target = engine.target();
  ASSERT_TRUE(target) << target.status().message();
  EXPECT_STREQ(target->name, "sm_90a");
  EXPECT_EQ(target->num_workers, 132);
}

// By batch and queries alone: what a launch starts, too.
TEST_F(CInterfaceCudaTest, VariantsAreThoseThatLaunchesTake) {
  mla::Engine engine = engineOf(0);
  EXPECT_STREQ(engine.prepare(gpuSpec(128))->info(66, 66)->variant, "only");
  mla_spec spec = gpuSpec();
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  GPUStep step;
  struct {
    int32_t batch, queries;
    const char *variant;
  } const kCases[] = {{1, 1, "single"},
                      {40, 1, "single"},
                      {66, 1, "paired"},
                      {66, 2, "single"},
                      {33, 2, "paired"}};
  for (const auto &[batch, queries, variant] : kCases) {
    int32_t rows = batch * queries;
    EXPECT_STREQ(kernel->info(batch, rows)->variant, variant) << batch;
    mla_args &args = step.args;
    args.batch = batch;
    args.q_len = queries;
    args.total_q = rows;
    args.q = tensor(args.q.data, MLA_BF16, {batch, queries, 16, 576});
    args.out = tensor(args.out.data, MLA_BF16, {batch, queries, 16, 512});
    args.seq_lens.shape[0] = args.table.shape[0] = batch;
    fake->launches.clear();
    mla::Status status = kernel->launch(args);
    ASSERT_TRUE(status) << status.message();
    ASSERT_FALSE(fake->launches.empty());
    // The first entry's has clusters, or nothing to say.
    bool hasClusters = !fake->launches[0].attributes.empty();
    EXPECT_EQ(hasClusters, llvm::StringRef(variant) == "paired") << batch;
  }
}
