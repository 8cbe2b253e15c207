//===- CInterfaceMemoryTest.cpp ------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Memory ends, and the compiler of host kernels meets fatal errors. The test
// has an operator new of its own, which fails at some allocation of the
// compiler's thread, or of the thread that calls the library.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

using namespace mla_test;

enum class Fault { None, BadAlloc, FatalError };

static std::atomic<Fault> fault = Fault::None;
/// Allocations until the fault: of the test's thread while it calls the
/// library, or of all other threads.
static std::atomic<int64_t> remaining = 0;
static std::atomic<bool> isOfCaller = false;
static thread_local bool isTest = false, isCalling = false;

static void meetFault() {
  if (fault == Fault::None || (isOfCaller ? !isCalling : isTest) ||
      --remaining >= 0)
    return;
  Fault met = fault.exchange(Fault::None);
  if (met == Fault::BadAlloc)
    throw std::bad_alloc();
  if (met == Fault::FatalError)
    llvm::report_fatal_error("made by the test");
}

// As much of them as libraries call.
void *operator new(size_t bytes) {
  meetFault();
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

/// What mla_prepare says of a kernel whose compilation meets `what` after so
/// many allocations. Each kernel is another, so none is found.
static mla::Status prepareWith(mla::Engine &engine, Fault what, int64_t after) {
  static int32_t heads = 1;
  mla_spec spec = smallSpec();
  spec.h_q = ++heads;
  isTest = true;
  remaining = after;
  fault = what;
  auto kernel = engine.prepare(spec);
  EXPECT_EQ(fault.exchange(Fault::None), Fault::None)
      << "the fault was not met";
  return kernel ? mla::Status() : kernel.status();
}

/// An engine that has compiled: what a process makes once is there.
static mla::Engine usedEngine() {
  mla::Engine engine = makeEngine();
  EXPECT_TRUE(engine.prepare(smallSpec()));
  (void)engine.trim();
  return engine;
}

TEST(CInterfaceMemoryTest, LackOfMemoryIsAnError) {
  mla::Engine engine = usedEngine();
  for (int64_t after : {10, 1000, 20000}) {
    mla::Status status = prepareWith(engine, Fault::BadAlloc, after);
    EXPECT_EQ(status.code(), MLA_E_OOM) << status.message();
    EXPECT_STRNE(status->stage, "");
  }
  EXPECT_EQ(countersOf(engine).compile_failures, 3u);
  // The engine goes on.
  EXPECT_TRUE(engine.prepare(smallSpec()));
}

TEST(CInterfaceMemoryTest, FatalErrorsOfLLVMAreErrors) {
  mla::Engine engine = usedEngine();
  mla::Status status = prepareWith(engine, Fault::FatalError, 1000);
  EXPECT_EQ(status.code(), MLA_E_COMPILE) << status.message();
  EXPECT_STREQ(status->stage, "compile");
  EXPECT_NE(std::string(status.message()).find("made by the test"),
            std::string::npos);
  EXPECT_TRUE(engine.prepare(smallSpec()));
}

//===----------------------------------------------------------------------===//
// The caller's own thread
//===----------------------------------------------------------------------===//

namespace {
/// Calls the library until it works, each time with memory for some more
/// allocations of this thread.
class Calls {
public:
  /// `step` is in percent of the allocations so far, at least one.
  explicit Calls(int step = 0) : step(step) { isTest = true; }

  /// `mayDoWithout`: a thread that cannot be had, say.
  template <typename Body>
  void untilItWorks(Body body, bool mayDoWithout = false) {
    for (int64_t after = 0; !HasFailure(); after += 1 + after * step / 100) {
      mla::Status status;
      remaining = after;
      isOfCaller = true;
      fault = Fault::BadAlloc;
      isCalling = true;
      mla_code code = body(status.get());
      isCalling = false;
      bool isMet = fault.exchange(Fault::None) == Fault::None;
      isOfCaller = false;
      EXPECT_EQ(status.code(), code);
      if (!isMet) {
        EXPECT_EQ(code, MLA_OK) << status.message();
        return;
      }
      ++failures;
      if (code != MLA_OK || !mayDoWithout)
        EXPECT_EQ(code, MLA_E_OOM) << after << ": " << status.message();
    }
  }
  int failures = 0;

private:
  static bool HasFailure() { return testing::Test::HasFailure(); }
  int step;
};
} // namespace

TEST(CInterfaceMemoryTest, EveryAllocationOfAHitMayFail) {
  mla::Engine engine = usedEngine();
  mla_spec spec = smallSpec();
  spec.symbol = "a_name_that_is_too_long_for_a_small_string";
  auto held = engine.prepare(spec);
  ASSERT_TRUE(held);
  Calls calls;
  mla_kernel *kernel = nullptr;
  calls.untilItWorks([&](mla_status *status) {
    EXPECT_EQ(kernel, nullptr);
    return mla_prepare(engine.get(), &spec, &kernel, status);
  });
  EXPECT_GT(calls.failures, 2);
  SmallStep step(*engine.sizes(spec, 2, 2));
  calls.untilItWorks([&](mla_status *status) {
    return mla_launch(kernel, nullptr, &step.args, status);
  });
  calls.untilItWorks([&](mla_status *status) {
    step.args.flags = MLA_LAUNCH_CHECK;
    return mla_launch(kernel, nullptr, &step.args, status);
  });
  mla_kernel_release(kernel);
}

TEST(CInterfaceMemoryTest, EveryAllocationOfSmallCallsMayFail) {
  mla::Engine engine = usedEngine();
  mla_spec spec = smallSpec();
  Calls calls;
  calls.untilItWorks([&](mla_status *status) {
    auto options = mla::make<mla_engine_options>();
    options.num_sms = 1;
    options.cache_dir = "";
    mla_engine *made = nullptr;
    mla_code code = mla_engine_create(&options, &made, status);
    isCalling = false;
    EXPECT_EQ(made != nullptr, code == MLA_OK);
    mla_engine_destroy(made);
    return code;
  });
  char text[2048];
  calls.untilItWorks([&](mla_status *status) {
    size_t bytes = sizeof(text);
    return mla_spec_to_text(&spec, text, &bytes, status);
  });
  calls.untilItWorks([&](mla_status *status) {
    auto read = mla::make<mla_spec>();
    return mla_spec_from_text(engine.get(), text, &read, status);
  });
  spec.h_q = 2; // what is known of it is kept
  calls.untilItWorks([&](mla_status *status) {
    auto sizes = mla::make<mla_sizes>();
    return mla_sizes_for(engine.get(), &spec, 2, 2, &sizes, status);
  });
  EXPECT_GT(calls.failures, 50);
}

// Of a GPU's kernel for several queries, whose schedule is chosen for it. What
// is made for a chip needs no driver.
TEST(CInterfaceMemoryTest, AllocationsOfAKeyMayFail) {
  mla::Engine engine = makeEngine([](mla_engine_options &options) {
    options.target = "cuda:sm_90a";
    options.num_sms = 132;
    options.jit_policy = MLA_POLICY_FORBID;
  });
  Scratch scratch;
  std::string path = scratch.path + "/archive";
  mla_spec spec = gpuSpec();
  spec.max_q_len = 4;
  Calls calls(2);
  auto build = [&](mla_status *status) {
    mla::Status said;
    mla_code code =
        mla_archive_build(engine.get(), &spec, 1, path.c_str(), said.get());
    isCalling = false;
    if (code == MLA_E_FORBIDDEN) // all but the kernel
      return MLA_OK;
    if (status)
      *status = *said.get();
    return code;
  };
  calls.untilItWorks(build);
  EXPECT_GT(calls.failures, 10);
  // The thread that chooses.
  isOfCaller = false;
  for (int64_t after : {0, 10, 100, 300}) {
    remaining = after;
    fault = Fault::BadAlloc;
    EXPECT_EQ(build(nullptr), MLA_E_OOM) << after;
    EXPECT_EQ(fault.exchange(Fault::None), Fault::None) << after;
  }
  EXPECT_EQ(build(nullptr), MLA_OK);
}

// Nothing stays locked, and nobody waits for what was left: also while another
// thread wants the same kernel.
TEST(CInterfaceMemoryTest, AllocationsOfACompilationMayFail) {
  Scratch scratch;
  for (bool isOnDisk : {false, true}) {
    Calls calls(8);
    mla::Engine engine = makeEngine([&](mla_engine_options &options) {
      options.cache_dir = isOnDisk ? scratch.path.c_str() : "";
    });
    mla_spec spec = smallSpec();
    if (isOnDisk)
      EXPECT_TRUE(engine.prepare(spec));
    (void)engine.trim();
    std::atomic<bool> isDone = false;
    std::thread other([&] {
      isTest = true;
      while (!isDone) {
        auto kernel = engine.lookup(spec);
        EXPECT_TRUE(kernel || kernel.status().code() == MLA_E_NOT_FOUND ||
                    kernel.status().code() == MLA_E_OOM)
            << kernel.status().message();
        (void)engine.trim();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    auto prepare = [&](mla_status *status) {
      mla_kernel *kernel = nullptr;
      mla_code code = mla_prepare(engine.get(), &spec, &kernel, status);
      isCalling = false;
      mla_kernel_release(kernel);
      (void)engine.trim();
      return code;
    };
    // The other thread may just have the kernel, which ends a round early.
    for (int round = 0; round < 20 && calls.failures <= 10; ++round)
      calls.untilItWorks(prepare);
    isDone = true;
    other.join();
    EXPECT_GT(calls.failures, 10);
    EXPECT_TRUE(engine.prepare(spec));
  }
}

TEST(CInterfaceMemoryTest, AllocationsForManyKernelsMayFail) {
  mla::Engine engine = usedEngine();
  std::vector<mla_spec> specs(3, smallSpec());
  specs[1].h_q = 2;
  specs[2].h_q = 3;
  Calls calls(30);
  auto prepareAll = [&](mla_status *status) {
    mla_kernel *kernels[3] = {};
    mla_code code = mla_prepare_many(engine.get(), specs.data(), 3, kernels,
                                     nullptr, nullptr, status);
    isCalling = false;
    for (mla_kernel *kernel : kernels) {
      EXPECT_TRUE(kernel || code != MLA_OK);
      mla_kernel_release(kernel);
    }
    return code;
  };
  calls.untilItWorks(prepareAll, /*mayDoWithout=*/true);
  // Threads of its own, which have none.
  isOfCaller = false;
  for (int64_t after : {0, 5, 40}) {
    (void)engine.trim();
    mla_kernel *kernels[3] = {};
    remaining = after;
    fault = Fault::BadAlloc;
    mla::Status status;
    mla_prepare_many(engine.get(), specs.data(), 3, kernels, nullptr, nullptr,
                     status.get());
    EXPECT_EQ(fault.exchange(Fault::None), Fault::None);
    EXPECT_EQ(status.code(), MLA_E_OOM) << status.message();
    for (mla_kernel *kernel : kernels)
      mla_kernel_release(kernel);
  }
  EXPECT_TRUE(engine.prepare(specs));
}
