//===- CInterfaceCudaTest.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// GPUs as hosts see them, on a driver that launches nothing: failures, several
// devices, the caller's context.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/Driver.h"
#include "CInterface.h"
#include "FakeCuda.h"
#include "FakePtxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <dlfcn.h>

using namespace mla_test;
using mla_jit::cuda::ContextHandle;

/// Kernels are compiled by the first test alone.
static const std::string &cacheDirectory() {
  static TemporaryDirectory directory;
  return directory.path();
}

namespace {
class CInterfaceCudaTest : public testing::Test {
protected:
  CInterfaceCudaTest() {
    void *library = dlopen(MLA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    fake = reinterpret_cast<FakeCudaFn>(dlsym(library, "mlaFakeCuda"))();
    reset();
    auto opened = mla_jit::cuda::Driver::get();
    EXPECT_TRUE(bool(opened));
    driver = &*opened;
  }
  ~CInterfaceCudaTest() override {
    // All that was made was given back, whatever failed on the way.
    EXPECT_EQ(fake->contexts, 0);
    EXPECT_EQ(fake->libraries, 0);
    EXPECT_EQ(fake->buffers, 0);
    EXPECT_EQ(fake->loadsNotRelaxed, 0);
  }

  void reset() {
    fake->~FakeCuda();
    new (fake) FakeCuda;
    fake->version = 12030; // cannot be asked for the parameters of a kernel
    fake->deviceCount = 2;
  }

  static mla::Engine engineOf(int device, bool isCached = true) {
    return makeEngine([&](mla_engine_options &options) {
      options.num_sms = 0;
      options.target = "cuda";
      options.device = device;
      options.cache_dir = isCached ? cacheDirectory().c_str() : "";
    });
  }
  ContextHandle current() const {
    ContextHandle context = nullptr;
    driver->call().ctxGetCurrent(&context);
    return context;
  }

  FakeCuda *fake = nullptr;
  const mla_jit::cuda::Driver *driver = nullptr;
};

/// A launch of one request; nobody reads what the tensors say they hold.
struct GPUStep {
  GPUStep() : args(mla::make<mla_args>()) {
    auto at = [](uintptr_t address) {
      return reinterpret_cast<void *>(address);
    };
    args.batch = args.q_len = args.total_q = 1;
    args.q = tensor(at(0x10000), MLA_BF16, {1, 1, 128, 576});
    args.k = tensor(at(0x100000), MLA_BF16, {4, 64, 1, 576});
    args.out = tensor(at(0x200000), MLA_BF16, {1, 1, 128, 512});
    args.seq_lens = tensor(at(0x300000), MLA_I32, {1});
    args.table = tensor(at(0x400000), MLA_I32, {1, 4});
    args.softmax_scale = 0.1f;
    args.workspace = at(0x1000000);
    args.workspace_bytes = uint64_t(1) << 32;
  }
  mla_args args;
};
} // namespace

static mla_spec gpuSpec() {
  mla_spec spec = smallSpec();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = 128;
  spec.d_qk = 576;
  spec.d_v = 512;
  spec.page_size = 64;
  return spec;
}

// Each step of loading may find no memory: an error, and the next one works.
TEST_F(CInterfaceCudaTest, NoMemoryOnTheDevice) {
  for (const char *call : {"cuDevicePrimaryCtxRetain", "cuLibraryLoadData",
                           "cuKernelGetFunction"}) {
    SCOPED_TRACE(call);
    mla::Engine engine = engineOf(0);
    fake->failures[call] = mla_jit::cuda::OutOfMemory;
    auto kernel = engine.prepare(gpuSpec());
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.status().code(), MLA_E_OOM) << kernel.status().message();
    EXPECT_EQ(kernel.status()->driver_code, mla_jit::cuda::OutOfMemory);
    fake->failures.clear();
    kernel = engine.prepare(gpuSpec());
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_LE(countersOf(engine).compiles, 1u);
  }
}

TEST_F(CInterfaceCudaTest, AnErrorOfAnotherKernelIsALostDevice) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec());
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
  auto second = engine.prepare(gpuSpec());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), MLA_E_DEVICE_LOST)
      << second.status().message();
}

// Code that the driver refuses is compiled once more, and then an error.
TEST_F(CInterfaceCudaTest, CodeThatTheDriverRefuses) {
  ASSERT_TRUE(engineOf(0).prepare(gpuSpec()));
  mla::Engine engine = engineOf(0);
  fake->failures["cuLibraryLoadData"] = mla_jit::cuda::InvalidPTX;
  auto kernel = engine.prepare(gpuSpec());
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), MLA_E_COMPILE) << kernel.status().message();
  EXPECT_STREQ(kernel.status()->stage, "assemble");
  EXPECT_EQ(countersOf(engine).compiles, 1u);
  fake->failures.clear();
  EXPECT_TRUE(engine.prepare(gpuSpec()));
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
      EXPECT_TRUE(first.sizes(gpuSpec(), 8, 8));
      EXPECT_EQ(current(), before);
      auto one = first.prepare(gpuSpec());
      ASSERT_TRUE(one) << one.status().message();
      EXPECT_EQ(current(), before);
      auto two = second.prepare(gpuSpec());
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
  auto third = engineOf(2).prepare(gpuSpec());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.status().code(), MLA_E_NO_DRIVER) << third.status().message();
}

// E9: the limit is the device's own, and each function of each device is told.
TEST_F(CInterfaceCudaTest, SharedMemory) {
  mla::Engine first = engineOf(0), second = engineOf(1);
  auto kernel = first.prepare(gpuSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  int64_t needed = kernel->info(1, 1)->shared_bytes;
  ASSERT_GT(needed, 49152);
  ASSERT_LE(needed, 232448);
  int calls = fake->calls["cuFuncSetAttribute"];
  EXPECT_GT(calls, 0);
  ASSERT_TRUE(second.prepare(gpuSpec()));
  EXPECT_EQ(fake->calls["cuFuncSetAttribute"], 2 * calls);

  fake->sharedBytesOptin = static_cast<int>(needed) - 1;
  mla::Engine third = engineOf(0);
  auto refused = third.prepare(gpuSpec());
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
  refused = fourth.prepare(gpuSpec());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), MLA_E_DEVICE);
  EXPECT_STREQ(refused.status()->stage, "load");
  fake->failures.clear();
  EXPECT_TRUE(fourth.prepare(gpuSpec()));
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
    auto one = limited.prepare(gpuSpec()), all = whole.prepare(gpuSpec());
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
                      }).buildArchive({gpuSpec()}, path.c_str());
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
        isLookup ? engine.lookup(gpuSpec()) : engine.prepare(gpuSpec());
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
  auto kernel = engine.prepare(gpuSpec());
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
  EXPECT_STREQ(engine.prepare(gpuSpec())->info(66, 66)->variant, "only");
  mla_spec spec = gpuSpec();
  spec.h_q = 16;
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

// Copies on the host, whatever the kernel runs on.
TEST_F(CInterfaceCudaTest, ContentsAreCheckedOnTheHost) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->info()->is_gpu, 1);
  GPUStep step;
  int32_t length = 65, table[4] = {3, 0, -1, -1};
  step.args.seq_lens.data = &length;
  step.args.table.data = table;
  mla::Status status = kernel->check(step.args);
  EXPECT_TRUE(status) << status.message();
  length = 129; // a third page
  EXPECT_STREQ(kernel->check(step.args)->argument, "table");
  EXPECT_TRUE(fake->launches.empty());
}

TEST_F(CInterfaceCudaTest, LaunchesMayCheckTheirContents) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  GPUStep step;
  int32_t length = 65, table[4] = {3, 0, -1, -1};
  step.args.seq_lens.data = &length;
  step.args.table.data = table;
  step.args.flags = MLA_LAUNCH_CHECK;
  auto launch = [&](mla_jit::cuda::StreamHandle stream = nullptr) {
    return kernel->launch(step.args, stream);
  };
  for (int i = 0; i < 3; ++i) // none is remembered
    EXPECT_TRUE(launch()) << launch().message();
  ContextHandle context = fake->launches.back().context;
  fake->launches.clear();
  length = 129; // a third page
  mla::Status status = launch();
  EXPECT_EQ(status.code(), MLA_E_INVALID);
  EXPECT_STREQ(status->argument, "table");
  EXPECT_STREQ(status.message(),
               "argument 'table' requires pages in [0, 4), but page 2 of "
               "request 0 is -1");
  length = -1;
  EXPECT_STREQ(launch()->argument, "seq_lens");
  // Sizes come first: what is read has to be there.
  step.args.batch = step.args.total_q = 2;
  EXPECT_EQ(launch().code(), MLA_E_INVALID);
  EXPECT_TRUE(fake->launches.empty());
  step.args.batch = step.args.total_q = 1;
  length = 65;
  fake->failures["cuMemcpyDtoHAsync"] = mla_jit::cuda::InvalidValue;
  EXPECT_NE(std::string(launch().message()).find("'seq_lens'"),
            std::string::npos);
  fake->failures.clear();

  const auto &call = driver->call();
  call.ctxPushCurrent(context);
  mla_jit::cuda::StreamHandle stream = nullptr;
  call.streamCreate(&stream, mla_jit::cuda::kStreamNonBlocking);
  call.streamBeginCapture(stream, mla_jit::cuda::CaptureMode::Global);
  status = launch(stream);
  EXPECT_EQ(status.code(), MLA_E_UNSUPPORTED);
  EXPECT_STREQ(status->argument, "flags");
  mla_jit::cuda::GraphHandle graph = nullptr;
  EXPECT_EQ(call.streamEndCapture(stream, &graph), 0); // not broken
  call.graphDestroy(graph);
  // Nor by a check beside it, in another stream.
  call.streamBeginCapture(stream, mla_jit::cuda::CaptureMode::Global);
  EXPECT_TRUE(launch()) << launch().message();
  EXPECT_EQ(call.streamEndCapture(stream, &graph), 0);
  call.graphDestroy(graph);
  call.streamDestroy(stream);
  ContextHandle popped;
  call.ctxPopCurrent(&popped);
}

//===----------------------------------------------------------------------===//
// Schedules once a step
//===----------------------------------------------------------------------===//

static mla_spec sharedSpec() {
  mla_spec spec = gpuSpec();
  spec.features = MLA_FEATURE_SHARED_SCHEDULE;
  return spec;
}

/// How many parameters each entry of a PTX text has.
static std::map<std::string, size_t> countParameters(llvm::StringRef ptx) {
  std::map<std::string, size_t> counts;
  while (true) {
    ptx = ptx.split(".entry ").second;
    if (ptx.empty())
      return counts;
    auto [name, list] = ptx.split('(');
    counts[name.str()] = list.split(')').first.count(".param");
  }
}

/// Whether some parameter is an address in [begin, begin + bytes).
static bool takes(const FakeCuda::Launch &launch, void *begin, uint64_t bytes) {
  auto first = reinterpret_cast<uint64_t>(begin);
  return llvm::any_of(launch.parameters, [&](uint64_t word) {
    return word >= first && word < first + bytes;
  });
}

TEST_F(CInterfaceCudaTest, LayersShareASchedule) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(sharedSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_NE(std::string(kernel->info()->schedule).find("plan = shared"),
            std::string::npos);
  fake->parameterCounts = countParameters(*kernel->stage("ptx"));
  EXPECT_EQ(fake->parameterCounts.size(), 3u);
  auto sizes = engine.sizes(sharedSpec(), 1, 1);
  uint64_t bytes = sizes->schedule_bytes;
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, sizes->workspace_bytes);
  EXPECT_EQ(engine.sizes(gpuSpec(), 1, 1)->schedule_bytes, 0u);

  GPUStep step;
  mla_args &args = step.args;
  void *plan = reinterpret_cast<void *>(0x900000000000);
  mla::Status status = kernel->launch(args);
  ASSERT_TRUE(status) << status.message();
  ASSERT_EQ(fake->launches.size(), 3u); // plan, main, combine
  for (const FakeCuda::Launch &launch : fake->launches) {
    EXPECT_TRUE(takes(launch, args.workspace, args.workspace_bytes));
    EXPECT_FALSE(takes(launch, plan, bytes));
  }

  fake->launches.clear();
  status = kernel->schedule(args, plan, bytes);
  ASSERT_TRUE(status) << status.message();
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_TRUE(takes(fake->launches[0], plan, bytes));
  EXPECT_FALSE(takes(fake->launches[0], args.workspace, args.workspace_bytes));

  // Each layer: main and combine, which read it and keep partial results apart.
  fake->launches.clear();
  args.schedule = plan;
  args.schedule_bytes = bytes;
  args.workspace_bytes = sizes->workspace_bytes - bytes;
  for (uint32_t flags : {0u, MLA_LAUNCH_PDL_WAIT}) {
    args.flags = flags;
    status = kernel->launch(args);
    ASSERT_TRUE(status) << status.message();
  }
  ASSERT_EQ(fake->launches.size(), 4u);
  for (const FakeCuda::Launch &launch : fake->launches) {
    EXPECT_TRUE(takes(launch, plan, bytes));
    EXPECT_TRUE(takes(launch, args.workspace, args.workspace_bytes));
  }
  // The first one of a launch overlaps what is ahead only if it may.
  EXPECT_TRUE(fake->launches[0].attributes.empty());
  EXPECT_EQ(fake->launches[2].attributes.size(), 1u);
  EXPECT_EQ(countersOf(engine).launch_failures, 0u);
}

// What comes again, as a model's layers do, is looked at once.
TEST_F(CInterfaceCudaTest, LaunchesAgainWithoutTellingTheDriver) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto steps = [&](int layers) {
    fake->calls.clear();
    fake->maps.clear();
    fake->launches.clear();
    for (int layer = 0; layer < layers; ++layer) {
      GPUStep step;
      step.args.q.data = reinterpret_cast<void *>(0x10000000 + layer * 0x40000);
      mla::Status status = kernel->launch(step.args);
      EXPECT_TRUE(status) << status.message();
    }
    EXPECT_EQ(fake->calls["cuGraphLaunch"], layers);
    EXPECT_EQ(fake->launches.size(), 2u * layers);
    return fake->calls["cuGraphExecKernelNodeSetParams"];
  };
  EXPECT_EQ(steps(61), 1 + 61); // one graph; q is the main entry's alone
  // Each gets one of its own, but for the last, which the first has.
  EXPECT_EQ(steps(61), 2 * 60);
  EXPECT_EQ(steps(61), 0);
  EXPECT_TRUE(fake->maps.empty());
  for (int layer = 0; layer < 61; ++layer)
    EXPECT_EQ(fake->launches[2 * layer].parameters[0],
              0x10000000u + layer * 0x40000);
  EXPECT_EQ(countersOf(engine).launches, 3 * 61u);

  // Whatever differs is another launch; of the scale one entry is told.
  GPUStep step;
  int &told = fake->calls["cuGraphExecKernelNodeSetParams"];
  for (auto [scale, tellings] : {std::pair{0.1f, 1}, {0.2f, 2}, {0.1f, 3}}) {
    step.args.softmax_scale = scale;
    EXPECT_TRUE(kernel->launch(step.args));
    EXPECT_EQ(told, tellings) << scale;
  }
  // But for the hint, if it is one.
  step.args.kv_len = 1000;
  EXPECT_TRUE(kernel->launch(step.args));
  EXPECT_EQ(told, 3);
  step.args.kv_len = -1;
  EXPECT_FALSE(kernel->launch(step.args));
  fake->launches.clear();
  step.args.k.shape[3] = 577;
  EXPECT_FALSE(kernel->launch(step.args));
  EXPECT_TRUE(fake->launches.empty());
}

// What a stream remembers is no use to it while it is captured, and still there
// afterwards; so it is when the driver fails to do it again.
TEST_F(CInterfaceCudaTest, LaunchesThatComeAgainAreCapturedAsSingleOnes) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  GPUStep step;
  ASSERT_TRUE(kernel->launch(step.args));
  const auto &call = driver->call();
  call.ctxPushCurrent(fake->launches.back().context);
  mla_jit::cuda::StreamHandle stream = nullptr;
  call.streamCreate(&stream, mla_jit::cuda::kStreamNonBlocking);
  // The calls that start something, of a launch that succeeds.
  auto starts = [&](int graphs, int kernels) {
    fake->calls.clear();
    mla::Status status = kernel->launch(step.args, stream);
    EXPECT_TRUE(status) << status.message();
    EXPECT_EQ(fake->calls["cuGraphLaunch"], graphs);
    EXPECT_EQ(fake->calls["cuLaunchKernelEx"], kernels);
    return fake->calls["cuGraphExecKernelNodeSetParams"];
  };
  EXPECT_EQ(starts(1, 0), 2);
  EXPECT_EQ(starts(1, 0), 0);
  call.streamBeginCapture(stream, mla_jit::cuda::CaptureMode::Global);
  EXPECT_EQ(starts(0, 2), 0);
  mla_jit::cuda::GraphHandle graph = nullptr;
  EXPECT_EQ(call.streamEndCapture(stream, &graph), 0);
  call.graphDestroy(graph);
  EXPECT_EQ(starts(1, 0), 0);

  fake->failures["cuGraphLaunch"] = mla_jit::cuda::OutOfMemory;
  EXPECT_EQ(kernel->launch(step.args, stream).code(), MLA_E_OOM);
  fake->failures.clear();
  EXPECT_EQ(starts(1, 0), 0);
  EXPECT_EQ(countersOf(engine).launch_failures, 1u);
  call.streamDestroy(stream);
  ContextHandle popped;
  call.ctxPopCurrent(&popped);
}

TEST_F(CInterfaceCudaTest, LaunchGraphsAsTheOptionSays) {
  for (auto [option, graphs] : {std::pair{-1, 0}, {1, 1}, {8, 2}}) {
    mla::Engine engine = makeEngine([&](mla_engine_options &options) {
      options.num_sms = 0;
      options.target = "cuda";
      options.cache_dir = cacheDirectory().c_str();
      options.launch_graphs = option;
    });
    fake->calls.clear();
    auto kernel = engine.prepare(gpuSpec());
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(fake->calls["cuGraphInstantiateWithFlags"], graphs) << option;
    fake->launches.clear();
    EXPECT_TRUE(kernel->launch(GPUStep().args));
    EXPECT_EQ(fake->launches.size(), 2u);
    EXPECT_EQ(fake->calls["cuGraphLaunch"], graphs > 0);
  }
  mla_engine_options options = mla::make<mla_engine_options>();
  options.target = "cuda";
  options.launch_graphs = -2;
  auto refused = mla::Engine::create(options);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.status()->argument, "launch_graphs");
}

TEST_F(CInterfaceCudaTest, SchedulesOfSomethingElseAreRefused) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(sharedSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  mla_spec windowed = sharedSpec();
  windowed.mask |= MLA_MASK_WINDOW;
  auto other = engine.prepare(windowed);
  auto unshared = engine.prepare(gpuSpec());
  ASSERT_TRUE(other && unshared);
  uint64_t bytes = engine.sizes(sharedSpec(), 2, 2)->schedule_bytes;
  void *plan = reinterpret_cast<void *>(0x900000000000);

  auto refused = [](const mla::Status &status, int32_t code,
                    const char *argument) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_STREQ(status->argument, argument) << status.message();
  };
  GPUStep step;
  mla_args &args = step.args;
  refused(kernel->schedule(args, plan, 0), MLA_E_WORKSPACE, "schedule_bytes");
  refused(kernel->schedule(args, nullptr, bytes), MLA_E_WORKSPACE, "schedule");
  refused(kernel->schedule(args, static_cast<char *>(plan) + 8, bytes),
          MLA_E_WORKSPACE, "schedule");
  refused(unshared->schedule(args, plan, bytes), MLA_E_UNSUPPORTED, "schedule");
  args.flags = MLA_LAUNCH_PDL_WAIT; // the plan's kernel waits for none
  refused(kernel->schedule(args, plan, bytes), MLA_E_UNSUPPORTED, "flags");
  args.flags = 0;
  EXPECT_TRUE(fake->launches.empty());

  args.schedule = plan;
  args.schedule_bytes = bytes;
  refused(kernel->launch(args), MLA_E_INVALID, "schedule");
  ASSERT_TRUE(kernel->schedule(args, plan, bytes));
  EXPECT_TRUE(kernel->launch(args));
  mla_args others = args;
  others.window = 100;
  refused(other->launch(others), MLA_E_INVALID, "schedule");
  refused(unshared->launch(args), MLA_E_UNSUPPORTED, "schedule");
  const std::pair<const char *, void (*)(mla_args &)> kChanges[] = {
      {"schedule_bytes", [](mla_args &a) { a.schedule_bytes = 0; }},
      {"num_splits", [](mla_args &a) { a.num_splits = 2; }},
      {"max_ctas", [](mla_args &a) { a.max_ctas = 7; }},
      {"total_q",
       [](mla_args &a) {
         a.q_len = a.total_q = 2;
         a.q.shape[1] = a.out.shape[1] = 2;
       }},
      {"batch", [](mla_args &a) {
         a.batch = a.total_q = 2;
         a.q.shape[0] = a.out.shape[0] = a.seq_lens.shape[0] =
             a.table.shape[0] = 2;
       }}};
  for (const auto &[argument, change] : kChanges) {
    mla_args changed = args;
    change(changed);
    bool isSize = std::string_view(argument) == "schedule_bytes";
    refused(kernel->launch(changed), isSize ? MLA_E_WORKSPACE : MLA_E_INVALID,
            argument);
  }
  EXPECT_TRUE(kernel->launch(args));
  // Another kernel's takes its place.
  ASSERT_TRUE(other->schedule(others, plan, bytes));
  refused(kernel->launch(args), MLA_E_INVALID, "schedule");
  EXPECT_TRUE(other->launch(others));
  others.window = 99;
  refused(other->launch(others), MLA_E_INVALID, "window");
}
