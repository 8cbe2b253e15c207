//===- CInterfaceCuda.h -----------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A GPU as hosts see it, on a driver that launches nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_CINTERFACECUDA_H
#define MLA_TEST_UNIT_CINTERFACECUDA_H

#include "../../runtime/src/cuda/Driver.h"
#include "CInterface.h"
#include "CacheFixture.h"
#include "FakeCuda.h"

#include <dlfcn.h>

namespace mla_test {

/// Kernels are compiled by the first test alone.
inline const std::string &cacheDirectory() {
  static TemporaryDirectory directory;
  return directory.path();
}

class CInterfaceCudaTest : public testing::Test {
protected:
  CInterfaceCudaTest() {
    EXPECT_TRUE(library) << dlerror();
    reset();
    auto opened = mla_jit::cuda::Driver::get();
    EXPECT_TRUE(bool(opened));
    driver = &*opened;
  }
  ~CInterfaceCudaTest() override {
    // All that was made was given back, whatever failed on the way.
    EXPECT_EQ(fake->contexts, 0);
    EXPECT_EQ(fake->libraries, 0);
    EXPECT_EQ(fake->buffers, 0);
    EXPECT_EQ(fake->loadsNotRelaxed, 0);
  }

  void reset() {
    fake = freshFakeCuda(library);
    fake->deviceCount = 2;
  }

  static mla::Engine engineOf(int device, bool isCached = true) {
    return makeEngine([&](mla_engine_options &options) {
      options.num_sms = 0;
      options.target = "cuda";
      options.device = device;
      options.cache_dir = isCached ? cacheDirectory().c_str() : "";
    });
  }
  mla_jit::cuda::ContextHandle current() const {
    mla_jit::cuda::ContextHandle context = nullptr;
    driver->call().ctxGetCurrent(&context);
    return context;
  }

  void *library = dlopen(MLA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  FakeCuda *fake = nullptr;
  const mla_jit::cuda::Driver *driver = nullptr;
};

/// A launch of one request; nobody reads what the tensors say they hold.
struct GPUStep {
  GPUStep() : args(mla::make<mla_args>()) {
    auto at = [](uintptr_t address) {
      return reinterpret_cast<void *>(address);
    };
    args.batch = args.q_len = args.total_q = 1;
    args.q = tensor(at(0x10000), MLA_BF16, {1, 1, 128, 576});
    args.k = tensor(at(0x100000), MLA_BF16, {4, 64, 1, 576});
    args.out = tensor(at(0x200000), MLA_BF16, {1, 1, 128, 512});
    args.seq_lens = tensor(at(0x300000), MLA_I32, {1});
    args.table = tensor(at(0x400000), MLA_I32, {1, 4});
    args.softmax_scale = 0.1f;
    args.workspace = at(0x1000000);
    args.workspace_bytes = uint64_t(1) << 32;
  }
  mla_args args;
};

} // namespace mla_test

#endif // MLA_TEST_UNIT_CINTERFACECUDA_H
