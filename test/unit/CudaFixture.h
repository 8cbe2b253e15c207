//===- CudaFixture.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TEST_UNIT_CUDAFIXTURE_H
#define MLA_JIT_TEST_UNIT_CUDAFIXTURE_H

#include "../../runtime/src/cuda/Launch.h"
#include "../../runtime/src/cuda/Link.h"
#include "../../runtime/src/cuda/TensorMap.h"
#include "../../runtime/src/cuda/Tools.h"
#include "FakeCuda.h"

#include "gtest/gtest.h"

#include <dlfcn.h>
#include <optional>

namespace mla_jit::cuda {

/// An error taken apart; `ok` if there was none.
struct Failure {
  bool ok = true;
  ErrorKind kind = ErrorKind::Other;
  Result result = Success;
  std::string message;

  Failure(llvm::Error error) {
    if (!error)
      return;
    ok = false;
    llvm::handleAllErrors(
        std::move(error),
        [&](const DriverError &driver) {
          kind = driver.kind();
          result = driver.result();
          message = driver.message();
        },
        [&](const llvm::ErrorInfoBase &other) { message = other.message(); });
  }
  template <typename T>
  Failure(llvm::Expected<T> expected) : Failure(expected.takeError()) {}

  bool says(const std::string &text) const {
    return message.find(text) != std::string::npos;
  }
};

/// The value; the test ends where there is an error instead.
template <typename T> T get(llvm::Expected<T> expected) {
  if (expected)
    return std::move(*expected);
  ADD_FAILURE() << llvm::toString(expected.takeError());
  abort();
}

/// The fake driver, as it is at the start of each test.
class CudaTest : public testing::Test {
protected:
  CudaTest() {
    void *library = dlopen(MLA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    auto symbol = reinterpret_cast<FakeCudaFn>(dlsym(library, "mlaFakeCuda"));
    fake = symbol();
    resetFake();
  }
  ~CudaTest() override {
    library.reset();
    context.reset();
    // All that was made was given back, whatever failed on the way.
    EXPECT_EQ(fake->contexts, 0);
    EXPECT_EQ(fake->links, 0);
    EXPECT_EQ(fake->libraries, 0);
    EXPECT_EQ(fake->buffers, 0);
    EXPECT_EQ(fake->streams, 0);
    EXPECT_EQ(fake->events, 0);
    EXPECT_EQ(fake->graphs, 0);
    EXPECT_EQ(fake->loadsNotRelaxed, 0);
    resetFake();
  }

  void resetFake() {
    fake->~FakeCuda();
    new (fake) FakeCuda;
  }

  void openDriver() { driver = get(Driver::load(MLA_FAKE_CUDA)); }
  void openContext() {
    openDriver();
    context = get(Context::retain(*driver, get(Device::open(*driver))));
  }
  std::shared_ptr<const Function> loadFunction() {
    openContext();
    library = get(Library::load(context, fakeCubin("vector_add")));
    return get(Function::get(library, "vector_add", fake->parameterBytes));
  }
  void fail(const char *call, Result result) { fake->failures[call] = result; }

  FakeCuda *fake = nullptr;
  std::unique_ptr<Driver> driver;
  std::shared_ptr<const Context> context;
  std::shared_ptr<const Library> library;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_TEST_UNIT_CUDAFIXTURE_H
