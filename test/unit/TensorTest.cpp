//===- TensorTest.cpp -----------------------------------------------------===//
//--------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Problem/Tensor.h"

#include "gtest/gtest.h"

using namespace mla_jit;

TEST(TensorTest, DTypesRoundTripThroughTheirNames) {
  const std::pair<DType, const char *> names[] = {{DType::F32, "f32"},
                                                  {DType::F16, "f16"},
                                                  {DType::BF16, "bf16"},
                                                  {DType::I32, "i32"},
                                                  {DType::I64, "i64"}};
  for (auto [dtype, name] : names) {
    EXPECT_EQ(toString(dtype), name);
    EXPECT_EQ(parseDType(name), dtype);
  }
  EXPECT_EQ(toString(DType::None), "none");
  for (const char *text : {"none", "", "F32", "f32 ", "f64"})
    EXPECT_EQ(parseDType(text), DType::None) << text;
}

TEST(TensorTest, ByteSizes) {
  EXPECT_EQ(byteSize(DType::None), 0u);
  EXPECT_EQ(byteSize(DType::F16), 2u);
  EXPECT_EQ(byteSize(DType::BF16), 2u);
  EXPECT_EQ(byteSize(DType::F32), 4u);
  EXPECT_EQ(byteSize(DType::I32), 4u);
  EXPECT_EQ(byteSize(DType::I64), 8u);
}

TEST(TensorTest, ContiguousRowMajor) {
  char data[1];
  Tensor tensor(data, DType::BF16, {4, 1, 16, 576});
  EXPECT_TRUE(tensor.given());
  EXPECT_EQ(tensor.data, data);
  EXPECT_EQ(tensor.rank, 4);
  EXPECT_EQ(tensor.stride[0], 16 * 576);
  EXPECT_EQ(tensor.stride[1], 16 * 576);
  EXPECT_EQ(tensor.stride[2], 576);
  EXPECT_EQ(tensor.stride[3], 1);
  EXPECT_EQ(tensor.numElements(), 4 * 16 * 576);
  EXPECT_EQ(tensor.describe(), "bf16[4, 1, 16, 576]");
}

TEST(TensorTest, EmptyAndNotGiven) {
  EXPECT_FALSE(Tensor().given());
  EXPECT_EQ(Tensor().describe(), "none[]");
  Tensor empty(nullptr, DType::I32, {0, 5});
  EXPECT_TRUE(empty.given());
  EXPECT_EQ(empty.numElements(), 0);
  EXPECT_EQ(empty.describe(), "i32[0, 5]");
}
