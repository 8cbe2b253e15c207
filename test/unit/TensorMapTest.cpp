//===- TensorMapTest.cpp
//---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tensor maps of a launch's tensors, and how long they are kept.
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"

using namespace mla_jit;

static std::string refusal(const Tensor &tensor) {
  return llvm::toString(makeTensorMapSpec(mapOfK(), tensor, "k").takeError());
}

TEST(TensorMapSpecTest, WideBoxesAreTilesOfColumns) {
  auto spec = cuda::get(makeTensorMapSpec(mapOfK(), keys(), "k"));
  EXPECT_EQ(spec.rank, 5u);
  EXPECT_EQ(spec.base, 0x20000u);
  EXPECT_EQ(spec.type, cuda::ElementType::BF16);
  EXPECT_EQ(spec.swizzle, cuda::Swizzle::B128);
  // Columns of a tile, rows, tiles, heads, pages.
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{64, 64, 9, 1, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 64, 9, 1, 1}));
  EXPECT_EQ(spec.strides,
            (std::array<uint64_t, 4>{1152, 128, 1152, 64 * 1152}));
}

TEST(TensorMapSpecTest, NarrowBoxesAreNot) {
  KernelInfo::TensorMap map = mapOfK();
  map.rank = 3;
  map.dims = {0, 1, 3};
  map.boxColumns = 64;
  auto spec = cuda::get(makeTensorMapSpec(map, keys(), "k"));
  EXPECT_EQ(spec.rank, 3u);
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{576, 64, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 64, 1}));
  EXPECT_EQ(spec.strides, (std::array<uint64_t, 4>{1152, 64 * 1152}));
}

TEST(TensorMapSpecTest, StridesOfOneElementDoNotMatter) {
  Tensor k = keys();
  k.stride[2] = 577;
  EXPECT_EQ(refusal(k), "");
}

TEST(TensorMapSpecTest, TakesPoolsWithGaps) {
  Tensor k = keys();
  k.stride[1] = 656;          // a row has more than its columns
  k.stride[0] = 70 * 656 + 8; // and a page more than its rows
  auto spec = cuda::get(makeTensorMapSpec(mapOfK(), k, "k"));
  EXPECT_EQ(spec.strides,
            (std::array<uint64_t, 4>{2 * 656, 128, 1152, 2 * (70 * 656 + 8)}));
}

TEST(TensorMapSpecTest, LowBoxesOfSmallPages) {
  KernelInfo::TensorMap map = mapOfK();
  map.boxRows = 16;
  map.boxColumns = 64;
  auto spec = cuda::get(makeTensorMapSpec(map, keys({100, 16, 1, 576}), "k"));
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{576, 16, 1, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 16, 1, 1}));
}

TEST(TensorMapSpecTest, EmptyTensorsGetALegalView) {
  EXPECT_EQ(refusal(keys({0, 64, 1, 576})), "");
  Tensor k = keys({0, 64, 1, 576});
  k.data = nullptr;
  EXPECT_EQ(refusal(k), "");
}

TEST(TensorMapSpecTest, RefusesWhatTMACannotTake) {
  auto expectRefusal = [](const Tensor &k, const char *part) {
    std::string text = refusal(k);
    EXPECT_NE(text.find("argument 'k'"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  Tensor k = keys();
  k.stride[1] = 577;
  expectRefusal(k, "dimension 1 of bf16[100, 64, 1, 576] has a stride of 1154");
  k = keys();
  k.stride[0] += 4;
  expectRefusal(k,
                "dimension 0 of bf16[100, 64, 1, 576] has a stride of 73736");
  k = keys();
  k.data = reinterpret_cast<void *>(0x20002);
  expectRefusal(k, "multiple of 16, but got 0x20002");
  k = keys();
  k.stride[3] = 2;
  expectRefusal(k, "contiguous columns");
  expectRefusal(keys({100, 64, 1, 72}), "tiles of 64, but there are 72");
}

namespace {
class LaunchedTensorMapTest : public FakeKernelTest {};
} // namespace

TEST_F(LaunchedTensorMapTest, TensorMapsAreOfThePoolThatIsPassed) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  for (uintptr_t address : {0x20000ul, 0x7f0000000010ul}) {
    Tensor k = keys();
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    EXPECT_EQ(fake->maps.back().base, address);
  }
}

TEST_F(LaunchedTensorMapTest, ARefusedAddressLeavesNoMapBehind) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  for (uintptr_t address : {0x20008ul, 0x20000ul}) {
    Tensor k = keys();
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    fake->maps.clear();
    cuda::Failure failure = run(*state, arguments);
    EXPECT_EQ(failure.ok, address == 0x20000) << failure.message;
  }
  EXPECT_FALSE(fake->maps.empty());
  EXPECT_EQ(fake->maps[0].base, 0x20000u);
  // One that the driver refuses.
  Tensor k = keys();
  k.data = reinterpret_cast<void *>(0x40000);
  llvm::cantFail(arguments.set("k", k));
  fail("cuTensorMapEncodeTiled", cuda::InvalidValue);
  EXPECT_FALSE(cuda::Failure(run(*state, arguments)).ok);
  fake->failures.clear();
  fake->maps.clear();
  EXPECT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  EXPECT_EQ(fake->maps.size(), 2u);
}

TEST_F(LaunchedTensorMapTest, EmptyPoolsOfTheSameShape) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  for (uintptr_t address : {0x20000ul, 0x40000ul}) {
    Tensor k = keys({0, 64, 1, 576});
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    EXPECT_EQ(fake->maps.back().dims.back(), 1u);
    EXPECT_NE(fake->maps.back().base, address);
  }
}
