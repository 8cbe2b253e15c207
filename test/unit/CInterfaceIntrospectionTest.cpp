//===- CInterfaceIntrospectionTest.cpp ------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What engines and kernels say of themselves, kernels of MLIR text, and checks
// of arguments without a launch.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"

#include <cstddef>
#include <map>

using namespace mla_test;

TEST(CInterfaceIntrospectionTest, TargetsAndDevices) {
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.target = "host:x86-64-v3";
    options.num_sms = 2;
  });
  auto target = engine.target();
  ASSERT_TRUE(target) << target.status().message();
  EXPECT_STREQ(target->name, "x86-64-v3");
  EXPECT_EQ(target->num_workers, 2);
  EXPECT_EQ(target->vector_bits, 256);
  EXPECT_EQ(target->vector_registers, 16);
  EXPECT_GT(target->l2_bytes, target->l1_bytes);

  mla::Engine ofChip = makeEngine(
      [](mla_engine_options &options) { options.target = "cuda:sm_90a"; });
  auto chip = ofChip.target();
  ASSERT_TRUE(chip) << chip.status().message();
  EXPECT_STREQ(chip->name, "sm_90a");
  EXPECT_EQ(chip->vector_bits, 0);

  mla::Engine none = makeEngine([](mla_engine_options &options) {
    options.target = "cuda";
    options.device = 1000;
  });
  auto device = none.device();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.status().code(), MLA_E_NO_DRIVER);
  EXPECT_FALSE(none.target());
  mla::Engine noCPU = makeEngine(
      [](mla_engine_options &options) { options.target = "host:abacus"; });
  EXPECT_EQ(noCPU.target().status().code(), MLA_E_INVALID);
}

TEST(CInterfaceIntrospectionTest, ArgumentsOfAKernel) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.mask |= MLA_MASK_WINDOW;
  spec.score_mod = "(%bias: memref<?xf32>, %gain: f32)\n"
                   "mla.yield %score : f32";
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto info = kernel->info();
  ASSERT_TRUE(info);
  EXPECT_STREQ(info->mask, "#mla.sliding_window");
  EXPECT_EQ(info->is_gpu, 0);
  std::map<std::string, mla_arg_info> arguments;
  for (int32_t i = 0; i < info->num_args; ++i) {
    auto argument = kernel->argument(i);
    ASSERT_TRUE(argument);
    arguments[argument->name] = *argument;
  }
  const mla_arg_info &k = arguments.at("k");
  EXPECT_TRUE(k.is_tensor && !k.is_named);
  EXPECT_EQ(k.dtype, MLA_F32);
  ASSERT_EQ(k.rank, 4);
  const int64_t shape[] = {-1, 16, 1, 72};
  for (int dim = 0; dim < 4; ++dim)
    EXPECT_EQ(k.shape[dim], shape[dim]);
  EXPECT_EQ(k.stride[0], -1);
  EXPECT_EQ(k.stride[3], 1);
  EXPECT_TRUE(arguments.at("bias").is_named && arguments.at("bias").is_tensor);
  EXPECT_TRUE(arguments.at("gain").is_named);
  EXPECT_FALSE(arguments.at("gain").is_tensor);
  EXPECT_FALSE(arguments.at("window").is_named);
  for (int32_t index : {-1, info->num_args})
    EXPECT_STREQ(kernel->argument(index).status()->argument, "index");
}

TEST(CInterfaceIntrospectionTest, KernelInfosOfTheFirstHeader) {
  mla::Engine engine = makeEngine();
  auto kernel = engine.prepare(smallSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto info = mla::make<mla_kernel_info>();
  info.size = offsetof(mla_kernel_info, num_times);
  EXPECT_EQ(mla_kernel_get_info(kernel->get(), 0, 0, &info, nullptr), MLA_OK);
  EXPECT_GT(info.num_entries, 0);
  EXPECT_EQ(info.num_times, 0);
  --info.size;
  EXPECT_EQ(mla_kernel_get_info(kernel->get(), 0, 0, &info, nullptr),
            MLA_E_VERSION);
}

TEST(CInterfaceIntrospectionTest, TimesOfAKernel) {
  mla::Engine engine = makeEngine();
  auto kernel = engine.prepare(smallSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto info = kernel->info();
  ASSERT_GT(info->num_times, 2);
  double compiling = 0, loading = 0;
  for (int32_t i = 0; i < info->num_times; ++i) {
    auto time = kernel->time(i);
    ASSERT_TRUE(time);
    EXPECT_STRNE(time->stage, "");
    (time->is_loading ? loading : compiling) += time->seconds;
  }
  EXPECT_DOUBLE_EQ(compiling, info->compile_seconds);
  EXPECT_DOUBLE_EQ(loading, info->load_seconds);
  EXPECT_FALSE(kernel->time(info->num_times));
  EXPECT_EQ(info->num_warnings, 0);
  EXPECT_EQ(kernel->warning(0).status().code(), MLA_E_INVALID);
}

TEST(CInterfaceIntrospectionTest, SizesOfAKernelAreThoseOfItsSpec) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  spec.max_splits = 3;
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  auto ofSpec = engine.sizes(spec, 5, 10);
  auto ofKernel = kernel->sizes(5, 10, 3);
  ASSERT_TRUE(ofKernel) << ofKernel.status().message();
  EXPECT_GT(ofKernel->workspace_bytes, 0u);
  EXPECT_EQ(ofKernel->workspace_bytes, ofSpec->workspace_bytes);
  EXPECT_EQ(ofKernel->alignment, ofSpec->alignment);
  EXPECT_STREQ(kernel->sizes(1, 1, -1).status()->argument, "max_splits");
}

TEST(CInterfaceIntrospectionTest, KernelsOfMLIRText) {
  Events events;
  mla::Engine engine =
      makeEngine([&](mla_engine_options &options) { events.record(options); });
  for (const char *level : {"problem", "tile", "host"}) {
    auto text = engine.compile(smallSpec(), level);
    ASSERT_TRUE(text) << text.status().message();
    auto kernel = engine.prepare(text->c_str(), "decode.mlir");
    ASSERT_TRUE(kernel) << kernel.status().message();
    SmallStep step(*kernel->sizes(2, 2));
    mla::Status status = kernel->launch(step.args);
    ASSERT_TRUE(status) << status.message();
    EXPECT_NEAR(step.mean(1), 18, 1e-4);
    EXPECT_STREQ(kernel->info()->schedule_reason, "given by the MLIR text");
    EXPECT_STREQ(kernel->info()->digest, "");
  }
  // The kernels, not the texts.
  EXPECT_EQ(events.of(MLA_EVENT_COMPILED).size(), 3u);
  EXPECT_EQ(countersOf(engine).compiles, 3u);
  EXPECT_GT(countersOf(engine).compile_ns, 0u);

  auto bad = engine.prepare("func.func @f(", "decode.mlir");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.status().code(), MLA_E_COMPILE);
  EXPECT_EQ(events.of(MLA_EVENT_COMPILE_FAILED).size(), 1u);
  EXPECT_EQ(countersOf(engine).compile_failures, 1u);
  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_FORBID));
  EXPECT_EQ(engine.prepare("module {}", "decode.mlir").status().code(),
            MLA_E_FORBIDDEN);
  EXPECT_EQ(events.of(MLA_EVENT_FORBIDDEN).size(), 1u);
  EXPECT_EQ(countersOf(engine).forbidden, 1u);
}

// Machine code is a compilation, a text is none.
TEST(CInterfaceIntrospectionTest, StagesUnderAPolicy) {
  static std::vector<std::string> digests;
  digests.clear();
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.log = [](void *, const mla_log *event) {
      EXPECT_STRNE(event->key, "");
      digests.push_back(std::to_string(event->event) + event->digest);
    };
  });
  ASSERT_TRUE(engine.compile(smallSpec(), "obj"));
  ASSERT_TRUE(engine.compile(smallSpec(), "asm"));
  EXPECT_EQ(countersOf(engine).compiles, 1u);
  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_FORBID));
  EXPECT_TRUE(engine.compile(smallSpec(), "asm"));
  auto refused = engine.compile(smallSpec(), "obj");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), MLA_E_FORBIDDEN);
  EXPECT_EQ(countersOf(engine).forbidden, 1u);
  mla_spec wrong = smallSpec();
  wrong.score_mod = "mla.yield %nothing : f32";
  EXPECT_EQ(engine.compile(wrong, "host").status().code(), MLA_E_COMPILE);
  EXPECT_EQ(countersOf(engine).compile_failures, 0u);

  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_ALLOW));
  std::string digest = engine.prepare(smallSpec())->info()->digest;
  ASSERT_EQ(digests.size(), 4u);
  EXPECT_EQ(digests[0], std::to_string(MLA_EVENT_COMPILED) + digest);
  EXPECT_EQ(digests[1], std::to_string(MLA_EVENT_FORBIDDEN) + digest);
  EXPECT_EQ(digests[2].substr(0, 1), std::to_string(MLA_EVENT_COMPILE_FAILED));
  EXPECT_EQ(digests[3], digests[0]);
}

TEST(CInterfaceIntrospectionTest, ArgumentsAreCheckedWithoutALaunch) {
  mla::Engine engine = makeEngine();
  auto kernel = engine.prepare(smallSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  SmallStep step(*kernel->sizes(2, 2));
  std::free(step.args.workspace);
  step.args.workspace = nullptr;
  step.args.workspace_bytes = 0;
  mla::Status status = kernel->check(step.args);
  EXPECT_TRUE(status) << status.message();
  EXPECT_EQ(step.out, std::vector<float>(step.out.size()));

  step.table[1] = 4;
  status = kernel->check(step.args);
  EXPECT_EQ(status.code(), MLA_E_INVALID);
  EXPECT_STREQ(status->argument, "table");
  step.table[1] = 0;
  step.args.q.shape[0] = 3;
  EXPECT_STREQ(kernel->check(step.args)->argument, "q");
  EXPECT_EQ(mla_check(kernel->get(), nullptr, nullptr), MLA_E_INVALID);
}

TEST(CInterfaceIntrospectionTest, StagesOfWhatIsNotLoaded) {
  Events events;
  mla::Engine engine =
      makeEngine([&](mla_engine_options &options) { events.record(options); });
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
  auto failures = events.of(MLA_EVENT_COMPILE_FAILED);
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
