//===- CInterfaceTest.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What hosts meet: results, errors that name a field, keys against arguments.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <sys/wait.h>
#include <unistd.h>

using namespace mla_test;

static std::string refusal(const mla::Status &status, mla_code code) {
  EXPECT_EQ(status.code(), code)
      << mla_code_name(status.code()) << ": " << status.message();
  EXPECT_STRNE(status.message(), "");
  return status->argument;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST(CInterfaceTest, LaunchesInEitherShape) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(spec, 2, 2));
  mla::Status status = kernel->launch(step.args);
  ASSERT_TRUE(status) << status.message();
  // Pages 2 and 0: keys 32..47 and 0..3; page 1: keys 16..20.
  EXPECT_NEAR(step.mean(0), (16 * 39.5 + 4 * 1.5) / 20, 1e-4);
  EXPECT_NEAR(step.mean(1), 18, 1e-4);

  // The same rows as [t, h, d], with lse, on one thread.
  std::vector<float> out = step.out, lse(8);
  std::fill(step.out.begin(), step.out.end(), -1.f);
  step.args.q = tensor(step.q.data(), MLA_F32, {2, 4, 72});
  step.args.out = tensor(step.out.data(), MLA_F32, {2, 4, 64});
  step.args.lse = tensor(lse.data(), MLA_F32, {2, 4});
  step.args.max_ctas = 1;
  ASSERT_TRUE(kernel->launch(step.args));
  EXPECT_NEAR(step.mean(0), out[0], 1e-5);
  EXPECT_NEAR(lse[0], std::log(20.0), 1e-5);
  EXPECT_NEAR(lse[4], std::log(5.0), 1e-5);
  EXPECT_EQ(countersOf(engine).launches, 2u);
}

// Of each request only the last queries see keys: each one more than the one
// before.
TEST(CInterfaceTest, ThousandsOfQueries) {
  constexpr int kQueries = 4096;
  mla::Engine engine = makeEngine();
  auto kernel = engine.prepare(smallSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(smallSpec(), 2, 2 * kQueries), kQueries);
  std::fill(step.out.begin(), step.out.end(), std::nanf(""));
  mla::Status status = kernel->launch(step.args);
  ASSERT_TRUE(status) << status.message();
  for (int query = 0; query < kQueries; ++query) {
    int seen = query - (kQueries - 5) + 1; // of the keys 16 to 20
    ASSERT_NEAR(step.mean(1, query), seen > 0 ? 16 + (seen - 1) / 2.0 : 0, 1e-4)
        << query;
  }
  // Page 2, then the first 4 keys of page 0.
  EXPECT_NEAR(step.mean(0, kQueries - 1), (16 * 39.5 + 4 * 1.5) / 20, 1e-4);
  EXPECT_NEAR(step.mean(0, kQueries - 20), 32, 1e-4);
  EXPECT_EQ(step.mean(0, kQueries - 21), 0);
  EXPECT_EQ(std::count_if(step.out.begin(), step.out.end(),
                          [](float value) { return std::isnan(value); }),
            0);
}

TEST(CInterfaceTest, LSEOfEitherBaseWithEitherEmptyValue) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.max_splits = 2;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(spec, 2, 2));
  step.lengths[1] = 0;
  std::vector<float> lse(8);
  step.args.lse = tensor(lse.data(), MLA_F32, {2, 1, 4});
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (int32_t splits : {1, 2}) // whole, and merged
    for (int32_t base : {0, 2})
      for (int32_t posinf : {0, 1}) {
        step.args.num_splits = splits;
        step.args.lse_base = base;
        step.args.lse_empty_posinf = posinf;
        mla::Status status = kernel->launch(step.args);
        ASSERT_TRUE(status) << status.message();
        EXPECT_NEAR(lse[0], base == 2 ? std::log2(20.0) : std::log(20.0), 1e-5);
        EXPECT_EQ(lse[4], posinf ? kInf : -kInf);
        EXPECT_EQ(step.mean(1), 0);
      }
  EXPECT_EQ(countersOf(engine).compiles, 1u);
}

TEST(CInterfaceTest, WholeTensorsForSplitKernels) {
  // q and k may be whole though the kernel takes latent and rope apart.
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.d_rope = 8;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(spec, 2, 2));
  // Only a rope column of the last key scores: it takes all of the weight.
  step.k[(size_t(0) * 16 + 3) * 72 + 71] = 1e6f;
  for (size_t row = 0; row < 8; ++row)
    step.q[row * 72 + 71] = 1;
  mla::Status status = kernel->launch(step.args);
  ASSERT_TRUE(status) << status.message();
  EXPECT_NEAR(step.mean(0), 3, 1e-4);
  EXPECT_NEAR(step.mean(1), 18, 1e-4);
}

TEST(CInterfaceTest, ScoreCodeWithArguments) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.score_mod = "(%bias: memref<?xf32>, %gain: f32)\n"
                   "%i = arith.index_cast %kpos : i32 to index\n"
                   "%c15 = arith.constant 15 : index\n"
                   "%j = arith.minsi %i, %c15 : index\n"
                   "%b0 = memref.load %bias[%j] : memref<?xf32>\n"
                   "%b1 = arith.mulf %b0, %gain : f32\n"
                   "%s = arith.addf %score, %b1 : f32\n"
                   "mla.yield %s : f32";
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(spec, 2, 2));
  EXPECT_EQ(refusal(kernel->launch(step.args), MLA_E_INVALID), "bias");
  float bias[16] = {0, 0, 0, 1};
  mla_named_arg named[2] = {{"bias", tensor(bias, MLA_F32, {16}), 0},
                            {"gain", {}, 1000}};
  step.args.named = named;
  step.args.num_named = 2;
  mla::Status status = kernel->launch(step.args);
  ASSERT_TRUE(status) << status.message();
  EXPECT_NEAR(step.mean(1), 19, 1e-4); // position 3 of page 1
  named[1].name = "window";
  EXPECT_EQ(refusal(kernel->launch(step.args), MLA_E_INVALID), "named");
}

TEST(CInterfaceTest, BadLaunchesNameTheField) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  using Change = void (*)(mla_args &);
  static float something[64];
  struct {
    const char *field;
    mla_code code;
    Change change;
  } const kCases[] = {
      {"workspace_bytes", MLA_E_WORKSPACE,
       [](mla_args &a) { --a.workspace_bytes; }},
      {"workspace", MLA_E_WORKSPACE,
       [](mla_args &a) { a.workspace = nullptr; }},
      {"workspace", MLA_E_WORKSPACE,
       [](mla_args &a) { a.workspace = static_cast<char *>(a.workspace) + 4; }},
      {"batch", MLA_E_INVALID, [](mla_args &a) { a.batch = -1; }},
      {"batch", MLA_E_INVALID, [](mla_args &a) { a.batch = a.total_q = 1; }},
      {"total_q", MLA_E_INVALID, [](mla_args &a) { a.total_q = 3; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.dtype = MLA_BF16; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.dtype = 99; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.rank = 5; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.rank = -1; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.data = nullptr; }},
      {"q", MLA_E_INVALID, [](mla_args &a) { a.q.shape[3] = 64; }},
      {"k", MLA_E_INVALID, [](mla_args &a) { a.k = {}; }},
      {"k", MLA_E_INVALID, [](mla_args &a) { a.k.stride[3] = 2; }},
      {"table", MLA_E_INVALID, [](mla_args &a) { a.table.shape[0] = 1; }},
      {"out", MLA_E_INVALID, [](mla_args &a) { a.out.shape[0] = -2; }},
      {"k", MLA_E_INVALID,
       [](mla_args &a) { a.k.shape[0] = int64_t(1) << 62; }},
      {"k", MLA_E_INVALID,
       [](mla_args &a) {
         a.k.stride[0] = std::numeric_limits<int64_t>::min();
       }},
      {"q", MLA_E_INVALID,
       [](mla_args &a) { a.q.stride[0] = int64_t(1) << 60; }},
      {"q", MLA_E_INVALID,
       [](mla_args &a) {
         a.batch = 1, a.q_len = 2;
         a.q = tensor(something, MLA_F32, {2, 4, 72});
         a.q.stride[0] = int64_t(1) << 62;
       }},
      {"v", MLA_E_INVALID,
       [](mla_args &a) { a.v = tensor(something, MLA_F32, {8}); }},
      {"q_offsets", MLA_E_INVALID,
       [](mla_args &a) { a.q_offsets = tensor(something, MLA_I32, {3}); }},
      {"softmax_scale", MLA_E_INVALID,
       [](mla_args &a) {
         a.softmax_scale = std::numeric_limits<float>::quiet_NaN();
       }},
      {"num_splits", MLA_E_INVALID, [](mla_args &a) { a.num_splits = -1; }},
      {"max_ctas", MLA_E_INVALID, [](mla_args &a) { a.max_ctas = -1; }},
      {"window", MLA_E_INVALID, [](mla_args &a) { a.window = 8; }},
      {"window", MLA_E_INVALID, [](mla_args &a) { a.window = -1; }},
      {"named", MLA_E_INVALID, [](mla_args &a) { a.num_named = 1; }},
      {"flags", MLA_E_INVALID, [](mla_args &a) { a.flags = 64; }},
      {"lse_base", MLA_E_INVALID, [](mla_args &a) { a.lse_base = 10; }},
      {"lse_empty_posinf", MLA_E_INVALID,
       [](mla_args &a) { a.lse_empty_posinf = -1; }},
      {"softcap", MLA_E_UNSUPPORTED, [](mla_args &a) { a.softcap = 30; }},
      {"scale_dev", MLA_E_UNSUPPORTED,
       [](mla_args &a) { a.scale_dev = something; }},
      {"cp_world", MLA_E_UNSUPPORTED, [](mla_args &a) { a.cp_world = 2; }},
      {"schedule", MLA_E_UNSUPPORTED,
       [](mla_args &a) { a.schedule = something; }},
      {"args", MLA_E_VERSION, [](mla_args &a) { a.size = 0; }},
      {"args", MLA_E_VERSION, [](mla_args &a) { a.size = 0xffffffff; }},
  };
  for (const auto &[field, code, change] : kCases) {
    SmallStep fresh(*engine.sizes(spec, 2, 2));
    mla_args args = fresh.args;
    change(args);
    EXPECT_EQ(refusal(kernel.launch(args), code), field);
  }
  // Contents, where they are asked for.
  step.args.flags = MLA_LAUNCH_CHECK;
  step.table[1] = 4;
  EXPECT_EQ(refusal(kernel.launch(step.args), MLA_E_INVALID), "table");
  step.table[1] = 0;
  EXPECT_TRUE(kernel.launch(step.args));
  EXPECT_EQ(refusal(kernel.launch(step.args, something), MLA_E_INVALID),
            "stream");
}

TEST(CInterfaceTest, NothingToDoNeedsNoMemory) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  mla_args &args = step.args;
  args.batch = args.total_q = 0;
  args.q = tensor(nullptr, MLA_F32, {0, 1, 4, 72});
  args.out = tensor(nullptr, MLA_F32, {0, 1, 4, 64});
  args.seq_lens = tensor(nullptr, MLA_I32, {0});
  args.table = tensor(nullptr, MLA_I32, {0, 2});
  mla::Status status = kernel.launch(args);
  EXPECT_TRUE(status) << status.message();
}

TEST(CInterfaceTest, NoQueriesOfARaggedBatchNeedNoMemory) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.features = MLA_FEATURE_RAGGED_Q;
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  mla_args &args = step.args;
  int32_t offsets[3] = {0, 0, 0};
  args.total_q = args.q_len = 0;
  args.q = tensor(nullptr, MLA_F32, {0, 4, 72});
  args.out = tensor(nullptr, MLA_F32, {0, 4, 64});
  args.q_offsets = tensor(offsets, MLA_I32, {3});
  mla::Status status = kernel.launch(args);
  EXPECT_TRUE(status) << status.message();
}

// Pool and table of nothing: rows are (0, -inf).
TEST(CInterfaceTest, NoKeysNeedNoMemory) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  std::fill(step.out.begin(), step.out.end(), -1.f);
  std::vector<float> lse(8);
  step.lengths[0] = step.lengths[1] = 0;
  mla_args &args = step.args;
  args.k = tensor(nullptr, MLA_F32, {0, 16, 1, 72});
  args.table = tensor(nullptr, MLA_I32, {2, 0});
  args.lse = tensor(lse.data(), MLA_F32, {2, 1, 4});
  mla::Status status = kernel.launch(args);
  ASSERT_TRUE(status) << status.message();
  EXPECT_TRUE(llvm::all_of(step.out, [](float x) { return x == 0; }));
  EXPECT_TRUE(llvm::all_of(lse, [](float x) {
    return x == -std::numeric_limits<float>::infinity();
  }));
}

//===----------------------------------------------------------------------===//
// Specs and options
//===----------------------------------------------------------------------===//

TEST(CInterfaceTest, BadSpecsNameTheField) {
  mla::Engine engine = makeEngine();
  using Change = void (*)(mla_spec &);
  struct {
    const char *field;
    mla_code code;
    Change change;
  } const kCases[] = {
      {"spec", MLA_E_VERSION, [](mla_spec &s) { s.size = 8; }},
      {"q_dtype", MLA_E_INVALID, [](mla_spec &s) { s.q_dtype = MLA_NONE; }},
      {"q_dtype", MLA_E_INVALID, [](mla_spec &s) { s.q_dtype = MLA_I32; }},
      {"q_dtype", MLA_E_INVALID, [](mla_spec &s) { s.q_dtype = -7; }},
      {"kv_dtype", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.kv_dtype = MLA_E4M3; }},
      {"kv_format", MLA_E_INVALID, [](mla_spec &s) { s.kv_format = 17; }},
      {"kv_format", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.kv_format = MLA_KV_ROW_656; }},
      {"h_q", MLA_E_INVALID, [](mla_spec &s) { s.h_q = 0; }},
      {"h_q", MLA_E_INVALID, [](mla_spec &s) { s.h_q = INT32_MAX; }},
      {"h_q", MLA_E_INVALID, [](mla_spec &s) { s.h_kv = 3; }},
      {"d_qk", MLA_E_INVALID, [](mla_spec &s) { s.d_qk = 577; }},
      {"d_v", MLA_E_INVALID, [](mla_spec &s) { s.d_v = 80; }},
      {"d_rope", MLA_E_INVALID, [](mla_spec &s) { s.d_rope = -8; }},
      {"page_size", MLA_E_INVALID, [](mla_spec &s) { s.page_size = 0; }},
      {"table_kind", MLA_E_INVALID, [](mla_spec &s) { s.table_kind = 9; }},
      {"table_kind", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.table_kind = MLA_TABLE_TOKENS; }},
      {"table_dtype", MLA_E_INVALID,
       [](mla_spec &s) { s.table_dtype = MLA_F32; }},
      {"separate_v", MLA_E_UNSUPPORTED, [](mla_spec &s) { s.separate_v = 1; }},
      {"mask", MLA_E_UNSUPPORTED, [](mla_spec &s) { s.mask = MLA_MASK_TREE; }},
      {"mask", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.mask = MLA_MASK_WINDOW; }},
      {"features", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.features = MLA_FEATURE_CONTEXT_PARALLEL; }},
      {"features", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.features = MLA_FEATURE_SHARED_SCHEDULE; }},
      {"target", MLA_E_UNSUPPORTED,
       [](mla_spec &s) { s.target = "cuda:sm_90a"; }},
      {"score_mod", MLA_E_INVALID, [](mla_spec &s) { s.score_mod = "(%a"; }},
      {"score_mod", MLA_E_INVALID,
       [](mla_spec &s) {
         s.score_mod = "(%window: i32) mla.yield %score : f32";
       }},
      {"symbol", MLA_E_INVALID, [](mla_spec &s) { s.symbol = "a-b"; }},
      {"symbol", MLA_E_INVALID, [](mla_spec &s) { s.symbol = "2nd"; }},
      {"operation", MLA_E_INVALID, [](mla_spec &s) { s.operation = 2; }},
      {"max_batch", MLA_E_INVALID, [](mla_spec &s) { s.max_batch = -1; }},
  };
  for (const auto &[field, code, change] : kCases) {
    mla_spec spec = smallSpec();
    change(spec);
    EXPECT_EQ(refusal(engine.isSupported(spec), code), field);
    auto kernel = engine.prepare(spec);
    ASSERT_FALSE(kernel) << field;
    EXPECT_EQ(refusal(kernel.status(), code), field);
  }
  EXPECT_TRUE(engine.isSupported(smallSpec()));

  mla_spec spec = smallSpec();
  spec.schedule = "#mla.schedule<nonsense>";
  auto kernel = engine.prepare(spec);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), MLA_E_COMPILE);
  EXPECT_STREQ(kernel.status()->stage, "parse");
}

// Of a target that there is: why. A name that says nothing is wrong.
TEST(CInterfaceTest, TargetsWithoutKernelsSaySo) {
  struct {
    const char *target, *field;
    mla_code code;
    const char *given;
  } const kCases[] = {
      {"cuda:sm_80", "chip", MLA_E_UNSUPPORTED, "(sm_90a), but got 'sm_80'"},
      {"cuda:sm_90", "chip", MLA_E_UNSUPPORTED, "(sm_90a), but got 'sm_90'"},
      {"cuda:sm_100a", "chip", MLA_E_UNSUPPORTED, "but got 'sm_100a'"},
      {"cuda:sm_99", "chip", MLA_E_INVALID, "is 'sm_99'"},
      {"host:x86-64", "cpu", MLA_E_UNSUPPORTED, "AVX2 and FMA, but 'x86-64'"},
      {"host:nosuch", "cpu", MLA_E_INVALID, "but got 'nosuch'"}};
  auto problem = makeEngine().compile(smallSpec(), "problem");
  ASSERT_TRUE(problem) << problem.status().message();
  for (const auto &[target, field, code, given] : kCases) {
    mla::Engine engine = makeEngine(
        [&](mla_engine_options &options) { options.target = target; });
    mla::Status status = engine.isSupported(smallSpec());
    EXPECT_EQ(refusal(status, code), field) << target;
    EXPECT_TRUE(std::strstr(status.message(), given)) << status.message();
    // Nor of MLIR text.
    auto tile = engine.compile(problem->c_str(), "decode.mlir", "tile");
    EXPECT_EQ(tile ? MLA_OK : tile.status().code(), code) << target;
  }
}

TEST(CInterfaceTest, BadOptionsNameTheField) {
  using Change = void (*)(mla_engine_options &);
  struct {
    const char *field;
    Change change;
  } const kCases[] = {
      {"target", [](mla_engine_options &o) { o.target = "tpu"; }},
      {"target", [](mla_engine_options &o) { o.target = "cuda:"; }},
      {"device", [](mla_engine_options &o) { o.device = -1; }},
      {"num_sms", [](mla_engine_options &o) { o.num_sms = -1; }},
      {"cache_mode", [](mla_engine_options &o) { o.cache_mode = 3; }},
      {"cache_trust", [](mla_engine_options &o) { o.cache_trust = -1; }},
      {"jit_policy", [](mla_engine_options &o) { o.jit_policy = 3; }},
  };
  for (const auto &[field, change] : kCases) {
    auto options = mla::make<mla_engine_options>();
    change(options);
    auto engine = mla::Engine::create(options);
    ASSERT_FALSE(engine) << field;
    EXPECT_EQ(refusal(engine.status(), MLA_E_INVALID), field);
  }
  mla::Engine engine = makeEngine();
  EXPECT_EQ(mla_engine_set_policy(engine.get(), 7, nullptr), MLA_E_INVALID);
}

TEST(CInterfaceTest, NullIsAnError) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla_kernel *kernel = nullptr;
  auto sizes = mla::make<mla_sizes>();
  EXPECT_EQ(mla_engine_create(nullptr, nullptr, nullptr), MLA_E_INVALID);
  EXPECT_EQ(mla_prepare(nullptr, &spec, &kernel, nullptr), MLA_E_INVALID);
  EXPECT_EQ(mla_prepare(engine.get(), nullptr, &kernel, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(mla_prepare(engine.get(), &spec, nullptr, nullptr), MLA_E_INVALID);
  EXPECT_EQ(mla_sizes_for(engine.get(), &spec, 1, 1, nullptr, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(mla_sizes_for(engine.get(), &spec, -1, 1, &sizes, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(mla_launch(nullptr, nullptr, nullptr, nullptr), MLA_E_INVALID);
  EXPECT_EQ(mla_kernel_get_info(nullptr, 0, 0, nullptr, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(mla_prepare_many(engine.get(), nullptr, 1, &kernel, nullptr,
                             nullptr, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(
      mla_prepare_many(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
      MLA_E_INVALID);
  EXPECT_EQ(mla_archive_open(engine.get(), nullptr, nullptr, nullptr, nullptr),
            MLA_E_INVALID);
  EXPECT_EQ(mla_engine_trim(nullptr, nullptr, nullptr), MLA_E_INVALID);
  mla_engine_destroy(nullptr);
  mla_kernel_retain(nullptr);
  mla_kernel_release(nullptr);
  mla_archive_close(nullptr);
  // A status of no known size is left alone.
  mla_status untouched = {};
  untouched.code = 77;
  EXPECT_EQ(mla_prepare(nullptr, &spec, &kernel, &untouched), MLA_E_INVALID);
  EXPECT_EQ(untouched.code, 77);
}

TEST(CInterfaceTest, StructsOfANewerHeader) {
  struct {
    mla_spec spec;
    int64_t more;
  } newer = {smallSpec(), 0};
  newer.spec.size = sizeof(newer);
  mla::Engine engine = makeEngine();
  EXPECT_TRUE(engine.isSupported(newer.spec));
  newer.more = 1;
  EXPECT_EQ(refusal(engine.isSupported(newer.spec), MLA_E_VERSION), "spec");
}

TEST(CInterfaceTest, SpecsAreText) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.features = MLA_FEATURE_RAGGED_Q;
  spec.score_mod = "a \"quoted\"\nline \\n";
  spec.max_kv_len = int64_t(1) << 40;
  auto textOf = [](const mla_spec &spec) {
    size_t bytes = 0;
    EXPECT_EQ(mla_spec_to_text(&spec, nullptr, &bytes, nullptr), MLA_OK);
    std::string text(bytes, '?');
    EXPECT_EQ(mla_spec_to_text(&spec, text.data(), &bytes, nullptr), MLA_OK);
    --bytes;
    EXPECT_EQ(mla_spec_to_text(&spec, text.data(), &bytes, nullptr),
              MLA_E_INVALID);
    return std::string(text.c_str());
  };
  std::string text = textOf(spec);
  EXPECT_NE(text.find("kv_dtype = f32\n"), std::string::npos) << text;
  auto again = mla::make<mla_spec>();
  mla::Status status;
  ASSERT_EQ(
      mla_spec_from_text(engine.get(), text.c_str(), &again, status.get()),
      MLA_OK)
      << status.message();
  EXPECT_STREQ(again.score_mod, spec.score_mod);
  EXPECT_EQ(again.max_kv_len, spec.max_kv_len);
  EXPECT_EQ(textOf(again), text);
  for (auto [bad, field] : {std::pair{"h_q = many", "h_q"},
                            {"q_dtype = f33", "q_dtype"},
                            {"colour = red", "text"},
                            {"symbol = mine", "symbol"},
                            {"max_batch = 5000000000", "max_batch"}}) {
    mla::Status refused;
    mla_spec_from_text(engine.get(), bad, &again, refused.get());
    EXPECT_EQ(refusal(refused, MLA_E_INVALID), field);
  }
}

TEST(CInterfaceTest, SymbolsSayWhatTheKernelIs) {
  mla::Engine engine = makeEngine();
  auto symbolOf = [&](const mla_spec &spec) {
    auto kernel = engine.prepare(spec);
    EXPECT_TRUE(kernel) << kernel.status().message();
    std::string symbol = kernel->info()->symbol;
    // The code has that name too, and its other entries names made of it.
    EXPECT_NE(kernel->stage("llvm")->find(symbol + "_combine"),
              std::string::npos);
    return symbol;
  };
  mla_spec spec = smallSpec();
  std::string plain = symbolOf(spec);
  EXPECT_EQ(plain.substr(0, plain.size() - 8),
            "mla_decode_host_f32_h4_d72_64_");
  // Another page size is another kernel of the same shape.
  spec.page_size = 32;
  std::string other = symbolOf(spec);
  EXPECT_EQ(plain.substr(0, plain.size() - 8),
            other.substr(0, other.size() - 8));
  EXPECT_NE(plain, other);
  spec.symbol = "mine";
  EXPECT_EQ(symbolOf(spec).substr(0, 21), "mine_host_f32_h4_d72_");
  EXPECT_EQ(countersOf(engine).compiles, 3u);
}

TEST(CInterfaceTest, SizesGrow) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.max_batch = 64;
  spec.max_total_q = 128;
  spec.max_splits = 4;
  uint64_t last = 0;
  for (int batch : {1, 2, 7, 64}) {
    for (int queries : {batch, 2 * batch}) {
      auto sizes = engine.sizes(spec, batch, queries);
      ASSERT_TRUE(sizes) << sizes.status().message();
      EXPECT_GE(sizes->workspace_bytes, last);
      last = sizes->workspace_bytes;
    }
  }
  EXPECT_EQ(engine.sizes(spec)->workspace_bytes, last);
  EXPECT_EQ(countersOf(engine).compiles, 0u);

  // What no memory holds is no small number.
  spec.max_splits = INT32_MAX;
  for (int batch : {1 << 16, 1 << 20, INT32_MAX}) {
    auto sizes = engine.sizes(spec, batch, batch);
    ASSERT_TRUE(sizes) << sizes.status().message();
    EXPECT_GE(sizes->workspace_bytes, last);
    EXPECT_GT(sizes->workspace_bytes, uint64_t(1) << 50);
    last = sizes->workspace_bytes;
  }
}

TEST(CInterfaceTest, WindowsAreOfNoKeyOrMore) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.mask |= MLA_MASK_WINDOW;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*engine.sizes(spec, 2, 2));
  for (int32_t window : {-1, INT32_MIN}) {
    step.args.window = window;
    EXPECT_EQ(refusal(kernel->launch(step.args), MLA_E_INVALID), "window");
  }
  for (int32_t window : {0, 1}) {
    step.args.window = window;
    EXPECT_TRUE(kernel->launch(step.args));
    EXPECT_NEAR(step.mean(1), window ? 20 : 0, 1e-4); // the last key
  }
}

TEST(CInterfaceTest, AGPUThatIsNotThere) {
  // With a chip and a number of SMs neither support nor sizes need a device.
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.target = "cuda:sm_90a";
    options.num_sms = 132;
    options.device = 99;
  });
  mla_spec spec = smallSpec();
  spec.q_dtype = spec.kv_dtype = spec.out_dtype = MLA_BF16;
  spec.h_q = 128;
  spec.d_qk = 576;
  spec.d_v = 512;
  spec.page_size = 64;
  mla::Status supported = engine.isSupported(spec);
  EXPECT_TRUE(supported) << supported.message();
  auto sizes = engine.sizes(spec, 128, 128);
  ASSERT_TRUE(sizes) << sizes.status().message();
  EXPECT_GT(sizes->workspace_bytes, 0u);
  EXPECT_EQ(sizes->alignment, 256u);
  auto kernel = engine.prepare(spec);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), MLA_E_NO_DRIVER)
      << kernel.status().message();
  spec.d_qk = 40;
  spec.d_v = 24;
  EXPECT_EQ(engine.isSupported(spec).code(), MLA_E_UNSUPPORTED);
}

TEST(CInterfaceTest, StagesOfWhatIsNotLoaded) {
  std::vector<std::string> failures;
  mla::Engine engine = makeEngine([&](mla_engine_options &options) {
    options.log_user = &failures;
    options.log = [](void *user, const mla_log *event) {
      if (event->event == MLA_EVENT_COMPILE_FAILED)
        static_cast<std::vector<std::string> *>(user)->push_back(
            event->message);
    };
  });
  auto tile = engine.compile(smallSpec(), "tile");
  ASSERT_TRUE(tile) << tile.status().message();
  EXPECT_NE(tile->find("mla.for_work"), std::string::npos);
  auto code = engine.compile(tile->c_str(), "edited.mlir", "asm");
  ASSERT_TRUE(code) << code.status().message();
  EXPECT_NE(code->find("decode"), std::string::npos);
  EXPECT_EQ(countersOf(engine).kernels_in_memory, 0u);

  auto bad = engine.compile("func.func @f(", "edited.mlir", "asm");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.status().code(), MLA_E_COMPILE);
  EXPECT_STREQ(bad.status()->stage, "parse");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures[0].find("edited.mlir:1"), std::string::npos);
  for (const char *stage : {"nonsense", "ptx"}) {
    auto none = engine.compile(smallSpec(), stage);
    ASSERT_FALSE(none) << stage;
    EXPECT_NE(std::string(none.status().message()).find(stage),
              std::string::npos);
  }
  EXPECT_EQ(
      mla_compile(engine.get(), nullptr, "tile", nullptr, nullptr, nullptr),
      MLA_E_INVALID);
}

//===----------------------------------------------------------------------===//
// Keys against arguments
//===----------------------------------------------------------------------===//

TEST(CInterfaceTest, AServerCompilesAtMostFourKernels) {
  mla::Engine engine = makeEngine();
  // Decode, verification of 4 drafts, the draft model; each captured for 51
  // batches with maxima, strides, lengths and tables of their own.
  for (int32_t mode = 0; mode < 3; ++mode)
    for (int32_t batch = 1; batch <= 51; ++batch) {
      mla_spec spec = smallSpec();
      if (mode == 1)
        spec.features |= MLA_FEATURE_RAGGED_Q;
      spec.max_q_len = mode == 1 ? 4 : 1;
      spec.max_batch = batch;
      spec.max_total_q = batch * spec.max_q_len;
      spec.max_kv_len = 100 * batch;
      auto kernel = engine.prepare(spec);
      ASSERT_TRUE(kernel) << kernel.status().message();
    }
  EXPECT_LE(countersOf(engine).compiles, 4u);

  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  for (int queries : {1, 2, 5})
    for (float scale : {0.1f, 0.2f})
      for (int splits : {0, 1, 3}) {
        spec.max_splits = splits;
        SmallStep step(*engine.sizes(spec, 2, 2 * queries), queries);
        step.args.softmax_scale = scale;
        step.args.num_splits = splits;
        mla::Status status = kernel.launch(step.args);
        ASSERT_TRUE(status) << status.message();
        // The last query sees all 5 keys of the second request.
        EXPECT_NEAR(step.mean(1, queries - 1), 18, 1e-4);
      }
  EXPECT_LE(countersOf(engine).compiles, 4u);
}

TEST(CInterfaceTest, KernelsOutliveTheirEngine) {
  mla_spec spec = smallSpec();
  mla::Kernel kernel;
  mla_sizes sizes;
  {
    mla::Engine engine = makeEngine();
    kernel = *engine.prepare(spec);
    sizes = *engine.sizes(spec, 2, 2);
  }
  SmallStep step(sizes);
  EXPECT_TRUE(kernel.launch(step.args));
  EXPECT_NEAR(step.mean(1), 18, 1e-4);
}

TEST(CInterfaceTest, AChildUsesTheParentsEngine) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  ASSERT_TRUE(kernel.launch(step.args)); // threads of the parent
  pid_t child = ::fork();
  if (child == 0) {
    SmallStep own(*engine.sizes(spec, 2, 2));
    bool works = bool(kernel.launch(own.args)) && own.mean(1) == step.mean(1);
    spec.h_q = 8;
    works = works && engine.prepare(spec);
    ::_exit(works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
