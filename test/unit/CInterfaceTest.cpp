//===- CInterfaceTest.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Specs, options and sizes: what is refused by name, and specs as text.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "llvm/ADT/STLExtras.h"

using namespace mla_test;

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
      {"features", MLA_E_INVALID,
       [](mla_spec &s) {
         s.features = MLA_FEATURE_TABLE_ROWS;
         s.table_kind = MLA_TABLE_NONE;
       }},
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
    const char *target;
    mla_code code;
    const char *given;
  } const kCases[] = {
      {"cuda:sm_80", MLA_E_UNSUPPORTED, "(sm_90a), but got 'sm_80'"},
      {"cuda:sm_90", MLA_E_UNSUPPORTED, "(sm_90a), but got 'sm_90'"},
      {"cuda:sm_100a", MLA_E_UNSUPPORTED, "but got 'sm_100a'"},
      {"cuda:sm_99", MLA_E_INVALID, "is 'sm_99'"},
      {"host:x86-64", MLA_E_UNSUPPORTED, "AVX2 and FMA, but 'x86-64'"},
      {"host:nosuch", MLA_E_INVALID, "but got 'nosuch'"}};
  auto problem = makeEngine().compile(smallSpec(), "problem");
  ASSERT_TRUE(problem) << problem.status().message();
  for (const auto &[target, code, given] : kCases) {
    mla::Engine engine = makeEngine(
        [&](mla_engine_options &options) { options.target = target; });
    mla::Status status = engine.isSupported(smallSpec());
    EXPECT_EQ(refusal(status, code), "target") << target;
    EXPECT_TRUE(std::strstr(status.message(), given)) << status.message();
    // Nor of MLIR text.
    auto tile = engine.compile(problem->c_str(), "decode.mlir", "tile");
    EXPECT_EQ(tile ? MLA_OK : tile.status().code(), code) << target;
  }
}

// No machine has all that these have: compiled once, and kept for those that
// do.
TEST(CInterfaceTest, KernelsForOtherCPUsAreNotRun) {
  Scratch scratch;
  int numRefused = 0;
  for (const char *target : {"host:znver4", "host:graniterapids"}) {
    mla::Engine engine = makeEngine([&](mla_engine_options &options) {
      options.target = target;
      options.cache_dir = scratch.path.c_str();
    });
    for (int i = 0; i < 2; ++i) {
      auto kernel = engine.prepare(smallSpec());
      if (kernel)
        continue;
      ++numRefused;
      EXPECT_EQ(refusal(kernel.status(), MLA_E_UNSUPPORTED), "target");
    }
    EXPECT_EQ(countersOf(engine).compiles, 1u) << target;
  }
  EXPECT_GE(numRefused, 2);
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

TEST(CInterfaceTest, AGPUThatIsNotThere) {
  // With a chip and a number of SMs neither support nor sizes need a device.
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.target = "cuda:sm_90a";
    options.num_sms = 132;
    options.device = 99;
  });
  mla_spec spec = gpuSpec(128);
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
