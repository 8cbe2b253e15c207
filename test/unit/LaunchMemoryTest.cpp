//===- LaunchMemoryTest.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches allocate nothing, those of the kernel with the most arguments too.
// The test has a malloc of its own, which counts.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/Driver.h"
#include "CInterface.h"
#include "FakeCuda.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>

using namespace mla_test;

//===----------------------------------------------------------------------===//
// Counted allocations
//===----------------------------------------------------------------------===//

/// Of all threads, libraries included, but for what the fake driver does.
static std::atomic<int64_t> numAllocations = 0;
static std::atomic<bool> isCounting = false;
static thread_local int insideDriver = 0;

static void count() {
  if (isCounting && !insideDriver)
    ++numAllocations;
}

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void *calloc(size_t number, size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void *realloc(void *memory, size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
}

/// Requires that a call is right each time, and allocates nothing.
template <typename Call>
static void expectNoAllocations(const char *what, Call call, int times = 5) {
  int32_t code = MLA_OK;
  numAllocations = 0;
  isCounting = true;
  for (int i = 0; i < times && code == MLA_OK; ++i)
    code = call(i);
  isCounting = false;
  EXPECT_EQ(code, MLA_OK) << what;
  EXPECT_EQ(numAllocations, 0) << what;
}

TEST(LaunchMemoryTest, CountsWhatLibrariesAllocate) {
  numAllocations = 0;
  isCounting = true;
  std::string text(1000, 'x');
  void *aligned = nullptr;
  int failed = posix_memalign(&aligned, 64, 1000);
  isCounting = false;
  std::free(aligned);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(numAllocations, 2) << text.size();
}

//===----------------------------------------------------------------------===//
// The launches with the most arguments
//===----------------------------------------------------------------------===//

namespace {
/// Of 2 requests with 3 query rows.
struct LargeStep {
  LargeStep(int32_t dtype, const mla_spec &spec) {
    int64_t latent = spec.d_qk - spec.d_rope, heads = spec.h_q;
    args = mla::make<mla_args>();
    args.batch = 2;
    args.total_q = 3;
    args.q = tensor(address(), dtype, {3, heads, latent});
    args.q_rope = tensor(address(), dtype, {3, heads, spec.d_rope});
    args.k = tensor(address(), dtype, {4, spec.page_size, 1, latent});
    args.k_rope = tensor(address(), dtype, {4, spec.page_size, 1, spec.d_rope});
    args.out = tensor(address(), dtype, {3, heads, spec.d_v});
    args.lse = tensor(address(), MLA_F32, {3, heads});
    args.seq_lens = tensor(lengths, MLA_I32, {2});
    args.q_offsets = tensor(offsets, MLA_I32, {3});
    args.kv_indptr = tensor(indptr, MLA_I32, {3});
    args.kv_indices = tensor(indices, MLA_I32, {4});
    args.table_rows = tensor(rows, MLA_I32, {2});
    args.window = 5;
    args.softmax_scale = 0.1f;
  }
  /// Large enough for each tensor, and aligned for TMA.
  void *address() { return memory; }

  alignas(256) char memory[1 << 20] = {};
  int32_t lengths[2] = {20, 5}, offsets[3] = {0, 2, 3}, indptr[3] = {0, 2, 3},
          indices[4] = {2, 0, 1, 3}, rows[2] = {1, 0};
  mla_args args;
};
} // namespace

/// Whatever makes arguments.
static mla_spec largeSpec() {
  mla_spec spec = smallSpec();
  spec.d_rope = 8;
  spec.mask |= MLA_MASK_WINDOW;
  spec.table_kind = MLA_TABLE_CSR;
  spec.features = MLA_FEATURE_RAGGED_Q | MLA_FEATURE_TABLE_ROWS;
  return spec;
}

TEST(LaunchMemoryTest, OnTheHost) {
  mla::Engine engine = makeEngine();
  mla_spec spec = largeSpec();
  spec.score_mod = "(%a: f32) %y = arith.mulf %score, %a : f32\n"
                   "mla.yield %y : f32";
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->info(2, 3)->num_args, 17);
  auto step = std::make_unique<LargeStep>(MLA_F32, spec);
  mla_named_arg named = {"a", {}, 1.0};
  step->args.named = &named;
  step->args.num_named = 1;
  auto sizes = kernel->sizes(2, 3, 5);
  ASSERT_TRUE(sizes);
  step->args.workspace = std::aligned_alloc(64, sizes->workspace_bytes + 64);
  step->args.workspace_bytes = sizes->workspace_bytes;
  auto status = mla::make<mla_status>();
  for (int32_t splits : {0, 5}) {
    step->args.num_splits = splits;
    expectNoAllocations("mla_launch", [&](int i) {
      step->args.softmax_scale = 0.1f + static_cast<float>(i);
      return mla_launch(kernel->get(), nullptr, &step->args, &status);
    });
  }
  std::free(step->args.workspace);
}

TEST(LaunchMemoryTest, TooManyArgumentsAreAnError) {
  mla::Engine engine = makeEngine();
  mla_spec spec = largeSpec();
  std::string score = "(%a0: f32";
  for (int i = 1; i < 17; ++i)
    score += ", %a" + std::to_string(i) + ": f32";
  score += ") %y = arith.addf %score, %a0 : f32\nmla.yield %y : f32";
  spec.score_mod = score.c_str();
  auto kernel = engine.prepare(spec);
  ASSERT_FALSE(kernel);
  EXPECT_STREQ(kernel.status().message(),
               "spec 'score_mod' requires at most 15 arguments, but got more");
  // The most are what launches have room for.
  score.erase(score.find(", %a15: f32"), strlen(", %a15: f32, %a16: f32"));
  spec.score_mod = score.c_str();
  kernel = engine.prepare(spec);
  EXPECT_TRUE(kernel) << kernel.status().message();
}

namespace {
/// On a driver that launches nothing, and whose own allocations do not count.
class CudaLaunchMemoryTest : public testing::Test {
protected:
  CudaLaunchMemoryTest()
      : engine(makeEngine([](mla_engine_options &options) {
          options.target = "cuda";
          options.num_sms = 0;
        })) {
    void *library = dlopen(MLA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    fake = freshFakeCuda(library);
    fake->onCall = [](bool begins) { insideDriver += begins ? 1 : -1; };
    driver = &*mla_jit::cuda::Driver::get();
  }
  ~CudaLaunchMemoryTest() override { fake->onCall = nullptr; }

  FakeCuda *fake = nullptr;
  const mla_jit::cuda::Driver *driver = nullptr;
  mla::Engine engine;
  mla_status status = mla::make<mla_status>();
};
} // namespace

TEST_F(CudaLaunchMemoryTest, LaunchesAndSchedules) {
  mla_spec spec = largeSpec();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = 16;
  spec.d_qk = 576;
  spec.d_v = 512;
  spec.d_rope = spec.page_size = 64;
  spec.features |= MLA_FEATURE_SHARED_SCHEDULE;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->info(2, 3)->num_args, 17);
  auto step = std::make_unique<LargeStep>(MLA_BF16, spec);
  mla_args &args = step->args;
  args.workspace = step->address();
  args.workspace_bytes = uint64_t(1) << 32;
  auto launch = [&] {
    return mla_launch(kernel->get(), nullptr, &args, &status);
  };
  auto withNewScale = [&](int i) {
    args.softmax_scale = 0.1f + static_cast<float>(i);
    return launch();
  };
  expectNoAllocations("of new arguments", withNewScale);
  expectNoAllocations("repeated", [&](int) { return launch(); });
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 10);
  args.flags = MLA_LAUNCH_PDL_TRIGGER; // no graphs
  expectNoAllocations("of single kernels", withNewScale);
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 10);
  args.flags = 0;

  mla_jit::cuda::ContextHandle context = nullptr, popped = nullptr;
  context = fake->launches.front().context;
  driver->call().ctxPushCurrent(context);
  mla_jit::cuda::StreamHandle stream = nullptr;
  driver->call().streamCreate(&stream, mla_jit::cuda::kStreamNonBlocking);
  driver->call().streamBeginCapture(stream, mla_jit::cuda::CaptureMode::Global);
  expectNoAllocations("captured", [&](int) {
    return mla_launch(kernel->get(), stream, &args, &status);
  });
  mla_jit::cuda::GraphHandle graph = nullptr;
  EXPECT_EQ(driver->call().streamEndCapture(stream, &graph), 0);
  driver->call().graphDestroy(graph);
  driver->call().streamDestroy(stream);
  driver->call().ctxPopCurrent(&popped);

  void *plan = step->address();
  auto schedule = [&](int i) {
    args.window = 5 + i;
    return mla_schedule(kernel->get(), nullptr, &args, plan,
                        args.workspace_bytes, &status);
  };
  ASSERT_EQ(schedule(0), MLA_OK); // whose buffer is remembered from here on
  expectNoAllocations("mla_schedule", schedule);
  args.schedule = plan;
  args.schedule_bytes = args.workspace_bytes;
  expectNoAllocations("of a schedule", withNewScale);
}

TEST_F(CudaLaunchMemoryTest, Merges) {
  auto spec = mla::make<mla_spec>();
  spec.operation = MLA_MERGE;
  spec.out_dtype = MLA_BF16;
  spec.h_q = 16;
  spec.d_v = 512;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  alignas(256) static char memory[1 << 16];
  auto args = mla::make<mla_merge_args>();
  args.parts = tensor(memory, MLA_BF16, {2, 1, 16, 512});
  args.lse_parts = tensor(memory, MLA_F32, {2, 1, 16});
  args.out = tensor(memory, MLA_BF16, {1, 16, 512});
  args.lse = tensor(memory, MLA_F32, {1, 16});
  expectNoAllocations("mla_merge", [&](int i) {
    args.lse_base = i % 2 ? 2 : 0;
    return mla_merge(kernel->get(), nullptr, &args, &status);
  });
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 5);
}
