//===- CInterfaceLaunchTest.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches on the host: results, and arguments that are refused by name.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mla_test;

TEST(CInterfaceLaunchTest, LaunchesInEitherShape) {
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
TEST(CInterfaceLaunchTest, ThousandsOfQueries) {
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

TEST(CInterfaceLaunchTest, LSEOfEitherBaseWithEitherEmptyValue) {
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

TEST(CInterfaceLaunchTest, WholeTensorsForSplitKernels) {
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

TEST(CInterfaceLaunchTest, ScoreCodeWithArguments) {
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

TEST(CInterfaceLaunchTest, BadLaunchesNameTheField) {
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

TEST(CInterfaceLaunchTest, NothingToDoNeedsNoMemory) {
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

TEST(CInterfaceLaunchTest, NoQueriesOfARaggedBatchNeedNoMemory) {
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
TEST(CInterfaceLaunchTest, NoKeysNeedNoMemory) {
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

TEST(CInterfaceLaunchTest, WindowsAreOfNoKeyOrMore) {
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
