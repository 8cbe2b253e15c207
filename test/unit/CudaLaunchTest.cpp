//===- CudaLaunchTest.cpp - Shared memory, launches, tensor maps ----------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <thread>

using namespace mla_jit::cuda;

//===----------------------------------------------------------------------===//
// Dynamic shared memory
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, DynamicSharedUpToTheLimit) {
  auto function = loadFunction();
  EXPECT_EQ(function->dynamicSharedLimit(), 232448);
  for (int bytes : {0, 49151, 49152, 49153, 232448}) {
    EXPECT_TRUE(Failure(function->allowDynamicShared(bytes)).ok) << bytes;
    EXPECT_EQ(function->dynamicSharedAllowed(), bytes);
    if (bytes)
      EXPECT_EQ(fake->dynamicShared, bytes);
  }
  EXPECT_TRUE(Failure(function->allowDynamicShared(1)).ok);
  EXPECT_EQ(fake->dynamicShared, 232448); // never less

  for (int64_t bytes : {int64_t(232449), int64_t(1) << 40, int64_t(-1)}) {
    Failure failure = function->allowDynamicShared(bytes);
    EXPECT_EQ(failure.kind, ErrorKind::Unsupported);
    EXPECT_EQ(failure.message,
              "dynamic shared memory of kernel 'vector_add' requires 0 to "
              "232448 bytes (a block of Fake H200 has 232448, the kernel's "
              "static part takes 0), but got " +
                  std::to_string(bytes));
  }
  EXPECT_EQ(fake->dynamicShared, 232448);
}

TEST_F(CudaTest, StaticSharedCounts) {
  fake->staticSharedBytes = 16;
  auto function = loadFunction();
  EXPECT_EQ(Failure(function->allowDynamicShared(232448)).kind,
            ErrorKind::Unsupported);
  EXPECT_TRUE(Failure(function->allowDynamicShared(232432)).ok);
  fail("cuFuncSetAttribute", InvalidValue);
  Failure failure =
      get(Function::get(library, "vector_add"))->allowDynamicShared(49152);
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_TRUE(failure.says("cuFuncSetAttribute (49152 bytes of dynamic shared "
                           "memory for kernel 'vector_add') failed"))
      << failure.message;
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

namespace {
struct Parameters {
  uint64_t a = 11, b = 22;
  uint32_t n = 33;
  std::vector<void *> pointers = {&a, &b, &n};
};
} // namespace

TEST_F(CudaTest, LaunchPassesAllOn) {
  auto function = loadFunction();
  EXPECT_TRUE(Failure(function->allowDynamicShared(1024)).ok);
  Parameters parameters;
  LaunchConfig config;
  config.grid = {132, 2, 1};
  config.block = {384, 1, 1};
  config.cluster = {2, 1, 1};
  config.dynamicShared = 1024;
  config.programmaticDependent = true;
  EXPECT_TRUE(Failure(launch(*function, config, parameters.pointers)).ok);
  ASSERT_EQ(fake->launches.size(), 1u);
  const FakeCuda::Launch &seen = fake->launches[0];
  EXPECT_EQ(seen.config.grid[0], 132u);
  EXPECT_EQ(seen.config.grid[1], 2u);
  EXPECT_EQ(seen.config.block[0], 384u);
  EXPECT_EQ(seen.config.sharedBytes, 1024u);
  EXPECT_EQ(seen.parameters, (std::vector<uint64_t>{11, 22, 33}));
  ASSERT_EQ(seen.attributes.size(), 2u);
  EXPECT_EQ(seen.attributes[0].id, LaunchAttributeId::ClusterDimension);
  EXPECT_EQ(seen.attributes[0].cluster[0], 2u);
  EXPECT_EQ(seen.attributes[0].cluster[2], 1u);
  EXPECT_EQ(seen.attributes[1].id,
            LaunchAttributeId::ProgrammaticStreamSerialization);
  EXPECT_EQ(seen.attributes[1].allowed, 1);

  EXPECT_TRUE(Failure(launch(*function, {}, parameters.pointers)).ok);
  EXPECT_TRUE(fake->launches[1].attributes.empty());
  // The caller's thread has no current context, before and after.
  ContextHandle current = nullptr;
  driver->call().ctxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CudaTest, LaunchRefusals) {
  fake->maxThreads = 384;
  auto function = loadFunction();
  Parameters parameters;
  auto refused = [&](const LaunchConfig &config, const std::string &text) {
    Failure failure = launch(*function, config, parameters.pointers);
    EXPECT_EQ(failure.kind, ErrorKind::Invalid);
    EXPECT_EQ(failure.message,
              "the launch of kernel 'vector_add' requires " + text);
  };
  LaunchConfig config;
  config.grid = {0, 1, 1};
  refused(config, "a grid of 1 to 2^31 - 1 by 65535 by 65535 blocks, but got "
                  "0 x 1 x 1");
  config.grid = {1, 65536, 1};
  refused(config, "a grid of 1 to 2^31 - 1 by 65535 by 65535 blocks, but got "
                  "1 x 65536 x 1");
  config.grid = {3, 1, 1};
  config.block = {385, 1, 1};
  refused(config, "a block of 1 to 384 threads, but got 385 x 1 x 1");
  config.block = {1u << 31, 1u << 31, 4};
  refused(config, "a block of 1 to 384 threads, but got 2147483648 x "
                  "2147483648 x 4");
  config.block = {384, 1, 1};
  config.cluster = {2, 1, 1};
  refused(config, "a grid of whole clusters of at most 8 blocks, but got a "
                  "grid of 3 x 1 x 1 and clusters of 2 x 1 x 1");
  config.cluster = {1, 0, 1};
  refused(config, "a grid of whole clusters of at most 8 blocks, but got a "
                  "grid of 3 x 1 x 1 and clusters of 1 x 0 x 1");
  config.cluster = {1, 1, 1};
  config.dynamicShared = 16;
  refused(config, "at most the 0 bytes of dynamic shared memory that were "
                  "allowed for it, but got 16");
  config.dynamicShared = 0;
  parameters.pointers.pop_back();
  refused(config, "3 parameters, but got 2");
  EXPECT_TRUE(fake->launches.empty());
}

TEST_F(CudaTest, LaunchReportsALostDevice) {
  auto function = loadFunction();
  Parameters parameters;
  fail("cuLaunchKernelEx", IllegalAddress);
  Failure failure = launch(*function, {}, parameters.pointers);
  EXPECT_EQ(failure.kind, ErrorKind::DeviceLost);
  EXPECT_EQ(failure.result, IllegalAddress);
  EXPECT_EQ(failure.message,
            "cuLaunchKernelEx (kernel 'vector_add', grid 1 x 1 x 1, block 1 x "
            "1 x 1, cluster 1 x 1 x 1, 0 bytes of dynamic shared memory) "
            "failed: device lost, perhaps through an earlier kernel: "
            "CUDA_ERROR_ILLEGAL_ADDRESS (700): words of the driver");
}

TEST_F(CudaTest, ThreadsShareAFunction) {
  auto function = loadFunction();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Parameters parameters;
      LaunchConfig config;
      for (int k = 1; k <= 100; ++k) {
        config.dynamicShared = 1024 * i + k;
        EXPECT_TRUE(
            Failure(function->allowDynamicShared(config.dynamicShared)).ok);
        EXPECT_TRUE(Failure(launch(*function, config, parameters.pointers)).ok);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fake->launches.size(), 400u);
  EXPECT_EQ(fake->dynamicShared, 3 * 1024 + 100);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// Pages of 64 rows of 576 bf16, boxes of 64 x 64.
static TensorMapSpec poolSpec() {
  TensorMapSpec spec;
  spec.rank = 3;
  spec.base = 0x7f0000000000;
  spec.dims = {576, 64, 1000};
  spec.strides = {1152, 73728};
  spec.box = {64, 64, 1};
  spec.swizzle = Swizzle::B128;
  return spec;
}

TEST_F(CudaTest, TensorMapOfAPool) {
  openContext();
  TensorMap map = get(encodeTensorMap(*context, poolSpec()));
  EXPECT_EQ(map.opaque[0], 42u);
  ASSERT_EQ(fake->maps.size(), 1u);
  const FakeCuda::Map &seen = fake->maps[0];
  EXPECT_EQ(seen.type, ElementType::BF16);
  EXPECT_EQ(seen.dims, (std::vector<uint64_t>{576, 64, 1000}));
  EXPECT_EQ(seen.strides, (std::vector<uint64_t>{1152, 73728}));
  EXPECT_EQ(seen.box, (std::vector<uint32_t>{64, 64, 1}));
  EXPECT_EQ(seen.elementStrides, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(seen.swizzle, 3);
  EXPECT_EQ(seen.promotion, 0);
  EXPECT_EQ(seen.interleave, 0);
  EXPECT_EQ(seen.fill, 0);

  fail("cuTensorMapEncodeTiled", InvalidValue);
  Failure failure = encodeTensorMap(*context, poolSpec());
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_EQ(failure.message,
            "cuTensorMapEncodeTiled (rank 3 at 0x7f0000000000) failed: "
            "CUDA_ERROR_INVALID_VALUE (1): words of the driver");
}

TEST_F(CudaTest, TensorMapRules) {
  openContext();
  auto check = [&](auto change, const std::string &text) {
    TensorMapSpec spec = poolSpec();
    change(spec);
    Failure failure = encodeTensorMap(*context, spec);
    if (text.empty()) {
      EXPECT_TRUE(failure.ok) << failure.message;
      return;
    }
    EXPECT_EQ(failure.kind, ErrorKind::Invalid);
    EXPECT_EQ(failure.message, "a tensor map requires " + text);
  };
  using Spec = TensorMapSpec;
  check([](Spec &s) { s.rank = 0; }, "rank 1 to 5, but got rank 0");
  check([](Spec &s) { s.rank = 6; }, "rank 1 to 5, but got rank 6");
  check([](Spec &s) { s.base += 8; },
        "a base address that is a multiple of 16, but got 0x7f0000000008");
  check([](Spec &s) { s.base = 0; },
        "a base address that is a multiple of 16, but got 0x0");
  check([](Spec &s) { s.dims[2] = 0; },
        "1 to 2^32 elements in dimension 2, but got 0");
  check([](Spec &s) { s.dims[2] = uint64_t(1) << 32; }, "");
  check([](Spec &s) { s.dims[2] = (uint64_t(1) << 32) + 1; },
        "1 to 2^32 elements in dimension 2, but got 4294967297");
  for (int stride : {1152, 656, 576})
    check([=](Spec &s) { s.strides[0] = stride; }, "");
  check([](Spec &s) { s.strides[0] = 584; },
        "a stride of dimension 1 that is a multiple of 16 bytes, but got 584");
  check([](Spec &s) { s.strides[1] = (uint64_t(1) << 40) - 16; }, "");
  check([](Spec &s) { s.strides[1] = uint64_t(1) << 40; },
        "a stride of dimension 2 below 2^40 bytes, but got 1099511627776");
  check([](Spec &s) { s.box[1] = 257; },
        "1 to 256 elements in dimension 1 of the box, but got 257");
  check([](Spec &s) { s.box[0] = 576; },
        "1 to 256 elements in dimension 0 of the box, but got 576");
  check([](Spec &s) { s.box[2] = 0; },
        "1 to 256 elements in dimension 2 of the box, but got 0");
  check([](Spec &s) { s.box[1] = 256; }, "");
  check([](Spec &s) { s.box[0] = 4; },
        "an inner box side that is a multiple of 16 bytes, but got 8");
  check([](Spec &s) { s.box[0] = 72; },
        "an inner box side of at most 128 bytes with a swizzle of 128 bytes, "
        "but got 144");
  check(
      [](Spec &s) {
        s.box[0] = 128;
        s.type = ElementType::U8;
      },
      "");
  check([](Spec &s) { s.swizzle = Swizzle::B64; },
        "an inner box side of at most 64 bytes with a swizzle of 64 bytes, but "
        "got 128");
  check(
      [](Spec &s) {
        s.swizzle = Swizzle::None;
        s.box[0] = 256;
      },
      "");
  check([](Spec &s) { s.type = static_cast<ElementType>(77); },
        "a known element type, but got number 77");
}
