//===- SelfCheckTest.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// E8: an assembler that the library was not verified with is checked once, on a
// driver that launches nothing; the test says what its kernels compute.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Engine.h"
#include "../../runtime/src/KnownAnswer.h"
#include "../../runtime/src/cuda/Driver.h"
#include "CInterface.h"
#include "CacheFixture.h"
#include "FakeCuda.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <dlfcn.h>
#include <thread>

using namespace mla_test;
using mla_jit::KnownAnswer;

static const KnownAnswer &answerOf(int64_t heads) {
  static const KnownAnswer few(16, 2), many(128, 1);
  return heads == 16 ? few : many;
}

static std::vector<uint16_t> inBF16(const std::vector<float> &values) {
  std::vector<uint16_t> rounded;
  for (float value : values)
    rounded.push_back(
        static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + 0x8000) >> 16));
  return rounded;
}

TEST(KnownAnswerTest, IsRightAndFindsErrors) {
  for (int64_t heads : {16, 128}) {
    const KnownAnswer &known = answerOf(heads);
    std::vector<uint16_t> out = inBF16(known.out);
    EXPECT_EQ(known.findError(out, known.lse), std::nullopt);
    // The second request has no keys.
    size_t empty = known.queries * heads;
    EXPECT_EQ(known.out[empty * 512], 0);
    EXPECT_EQ(known.lse[empty], -INFINITY);
    EXPECT_GT(std::abs(known.out[0]), 0);

    auto wrongOut = out;
    wrongOut.back() ^= 0x8000;
    wrongOut[7] = 0x7fc0;
    EXPECT_NE(known.findError(wrongOut, known.lse).value_or("").find("out[7]"),
              std::string::npos);
    auto wrongLSE = known.lse;
    wrongLSE[empty] = 0;
    EXPECT_NE(known.findError(out, wrongLSE).value_or("").find("lse["),
              std::string::npos);
  }
}

namespace {
class SelfCheckTest : public testing::Test {
protected:
  SelfCheckTest() {
    // Loaded first, it is what the library finds; the name says the release.
    static TemporaryDirectory directory;
    static void *library = [] {
      std::string path = directory / "libcuda.so.999.1";
      std::filesystem::copy_file(MLA_FAKE_CUDA, path);
      return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    fake = freshFakeCuda(library);
  }
  ~SelfCheckTest() override {
    EXPECT_EQ(fake->contexts, 0);
    EXPECT_EQ(fake->libraries, 0);
    EXPECT_EQ(fake->buffers, 0);
    EXPECT_EQ(fake->streams, 0);
  }

  /// Kernels of so many heads compute what they should.
  void computeRight(std::initializer_list<int64_t> heads) {
    fake->onRead = [this, right = std::vector(heads)](void *to, size_t bytes) {
      ++reads;
      for (int64_t of : right) {
        auto out = inBF16(answerOf(of).out);
        const auto &lse = answerOf(of).lse;
        if (bytes == out.size() * sizeof(out[0]))
          std::memcpy(to, out.data(), bytes);
        if (bytes == lse.size() * sizeof(lse[0]))
          std::memcpy(to, lse.data(), bytes);
      }
    };
  }
  mla::Engine engineOf(int32_t selfCheck = MLA_SELF_CHECK_UNVERIFIED,
                       const char *directory = "",
                       int32_t policy = MLA_POLICY_ALLOW) {
    return makeEngine([&](mla_engine_options &options) {
      options.num_sms = 0;
      options.target = "cuda";
      options.self_check = selfCheck;
      options.cache_dir = directory;
      options.jit_policy = policy;
      events.record(options);
    });
  }
  static mla_spec spec() {
    auto spec = mla::make<mla_spec>();
    spec.operation = MLA_MERGE; // compiles in a moment
    spec.out_dtype = MLA_BF16;
    spec.h_q = 16;
    spec.d_v = 512;
    return spec;
  }

  FakeCuda *fake = nullptr;
  Events events;
  int reads = 0;
};
} // namespace

TEST_F(SelfCheckTest, WrongCodeIsRefused) {
  mla::Engine engine = engineOf();
  computeRight({16});
  for (int time = 0; time < 2; ++time) {
    auto kernel = engine.prepare(spec());
    ASSERT_FALSE(kernel);
    mla::Status status = kernel.status();
    EXPECT_EQ(status.code(), MLA_E_DEVICE) << status.message();
    EXPECT_STREQ(status->stage, "assemble");
    EXPECT_NE(std::string(status.message())
                  .find("driver 999.1 does not: a decode of 128 heads and "
                        "automatic splits gave out[0] requires"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(reads, 2 * 2 + 2); // once, up to the first error
  EXPECT_EQ(events.of(MLA_EVENT_SELF_CHECK).size(), 1u);
  EXPECT_TRUE(engineOf(MLA_SELF_CHECK_NEVER).prepare(spec()));
}

TEST_F(SelfCheckTest, CodeThatNeverEndsIsRefused) {
  fake->failures["cuStreamQuery"] = mla_jit::cuda::NotReady;
  mla_jit::EngineOptions options;
  options.target = mla_jit::TargetKind::CUDA;
  options.selfCheckLimit = std::chrono::milliseconds(30);
  {
    mla_jit::Engine engine(options);
    for (int time = 0; time < 2; ++time) {
      auto kernel = engine.prepare(mla_jit::Spec());
      ASSERT_FALSE(bool(kernel));
      std::string text = llvm::toString(kernel.takeError());
      EXPECT_NE(text.find("driver 999.1 does not: a decode of 16 heads and "
                          "automatic splits gave nothing within 0.03 s"),
                std::string::npos)
          << text;
    }
  }
  // Launched once, and what it may still use is there.
  EXPECT_EQ(fake->calls["cuMemcpyDtoHAsync"], 0);
  EXPECT_EQ(fake->calls["cuMemFree"], 0);
  EXPECT_EQ(fake->calls["cuLibraryUnload"], 0);
  // It keeps none of the engine's graphs.
  EXPECT_EQ(fake->calls["cuGraphInstantiateWithFlags"], 0);
  EXPECT_EQ(fake->streams, 1);
  EXPECT_GT(fake->buffers, 0);
  EXPECT_EQ(fake->contexts, 1);
  fake->~FakeCuda();
  new (fake) FakeCuda;
}

TEST_F(SelfCheckTest, ADeviceThatIsFullSaysNothing) {
  mla::Engine engine = engineOf();
  computeRight({16, 128});
  fake->failures["cuMemAlloc"] = mla_jit::cuda::OutOfMemory;
  auto kernel = engine.prepare(spec());
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), MLA_E_OOM) << kernel.status().message();
  fake->failures.clear();
  kernel = engine.prepare(spec());
  EXPECT_TRUE(kernel) << kernel.status().message();
}

TEST_F(SelfCheckTest, WhatPassedIsRemembered) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  computeRight({16, 128});
  {
    mla::Engine engine = engineOf(MLA_SELF_CHECK_UNVERIFIED, path.c_str());
    for (int heads : {16, 32}) {
      mla_spec asked = spec();
      asked.h_q = heads;
      auto kernel = engine.prepare(asked);
      ASSERT_TRUE(kernel) << kernel.status().message();
    }
    EXPECT_EQ(countersOf(engine).compiles, 2u);
  }
  EXPECT_EQ(reads, 8);
  auto told = events.of(MLA_EVENT_SELF_CHECK);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("driver 999.1"), std::string::npos) << told[0];
  // In the next process, also where nothing may be compiled.
  for (int32_t policy : {MLA_POLICY_ALLOW, MLA_POLICY_FORBID}) {
    mla::Engine engine =
        engineOf(MLA_SELF_CHECK_UNVERIFIED, path.c_str(), policy);
    EXPECT_TRUE(engine.prepare(spec()));
  }
  EXPECT_EQ(reads, 8);
  EXPECT_EQ(events.of(MLA_EVENT_SELF_CHECK).size(), 1u);
  // What is damaged is no verdict.
  for (const auto &file : std::filesystem::recursive_directory_iterator(path))
    if (file.path().extension() == ".entry" && file.file_size() < 1000)
      std::filesystem::resize_file(file.path(), file.file_size() - 1);
  mla::Engine engine = engineOf(MLA_SELF_CHECK_UNVERIFIED, path.c_str());
  EXPECT_TRUE(engine.prepare(spec()));
  EXPECT_EQ(reads, 16);
}

// What is told of is not waited for, also not what the check tells on the way:
// here, that what was remembered is damaged.
TEST_F(SelfCheckTest, TheLogMayCallItsEngine) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  computeRight({16, 128});
  ASSERT_TRUE(
      engineOf(MLA_SELF_CHECK_UNVERIFIED, path.c_str()).prepare(spec()));
  for (const auto &file : std::filesystem::recursive_directory_iterator(path))
    if (file.path().extension() == ".entry")
      std::filesystem::resize_file(file.path(), file.file_size() - 1);
  struct Told {
    mla_engine *engine = nullptr;
    std::vector<int32_t> events;
    bool isCalling = false;
  } told;
  mla::Engine engine = makeEngine([&](mla_engine_options &options) {
    options.num_sms = 0;
    options.target = "cuda";
    options.cache_dir = path.c_str();
    options.log_user = &told;
    options.log = [](void *user, const mla_log *event) {
      auto *told = static_cast<Told *>(user);
      told->events.push_back(event->event);
      if (told->isCalling)
        return;
      told->isCalling = true;
      for (int32_t heads : {16, 32}) { // the same kernel, and another one
        mla_spec asked = spec();
        asked.h_q = heads;
        mla_kernel *kernel = nullptr;
        EXPECT_EQ(mla_prepare(told->engine, &asked, &kernel, nullptr), MLA_OK);
        mla_kernel_release(kernel);
      }
      told->isCalling = false;
    };
  });
  told.engine = engine.get();
  auto kernel = engine.prepare(spec());
  EXPECT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(reads, 16);
  auto count = [&](int32_t event) {
    return std::count(told.events.begin(), told.events.end(), event);
  };
  EXPECT_EQ(count(MLA_EVENT_CACHE_WARNING), 2); // of kernel and verdict
  EXPECT_EQ(count(MLA_EVENT_SELF_CHECK), 1);
  EXPECT_EQ(count(MLA_EVENT_COMPILED), 2);
}

TEST_F(SelfCheckTest, ThreadsShareACheck) {
  mla::Engine engine = engineOf();
  computeRight({16, 128});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      mla_spec asked = spec();
      asked.h_q = 16 * (i + 1);
      auto kernel = engine.prepare(asked);
      EXPECT_TRUE(kernel) << kernel.status().message();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(reads, 8);
  EXPECT_EQ(events.of(MLA_EVENT_SELF_CHECK).size(), 1u);
}

TEST_F(SelfCheckTest, WhereNothingMayBeCompiledNothingIsChecked) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  ASSERT_TRUE(engineOf(MLA_SELF_CHECK_NEVER, path.c_str()).prepare(spec()));
  mla::Engine engine =
      engineOf(MLA_SELF_CHECK_ALWAYS, path.c_str(), MLA_POLICY_FORBID);
  auto kernel = engine.prepare(spec());
  EXPECT_TRUE(kernel) << kernel.status().message();
  auto told = events.of(MLA_EVENT_SELF_CHECK);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("the policy forbids"), std::string::npos) << told[0];
  EXPECT_EQ(reads, 0);
}

TEST(DriverReleaseTest, IsInTheNameOfTheFile) {
  using mla_jit::cuda::releaseOfLibrary;
  TemporaryDirectory directory;
  for (const char *name : {"libcuda.so.580.159.04", "libcuda.so.1", "other"})
    overwrite(directory / name, "");
  std::filesystem::remove(directory / "libcuda.so.1");
  std::filesystem::create_symlink("libcuda.so.580.159.04",
                                  directory / "libcuda.so.1");
  EXPECT_EQ(releaseOfLibrary((directory / "libcuda.so.1").c_str()),
            "580.159.04");
  EXPECT_EQ(releaseOfLibrary((directory / "other").c_str()), "");
  EXPECT_EQ(releaseOfLibrary((directory / "none").c_str()), "");
}
