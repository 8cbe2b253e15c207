//===- CInterfaceCacheTest.cpp --------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where kernels come from, as hosts see it: memory, disk, archives, the policy.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "CacheFixture.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

using namespace mla_test;

/// An engine that keeps kernels in a directory.
static mla::Engine engineOf(const Scratch &scratch, int32_t policy = 0,
                            int32_t mode = MLA_CACHE_RW) {
  return makeEngine([&](mla_engine_options &options) {
    options.cache_dir = scratch.path.c_str();
    options.jit_policy = policy;
    options.cache_mode = mode;
  });
}

static std::vector<std::filesystem::path> entriesIn(const Scratch &scratch) {
  std::vector<std::filesystem::path> entries;
  for (const auto &file :
       std::filesystem::recursive_directory_iterator(scratch.path))
    if (file.path().extension() == ".entry")
      entries.push_back(file.path());
  return entries;
}

TEST(CInterfaceCacheTest, FromDiskToMemory) {
  Scratch scratch;
  mla_spec spec = smallSpec();
  std::string tile;
  {
    mla::Engine engine = engineOf(scratch);
    auto kernel = engine.prepare(spec);
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_COMPILED);
    tile = *kernel->stage("tile");
    EXPECT_EQ(countersOf(engine).compiles, 1u);
    EXPECT_EQ(countersOf(engine).stored, 1u);
  }
  mla::Engine engine = engineOf(scratch, MLA_POLICY_FORBID);
  auto kernel = engine.prepare(spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  mla_kernel_info info = *kernel->info();
  EXPECT_EQ(info.origin, MLA_ORIGIN_DISK);
  EXPECT_STREQ(info.target, "host");
  EXPECT_NE(std::string(info.schedule).find("#mla.schedule"),
            std::string::npos);
  EXPECT_EQ(*kernel->stage("tile"), tile);
  EXPECT_EQ(kernel->stage("obj")->size(), info.code_bytes);
  auto none = kernel->stage("ptx");
  ASSERT_FALSE(none);
  EXPECT_STREQ(none.status()->argument, "stage");

  SmallStep step(*engine.sizes(spec, 2, 2));
  mla::Status status = kernel->launch(step.args);
  ASSERT_TRUE(status) << status.message();
  EXPECT_NEAR(step.mean(1), 18, 1e-4);

  ASSERT_TRUE(engine.prepare(spec));
  mla_counters counters = countersOf(engine);
  EXPECT_EQ(counters.compiles, 0u);
  EXPECT_EQ(counters.disk_hits, 1u);
  EXPECT_EQ(counters.memory_hits, 1u);
}

TEST(CInterfaceCacheTest, WhatIsNoKernelIsMadeAgain) {
  Scratch scratch;
  ASSERT_TRUE(engineOf(scratch).prepare(smallSpec()));
  ASSERT_EQ(entriesIn(scratch).size(), 1u);
  std::filesystem::resize_file(entriesIn(scratch)[0], 1000);
  mla::Engine engine = engineOf(scratch);
  ASSERT_TRUE(engine.prepare(smallSpec()));
  EXPECT_EQ(countersOf(engine).compiles, 1u);
  EXPECT_EQ(countersOf(engine).damaged, 1u);
}

TEST(CInterfaceCacheTest, ReadOnlyAndOffWriteNothing) {
  for (int32_t mode : {MLA_CACHE_RO, MLA_CACHE_OFF}) {
    Scratch scratch;
    mla::Engine engine = engineOf(scratch, MLA_POLICY_ALLOW, mode);
    ASSERT_TRUE(engine.prepare(smallSpec()));
    EXPECT_TRUE(entriesIn(scratch).empty());
  }
}

TEST(CInterfaceCacheTest, ThePolicyChanges) {
  static std::mutex mutex;
  static std::vector<int32_t> events;
  events.clear();
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.log = [](void *, const mla_log *event) {
      std::lock_guard lock(mutex);
      events.push_back(event->event);
      EXPECT_STRNE(event->key, "");
      bool isCompiled = event->event == MLA_EVENT_COMPILED_LATE;
      EXPECT_TRUE(
          std::strstr(event->message, isCompiled ? " ms, codegen " : "forbids"))
          << event->message;
    };
  });
  mla_spec spec = smallSpec();
  spec.max_batch = 8; // is not compiled in
  auto missing = engine.lookup(spec);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().code(), MLA_E_NOT_FOUND);
  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_FORBID));
  auto forbidden = engine.prepare(spec);
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.status().code(), MLA_E_FORBIDDEN);
  // What to add to the list that an archive is made of.
  std::string message = forbidden.status().message();
  EXPECT_NE(message.find(", spec\nq_dtype = f32\n"), std::string::npos);
  EXPECT_NE(message.find("\nh_q = 4\n"), std::string::npos) << message;
  EXPECT_EQ(message.find("max_batch"), std::string::npos) << message;
  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_WARN));
  ASSERT_TRUE(engine.prepare(spec));
  ASSERT_TRUE(engine.setPolicy(MLA_POLICY_FORBID));
  EXPECT_TRUE(engine.lookup(spec));
  EXPECT_TRUE(engine.prepare(spec));
  EXPECT_EQ(events, (std::vector<int32_t>{MLA_EVENT_FORBIDDEN,
                                          MLA_EVENT_COMPILED_LATE}));
  EXPECT_EQ(countersOf(engine).forbidden, 1u);
}

// No lock is held meanwhile, and what is told of is not waited for.
TEST(CInterfaceCacheTest, TheLogMayCallItsEngine) {
  struct Told {
    mla_engine *engine = nullptr;
    int events = 0;
  } told;
  mla::Engine engine = makeEngine([&](mla_engine_options &options) {
    options.log_user = &told;
    options.log = [](void *user, const mla_log *) {
      auto *told = static_cast<Told *>(user);
      if (told->events++)
        return; // of what is compiled below
      mla_spec other = smallSpec();
      other.h_q = 8;
      mla_kernel *kernel = nullptr;
      mla_counters counters;
      MLA_INIT(&counters);
      EXPECT_EQ(mla_prepare(told->engine, &other, &kernel, nullptr), MLA_OK);
      mla_kernel_release(kernel);
      EXPECT_EQ(mla_engine_counters(told->engine, &counters, nullptr), MLA_OK);
      EXPECT_EQ(mla_engine_trim(told->engine, nullptr, nullptr), MLA_OK);
      EXPECT_EQ(mla_engine_set_policy(told->engine, MLA_POLICY_ALLOW, nullptr),
                MLA_OK);
    };
  });
  told.engine = engine.get();
  EXPECT_TRUE(engine.prepare(smallSpec()));
  EXPECT_EQ(told.events, 2);
  EXPECT_EQ(countersOf(engine).compiles, 2u);
}

TEST(CInterfaceCacheTest, TheNumberOfThreadsIsInNoKey) {
  Scratch scratch;
  std::string digest;
  for (int32_t threads : {1, 3}) {
    mla::Engine engine = makeEngine([&](mla_engine_options &options) {
      options.cache_dir = scratch.path.c_str();
      options.num_sms = threads;
    });
    auto kernel = engine.prepare(smallSpec());
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(countersOf(engine).compiles, threads == 1 ? 1u : 0u);
    if (threads == 1)
      digest = kernel->info()->digest;
    EXPECT_EQ(kernel->info()->digest, digest);
    EXPECT_TRUE(givesTheMeans(engine, *kernel)) << threads;
  }
}

TEST(CInterfaceCacheTest, ManyAtOnce) {
  mla::Engine engine = makeEngine();
  std::vector<mla_spec> specs(3, smallSpec());
  specs[1].h_q = 8;
  mla_kernel *kernels[3] = {};
  int last = 0;
  mla::Status status;
  ASSERT_EQ(mla_prepare_many(
                engine.get(), specs.data(), 3, kernels,
                [](void *user, int32_t done, int32_t count) {
                  EXPECT_EQ(count, 3);
                  EXPECT_EQ(done, ++*static_cast<int *>(user));
                  return 0;
                },
                &last, status.get()),
            MLA_OK)
      << status.message();
  EXPECT_EQ(last, 3);
  EXPECT_EQ(countersOf(engine).compiles, 2u);
  for (mla_kernel *kernel : kernels)
    mla_kernel_release(kernel);

  // One fails, the others are there.
  specs[1].schedule = "#mla.schedule<nonsense>";
  EXPECT_EQ(mla_prepare_many(engine.get(), specs.data(), 3, kernels, nullptr,
                             nullptr, nullptr),
            MLA_E_COMPILE);
  EXPECT_TRUE(kernels[0] && !kernels[1] && kernels[2]);
  mla_kernel_release(kernels[0]);
  mla_kernel_release(kernels[2]);
  EXPECT_EQ(*engine.trim(), 2u);
  EXPECT_EQ(countersOf(engine).kernels_in_memory, 0u);
}

TEST(CInterfaceCacheTest, Archives) {
  Scratch scratch;
  std::string path = scratch.path + "/kernels.mla";
  std::vector<mla_spec> specs(3, smallSpec()); // one of them twice
  specs[1].h_q = 8;
  {
    mla::Status built = makeEngine().buildArchive(specs, path.c_str());
    ASSERT_TRUE(built) << built.message();
  }
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.jit_policy = MLA_POLICY_FORBID;
  });
  EXPECT_FALSE(engine.prepare(specs[1]));
  {
    auto archive = engine.openArchive(path.c_str());
    ASSERT_TRUE(archive) << archive.status().message();
    auto kernel = engine.prepare(specs[1]);
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_ARCHIVE);
    EXPECT_EQ(countersOf(engine).archive_hits, 1u);
  }
  EXPECT_FALSE(engine.prepare(specs[0])); // closed
  uint8_t pin[32] = {1, 2, 3};
  auto pinned = engine.openArchive(path.c_str(), pin);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.status().code(), MLA_E_ARCHIVE);
  EXPECT_FALSE(engine.openArchive((scratch.path + "/none").c_str()));
}

TEST(CInterfaceCacheTest, ThreadsShareACompilation) {
  mla::Engine engine = makeEngine();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(engine.prepare(smallSpec())); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(countersOf(engine).compiles, 1u);
}

TEST(CInterfaceCacheTest, LookupsWaitForWhoLoads) {
  Scratch scratch;
  ASSERT_TRUE(engineOf(scratch).prepare(smallSpec()));
  for (int round = 0; round < 20; ++round) {
    mla::Engine engine = engineOf(scratch);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        auto kernel = engine.lookup(smallSpec());
        EXPECT_TRUE(kernel) << kernel.status().message();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(countersOf(engine).disk_hits, 1u);
  }
}

TEST(CInterfaceCacheTest, LookupsDoNotWaitForWhoCompiles) {
  for (bool hasDisk : {false, true}) {
    Scratch scratch;
    mla::Engine engine = hasDisk ? engineOf(scratch) : makeEngine();
    std::thread compiles([&] { EXPECT_TRUE(engine.prepare(smallSpec())); });
    int left = 0;
    while (true) {
      auto kernel = engine.lookup(smallSpec());
      if (kernel)
        break;
      EXPECT_EQ(kernel.status().code(), MLA_E_NOT_FOUND);
      left += std::string(kernel.status().message())
                  .starts_with("another thread is compiling the kernel");
    }
    compiles.join();
    EXPECT_GT(left, 0);
    EXPECT_EQ(countersOf(engine).compiles, 1u);
  }
}

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

template <typename F> static double bestSeconds(int rounds, F body) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    auto start = std::chrono::steady_clock::now();
    body();
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

TEST(CInterfaceCacheTest, HitsAreFast) {
  Scratch scratch;
  mla::Engine engine = engineOf(scratch);
  mla_spec spec = smallSpec();
  ASSERT_TRUE(engine.prepare(spec));
  // The best of batches that are short beside a turn of the processor: other
  // work on the machine does not matter.
  constexpr int kTimes = 100;
  double memory = bestSeconds(2000,
                              [&] {
                                for (int i = 0; i < kTimes; ++i)
                                  (void)engine.prepare(spec);
                              }) /
                  kTimes;
  // Memory does not have it: the last holder is gone.
  double disk = bestSeconds(20, [&] {
    (void)engine.trim();
    (void)engine.prepare(spec);
  });
  EXPECT_EQ(countersOf(engine).compiles, 1u);
  EXPECT_EQ(countersOf(engine).disk_hits, 20u);
  std::printf("memory hit %.0f ns, disk hit %.2f ms\n", memory * 1e9,
              disk * 1e3);
  if (kIsSanitized)
    return;
  EXPECT_LT(memory, 1e-6);
  EXPECT_LT(disk, 2e-3);
}
