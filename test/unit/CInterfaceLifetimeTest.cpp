//===- CInterfaceLifetimeTest.cpp -----------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a server meets that goes on: kernels by key alone, engines that end,
// child processes.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace mla_test;

TEST(CInterfaceLifetimeTest, AServerCompilesAtMostFourKernels) {
  mla::Engine engine = makeEngine();
  // Decode, verification of 4 drafts, the draft model; each captured for 51
  // batches with maxima, strides, lengths and tables of their own.
  for (int32_t mode = 0; mode < 3; ++mode)
    for (int32_t batch = 1; batch <= 51; ++batch) {
      mla_spec spec = smallSpec();
      if (mode == 1)
        spec.features |= MLA_FEATURE_RAGGED_Q;
      spec.max_q_len = mode == 1 ? 4 : 1;
      spec.max_batch = batch;
      spec.max_total_q = batch * spec.max_q_len;
      spec.max_kv_len = 100 * batch;
      auto kernel = engine.prepare(spec);
      ASSERT_TRUE(kernel) << kernel.status().message();
    }
  EXPECT_LE(countersOf(engine).compiles, 4u);

  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  for (int queries : {1, 2, 5})
    for (float scale : {0.1f, 0.2f})
      for (int splits : {0, 1, 3}) {
        spec.max_splits = splits;
        SmallStep step(*engine.sizes(spec, 2, 2 * queries), queries);
        step.args.softmax_scale = scale;
        step.args.num_splits = splits;
        mla::Status status = kernel.launch(step.args);
        ASSERT_TRUE(status) << status.message();
        // The last query sees all 5 keys of the second request.
        EXPECT_NEAR(step.mean(1, queries - 1), 18, 1e-4);
      }
  EXPECT_LE(countersOf(engine).compiles, 4u);
}

TEST(CInterfaceLifetimeTest, KernelsOutliveTheirEngine) {
  mla_spec spec = smallSpec();
  mla::Kernel kernel;
  mla_sizes sizes;
  {
    mla::Engine engine = makeEngine();
    kernel = *engine.prepare(spec);
    sizes = *engine.sizes(spec, 2, 2);
  }
  SmallStep step(sizes);
  EXPECT_TRUE(kernel.launch(step.args));
  EXPECT_NEAR(step.mean(1), 18, 1e-4);
}

TEST(CInterfaceLifetimeTest, AChildUsesTheParentsEngine) {
  mla::Engine engine = makeEngine();
  mla_spec spec = smallSpec();
  mla::Kernel kernel = *engine.prepare(spec);
  SmallStep step(*engine.sizes(spec, 2, 2));
  ASSERT_TRUE(kernel.launch(step.args)); // threads of the parent
  pid_t child = ::fork();
  if (child == 0) {
    SmallStep own(*engine.sizes(spec, 2, 2));
    bool works = bool(kernel.launch(own.args)) && own.mean(1) == step.mean(1);
    spec.h_q = 8;
    works = works && engine.prepare(spec);
    ::_exit(works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
