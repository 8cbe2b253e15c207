//===- CInterfaceKeysTest.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Which specs of a GPU are one kernel, and what is said of one that is missing;
// on a driver that launches nothing.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "CacheFixture.h"
#include "FakeCuda.h"
#include "llvm/ADT/StringRef.h"

#include <dlfcn.h>
#include <set>

using namespace mla_test;

namespace {
class CInterfaceKeysTest : public testing::Test {
protected:
  CInterfaceKeysTest() {
    void *library = dlopen(MLA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    fake = freshFakeCuda(library);
  }

  mla::Engine engineOf(mla_policy policy) {
    return makeEngine([&](mla_engine_options &options) {
      options.target = "cuda:sm_90a";
      options.num_sms = 132;
      options.jit_policy = policy;
      events.record(options);
    });
  }

  struct Refused {
    std::string digest, text;
  };
  /// What the event says of a spec that may not be compiled.
  Refused refuse(mla::Engine &engine, const mla_spec &spec) {
    auto kernel = engine.prepare(spec);
    EXPECT_EQ(kernel ? MLA_OK : kernel.status().code(), MLA_E_FORBIDDEN);
    std::string told = events.of(MLA_EVENT_FORBIDDEN).back();
    auto [reason, text] = llvm::StringRef(told).split(", spec\n");
    return {reason.rsplit("key ").second.str(), text.str()};
  }

  FakeCuda *fake = nullptr;
  Events events;
};
} // namespace

static std::string scheduleOf(mla::Engine &engine, const mla_spec &spec) {
  auto text = engine.compile(spec, "tile");
  EXPECT_TRUE(text) << text.status().message();
  return llvm::StringRef(*text)
      .split("#mla.schedule")
      .second.split('>')
      .first.str();
}

// As many keys as schedules, whatever the maxima.
TEST_F(CInterfaceKeysTest, QueriesMatterAsFarAsTheScheduleDoes) {
  mla::Engine engine = engineOf(MLA_POLICY_FORBID);
  struct {
    int32_t heads, width, values, page;
    size_t kernels;
  } const kShapes[] = {{16, 576, 512, 64, 5},
                       {128, 576, 512, 64, 1},
                       {16, 576, 512, 4, 5},
                       {8, 128, 64, 64, 3},
                       {6, 144, 128, 8, 5}};
  for (const auto &[heads, width, values, page, kernels] : kShapes) {
    std::set<std::string> digests, schedules;
    std::set<std::pair<std::string, std::string>> both;
    mla_spec spec = gpuSpec();
    spec.h_q = heads;
    spec.d_qk = width;
    spec.d_v = values;
    spec.page_size = page;
    for (int32_t queries = 1; queries <= 16; ++queries) {
      spec.max_q_len = queries;
      std::string digest = refuse(engine, spec).digest;
      std::string schedule = scheduleOf(engine, spec);
      digests.insert(digest);
      schedules.insert(schedule);
      both.insert({digest, schedule});
    }
    EXPECT_EQ(digests.size(), kernels) << heads << " heads of " << width;
    EXPECT_EQ(schedules.size(), kernels);
    EXPECT_EQ(both.size(), kernels);
    // A given schedule is what it is.
    std::string given = "#mla.schedule" + *schedules.begin() + ">";
    spec.schedule = given.c_str();
    digests = {refuse(engine, spec).digest};
    spec.max_q_len = 1;
    digests.insert(refuse(engine, spec).digest);
    EXPECT_EQ(digests.size(), 1u);
  }
}

TEST_F(CInterfaceKeysTest, WithoutATableItsTypeDoesNotMatter) {
  mla::Engine engine = engineOf(MLA_POLICY_FORBID);
  mla_spec spec = gpuSpec();
  spec.table_kind = MLA_TABLE_NONE;
  std::string digest = refuse(engine, spec).digest;
  spec.table_dtype = MLA_I64;
  spec.page_size = 7;
  EXPECT_EQ(refuse(engine, spec).digest, digest);
  spec.table_kind = MLA_TABLE_DENSE;
  std::string wide = refuse(engine, spec).digest;
  spec.table_dtype = MLA_I32;
  EXPECT_NE(refuse(engine, spec).digest, wide);
}

// Keys are made without them.
TEST_F(CInterfaceKeysTest, MaskAndScoreCodeChooseNoSchedule) {
  mla::Engine engine = engineOf(MLA_POLICY_FORBID);
  for (int32_t heads : {6, 16, 128}) {
    mla_spec spec = gpuSpec();
    spec.h_q = heads;
    for (int32_t queries : {1, 2, 4, 7, 16}) {
      spec.max_q_len = queries;
      spec.mask = MLA_MASK_CAUSAL;
      spec.score_mod = nullptr;
      std::string schedule = scheduleOf(engine, spec);
      spec.mask = MLA_MASK_CAUSAL | MLA_MASK_WINDOW;
      EXPECT_EQ(scheduleOf(engine, spec), schedule) << heads;
      spec.mask = 0;
      EXPECT_EQ(scheduleOf(engine, spec), schedule) << heads;
      spec.score_mod = "(%more: f32) %y = arith.addf %score, %more : f32\n"
                       "mla.yield %y : f32";
      EXPECT_EQ(scheduleOf(engine, spec), schedule) << heads;
    }
  }
}

TEST_F(CInterfaceKeysTest, ADeviceWithoutKernelsIsRefused) {
  fake->major = 8; // A100
  mla::Engine engine =
      makeEngine([](mla_engine_options &options) { options.target = "cuda"; });
  for (mla::Status status :
       {engine.isSupported(gpuSpec()), engine.prepare(gpuSpec()).status()}) {
    EXPECT_EQ(status.code(), MLA_E_UNSUPPORTED);
    EXPECT_STREQ(status->argument, "target");
  }
}

// The event has all of the text, and the text all that is compiled in. Neither
// that nor the archive asks the driver.
TEST_F(CInterfaceKeysTest, WhatIsRefusedIsWhatAnArchiveLacks) {
  mla_spec spec = gpuSpec();
  spec.max_q_len = 4;
  spec.max_batch = 8;
  spec.features = MLA_FEATURE_RAGGED_Q | MLA_FEATURE_UNALIGNED;
  spec.symbol = "served";
  spec.score_mod = "(%slopes: memref<?xf32>, %more: f32) "
                   "%h_ = arith.index_cast %h : i32 to index\n"
                   "%slope = memref.load %slopes[%h_] : memref<?xf32>\n"
                   "%d = arith.subi %kpos, %qpos : i32\n"
                   "%f = arith.sitofp %d : i32 to f32\n"
                   "%bias = arith.mulf %f, %slope : f32\n"
                   "%biased = arith.addf %score, %bias : f32\n"
                   "%y = arith.addf %biased, %more : f32\n"
                   "mla.yield %y : f32";
  mla::Engine forbidding = engineOf(MLA_POLICY_FORBID);
  std::string text = refuse(forbidding, spec).text;
  EXPECT_GT(text.size(), sizeof(mla_status::message));
  EXPECT_NE(text.find("\nqueries = 4\n"), std::string::npos) << text;

  std::map<std::string, int> calls = fake->calls;
  mla::Engine builder = engineOf(MLA_POLICY_ALLOW);
  EXPECT_EQ(builder.target()->num_workers, 132);
  mla_spec read = mla::make<mla_spec>();
  ASSERT_EQ(mla_spec_from_text(builder.get(), text.c_str(), &read, nullptr),
            MLA_OK);
  TemporaryDirectory directory;
  std::string path = directory.path() + "/archive";
  mla::Status status;
  mla_archive_build(builder.get(), &read, 1, path.c_str(), status.get());
  ASSERT_TRUE(status) << status.message();
  EXPECT_EQ(fake->calls, calls);

  mla_archive *archive = nullptr;
  ASSERT_EQ(mla_archive_open(forbidding.get(), path.c_str(), nullptr, &archive,
                             nullptr),
            MLA_OK);
  auto kernel = forbidding.prepare(spec);
  EXPECT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(countersOf(forbidding).compiles, 0u);
  mla_archive_close(archive);
}
