//===- CInterfaceMemoryTest.cpp ------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The compiler of host kernels fails in ways that would end the process. The
// test has an operator new of its own, which at some allocation of the
// compiler's thread throws, or meets a fatal error of LLVM's.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <new>

using namespace mla_test;

enum class Fault { None, BadAlloc, FatalError };

static std::atomic<Fault> fault = Fault::None;
/// Allocations of threads other than the test's until the fault.
static std::atomic<int64_t> remaining = 0;
static thread_local bool isTest = false;

static void meetFault() {
  if (isTest || fault == Fault::None || --remaining >= 0)
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
    EXPECT_STREQ(status->stage, "compile");
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
