//===- CInterfaceCudaLaunchTest.cpp ---------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches on a GPU: checks of contents, schedules once a step, launch graphs.
//
//===----------------------------------------------------------------------===//

#include "CInterfaceCuda.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mla_test;
using mla_jit::cuda::ContextHandle;

namespace {
class CInterfaceCudaLaunchTest : public CInterfaceCudaTest {};
} // namespace

// Copies on the host, whatever the kernel runs on.
TEST_F(CInterfaceCudaLaunchTest, ContentsAreCheckedOnTheHost) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec(128));
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

TEST_F(CInterfaceCudaLaunchTest, LaunchesMayCheckTheirContents) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec(128));
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
  for (const char *name : {"cuMemcpyDtoHAsync", "cuStreamSynchronize"})
    fake->failures[name] = mla_jit::cuda::IllegalAddress;
  EXPECT_EQ(launch().code(), MLA_E_DEVICE_LOST);
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
  mla_spec spec = gpuSpec(128);
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

TEST_F(CInterfaceCudaLaunchTest, LayersShareASchedule) {
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
  EXPECT_EQ(engine.sizes(gpuSpec(128), 1, 1)->schedule_bytes, 0u);

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
TEST_F(CInterfaceCudaLaunchTest, LaunchesAgainWithoutTellingTheDriver) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec(128));
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
TEST_F(CInterfaceCudaLaunchTest, LaunchesThatComeAgainAreCapturedAsSingleOnes) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(gpuSpec(128));
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

TEST_F(CInterfaceCudaLaunchTest, LaunchGraphsAsTheOptionSays) {
  for (auto [option, graphs] : {std::pair{-1, 0}, {1, 1}, {8, 2}}) {
    mla::Engine engine = makeEngine([&](mla_engine_options &options) {
      options.num_sms = 0;
      options.target = "cuda";
      options.cache_dir = cacheDirectory().c_str();
      options.launch_graphs = option;
    });
    fake->calls.clear();
    auto kernel = engine.prepare(gpuSpec(128));
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

TEST_F(CInterfaceCudaLaunchTest, SchedulesOfSomethingElseAreRefused) {
  mla::Engine engine = engineOf(0);
  auto kernel = engine.prepare(sharedSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  mla_spec windowed = sharedSpec();
  windowed.mask |= MLA_MASK_WINDOW;
  auto other = engine.prepare(windowed);
  auto unshared = engine.prepare(gpuSpec(128));
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
