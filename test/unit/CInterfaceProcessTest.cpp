//===- CInterfaceProcessTest.cpp ----------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Many processes, killed processes, many kernels: with the compiler at work.
// Tests whose name begins with DISABLED_ take minutes: scripts/test.sh --long
// runs them. Their figures are in docs/c-interface.md.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Processors.h"
#include "CInterface.h"
#include "CacheFixture.h"

#include <chrono>
#include <malloc.h>
#include <random>
#include <sys/stat.h>
#include <thread>

using namespace mla_test;

/// The kernel compiles in a moment; each number is another one.
static mla_spec specOf(int number) {
  mla_spec spec = smallSpec();
  spec.h_q = 1 + number % 16;
  spec.d_v = 8;
  spec.d_qk = 16 + 8 * (number / 16 % 8);
  spec.page_size = 16 << (number / 128 % 4);
  spec.features = number / 512 % 2 ? MLA_FEATURE_RAGGED_Q : 0;
  spec.mask = number / 1024 % 2 ? 0 : MLA_MASK_CAUSAL;
  return spec;
}

static mla::Engine engineOf(const std::string &path) {
  return makeEngine([&](mla_engine_options &options) {
    options.cache_dir = path.c_str();
    options.num_sms = 1;
  });
}

namespace {
struct Counts {
  Barrier barrier;
  std::atomic<uint64_t> compiles = 0, failed = 0, damaged = 0;

  void add(const mla::Engine &engine) {
    mla_counters counters = countersOf(engine);
    compiles += counters.compiles;
    damaged += counters.damaged + counters.store_failures;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Cold starts
//===----------------------------------------------------------------------===//

/// D1: the processes want the same cold key at the same time.
static void startCold(int processes, int rounds) {
  TemporaryDirectory directory;
  Shared<Counts> counts;
  counts->barrier.init(processes);
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(startChild([&] {
      mla::Engine engine = engineOf(directory / "cache");
      for (int round = 0; round < rounds; ++round) {
        counts->barrier.wait();
        auto kernel = engine.prepare(specOf(round));
        counts->failed += !kernel;
      }
      counts->add(engine);
      return 0;
    }));
  EXPECT_EQ(waitForAll(children), 0);
  EXPECT_EQ(counts->failed, 0u);
  EXPECT_EQ(counts->damaged, 0u);
  EXPECT_EQ(counts->compiles, uint64_t(rounds));
  EXPECT_EQ(countFiles(directory / "cache"), rounds);
}

TEST(CInterfaceProcessTest, ManyProcessesOneColdKey) { startCold(16, 5); }
TEST(CInterfaceProcessTest, DISABLED_ManyProcessesOneColdKey100Rounds) {
  startCold(16, 100);
}

/// Processor time of processes that want the same cold keys, on one processor:
/// by their affinity, or by a quota.
static double secondsFor(int processes, int keys, const ProcessorQuota *quota) {
  TemporaryDirectory directory;
  Shared<Counts> counts;
  int processor = ::sched_getcpu();
  double before = processorSecondsOfChildren();
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(startChild([&] {
      if (!quota)
        useProcessor(processor);
      else
        counts->failed += !quota->enter();
      counts->failed += mla_jit::usableProcessors() != 1;
      mla::Engine engine = engineOf(directory / "cache");
      for (int i = 0; i < keys; ++i)
        counts->failed += !engine.prepare(specOf(i));
      counts->add(engine);
      return 0;
    }));
  EXPECT_EQ(waitForAll(children), 0);
  EXPECT_EQ(counts->failed, 0u);
  EXPECT_EQ(counts->compiles, uint64_t(keys));
  return processorSecondsOfChildren() - before;
}

static void compareCost(int keys, const ProcessorQuota *quota = nullptr) {
  double one = secondsFor(1, keys, quota), eight = secondsFor(8, keys, quota);
  std::printf("%d cold keys: %.0f ms with one process, %.0f ms with eight\n",
              keys, 1e3 * one, 1e3 * eight);
  EXPECT_LE(eight, 1.5 * one);
}

TEST(CInterfaceProcessTest, ManyProcessesCostNoMoreThanOne) { compareCost(6); }
TEST(CInterfaceProcessTest, ManyProcessesUnderAQuotaCostNoMoreThanOne) {
  ProcessorQuota quota;
  if (!quota)
    GTEST_SKIP() << "requires the right to make a control group";
  compareCost(6, &quota);
}
TEST(CInterfaceProcessTest, DISABLED_ManyProcessesCostNoMoreThanOne20Keys) {
  compareCost(20);
  if (ProcessorQuota quota; quota)
    compareCost(20, &quota);
}

/// Of an engine that was not given a number, in a process that confined itself.
template <typename Confine> static int workersOnceConfined(Confine confine) {
  return inChild([&] {
    confine();
    return makeEngine([](mla_engine_options &options) { options.num_sms = 0; })
        .target()
        ->num_workers;
  });
}

TEST(CInterfaceProcessTest, WorkersAreTheProcessorsThatMayBeUsed) {
  EXPECT_EQ(workersOnceConfined([] { useProcessor(::sched_getcpu()); }), 1);
  ProcessorQuota quota;
  if (!quota)
    GTEST_SKIP() << "requires the right to make a control group";
  EXPECT_EQ(workersOnceConfined([&] { EXPECT_TRUE(quota.enter()); }), 1);
}

//===----------------------------------------------------------------------===//
// Killed processes
//===----------------------------------------------------------------------===//

static void killAtAnyPoint(int rounds) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    pid_t child = startChild([&] {
      mla::Engine engine = engineOf(path);
      for (int i = 0;; ++i)
        (void)engine.prepare(specOf(i));
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    ::kill(child, SIGKILL);
    ASSERT_EQ(waitForChild(child), 128 + SIGKILL);
    // The next one finds what is there, waits for nobody, and compiles the
    // rest.
    auto start = std::chrono::steady_clock::now();
    mla::Engine engine = engineOf(path);
    ASSERT_TRUE(engine.prepare(specOf(0)));
    ASSERT_TRUE(engine.prepare(specOf(1)));
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(20));
    mla_counters counters = countersOf(engine);
    EXPECT_EQ(counters.damaged + counters.peer_waits, 0u);
    EXPECT_EQ(counters.compiles + counters.disk_hits, 2u);
    for (const auto &item : std::filesystem::directory_iterator(path))
      if (round % 4 == 3 && item.is_directory())
        std::filesystem::remove_all(item.path());
  }
}

TEST(CInterfaceProcessTest, KilledAtAnyPoint) { killAtAnyPoint(8); }
TEST(CInterfaceProcessTest, DISABLED_KilledAtAnyPoint100Times) {
  killAtAnyPoint(100);
}

//===----------------------------------------------------------------------===//
// Many kernels
//===----------------------------------------------------------------------===//

/// Of this process, in MiB.
static double residentMegabytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0, resident = 0;
  file >> total >> resident;
  return double(resident) * double(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// What is allocated, wherever in memory.
static double allocatedMegabytes() {
  return double(::mallinfo2().uordblks) / (1 << 20);
}

/// D8: memory does not grow with the number of kernels that came and went. What
/// is allocated says it exactly; pages may come to hold less.
static void useMany(int number, int capacity, int settled, double moreAllowed) {
  mla::Engine engine = makeEngine([&](mla_engine_options &options) {
    options.memory_entries = capacity;
    options.num_sms = 1;
  });
  double before = 0, allocatedBefore = 0;
  for (int i = 0; i < number; ++i) {
    auto kernel = engine.prepare(specOf(i));
    ASSERT_TRUE(kernel) << kernel.status().message();
    if (i == settled) {
      before = residentMegabytes();
      allocatedBefore = allocatedMegabytes();
    }
    if (i % 200 == 199 || i == settled || i == number - 1)
      std::printf("%d kernels: %.1f MiB, %.2f MiB allocated\n", i + 1,
                  residentMegabytes(), allocatedMegabytes());
  }
  mla_counters counters = countersOf(engine);
  EXPECT_EQ(counters.compiles, uint64_t(number));
  EXPECT_LE(counters.kernels_in_memory, uint64_t(capacity));
  EXPECT_GE(counters.evictions, uint64_t(number - capacity));
  if (kIsSanitized)
    return;
  EXPECT_LT(residentMegabytes(), before + moreAllowed);
  EXPECT_LT(allocatedMegabytes(), allocatedBefore + 0.25);
}

TEST(CInterfaceProcessTest, MemoryDoesNotGrowWithTheNumberOfKernels) {
  useMany(40, 4, 15, 6);
}
TEST(CInterfaceProcessTest, DISABLED_MemoryAfter2000Kernels) {
  useMany(2000, 64, 200, 24);
}

TEST(CInterfaceProcessTest, WhatIsHeldOrRunsIsNotUnloaded) {
  mla::Engine engine = makeEngine(
      [](mla_engine_options &options) { options.memory_entries = 1; });
  mla::Kernel kernel = *engine.prepare(smallSpec());
  mla_sizes sizes = *engine.sizes(smallSpec(), 2, 2);
  std::atomic<bool> isDone = false;
  std::atomic<int> launches = 0, wrong = 0;
  std::thread launcher([&, held = kernel]() mutable {
    while (!isDone) {
      SmallStep step(sizes);
      wrong += !held.launch(step.args) || std::abs(step.mean(1) - 18) > 1e-4;
      ++launches;
    }
    held = mla::Kernel();
  });
  mla_kernel *handle = kernel.get();
  mla_kernel_retain(handle);
  kernel = mla::Kernel();
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(engine.prepare(specOf(i)));
  (void)engine.trim();
  EXPECT_EQ(countersOf(engine).kernels_in_memory, 1u); // the one that is held
  isDone = true;
  launcher.join();
  EXPECT_GT(launches, 0);
  EXPECT_EQ(wrong, 0);
  mla_kernel_release(handle);
  EXPECT_EQ(*engine.trim(), 1u);
}
