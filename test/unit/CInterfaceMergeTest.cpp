//===- CInterfaceMergeTest.cpp --------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_merge on the host against the same sums in f64.
//
//===----------------------------------------------------------------------===//

#include "MergeParts.h"

using namespace mla_test;

TEST(CInterfaceMergeTest, AgreesWithSumsInF64) {
  mla::Engine engine = makeEngine();
  for (int32_t dtype : {MLA_F32, MLA_BF16, MLA_F16}) {
    auto kernel = engine.prepare(mergeSpec(dtype));
    ASSERT_TRUE(kernel) << kernel.status().message();
    for (int64_t n : {1, 2, 5, 40})
      for (int32_t base : {0, 2}) {
        Parts parts(dtype, n, 7, n);
        mla_merge_args args = parts.args();
        args.lse_base = base;
        mla::Status status = kernel->merge(args);
        ASSERT_TRUE(status) << status.message();
        expectMerged(parts, parts.out, parts.lseOut, base ? 2 : std::exp(1.0),
                     -kInf);
      }
  }
  EXPECT_EQ(countersOf(engine).compiles, 3u);
}

TEST(CInterfaceMergeTest, EmptyPartsAreLeftOutWhateverTheyHold) {
  mla::Engine engine = makeEngine();
  mla::Kernel kernel = *engine.prepare(mergeSpec());
  for (int32_t posinf : {0, 1}) {
    float empty = posinf ? kInf : -kInf;
    Parts parts(MLA_F32, 3, 4);
    int64_t perPart = parts.rows * kHeads;
    auto clear = [&](int64_t part, int64_t row) {
      parts.lse[part * perPart + row] = empty;
      for (int64_t column = 0; column < kColumns; ++column)
        parts.values.set(part * perPart + row, column, kNaN);
    };
    clear(0, 2);
    clear(2, 2);
    clear(1, 3);
    for (int64_t part : {0, 1, 2})
      clear(part, 7);
    mla_merge_args args = parts.args();
    args.lse_empty_posinf = posinf;
    mla::Status status = kernel.merge(args);
    ASSERT_TRUE(status) << status.message();
    expectMerged(parts, parts.out, parts.lseOut, std::exp(1.0), empty);
    EXPECT_EQ(parts.lseOut[7], empty);
    EXPECT_EQ(parts.out.get(7, 5), 0);
  }
}

TEST(CInterfaceMergeTest, ResultsMayTakeThePlaceOfAPart) {
  mla::Engine engine = makeEngine();
  mla::Kernel kernel = *engine.prepare(mergeSpec(MLA_BF16));
  for (int64_t place : {0, 2}) {
    Parts parts(MLA_BF16, 3, 5);
    const Parts before = parts;
    mla_merge_args args = parts.args();
    int64_t perPart = parts.rows * kHeads;
    args.out = args.parts;
    args.out.rank = 3;
    for (int dim = 0; dim < 3; ++dim) {
      args.out.shape[dim] = args.parts.shape[dim + 1];
      args.out.stride[dim] = args.parts.stride[dim + 1];
    }
    args.out.data =
        const_cast<char *>(parts.values.address(place * perPart, 0));
    args.lse.data = parts.lse.data() + place * perPart;
    ASSERT_TRUE(kernel.merge(args));
    Values out(MLA_BF16, perPart, kColumns, 0);
    for (int64_t row = 0; row < perPart; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        out.set(row, column, parts.values.get(place * perPart + row, column));
    std::vector<float> lse(parts.lse.begin() + place * perPart,
                           parts.lse.begin() + (place + 1) * perPart);
    expectMerged(before, out, lse, std::exp(1.0), -kInf);
  }
}

TEST(CInterfaceMergeTest, TensorsApartAreParts) {
  mla::Engine engine = makeEngine();
  mla::Kernel kernel = *engine.prepare(mergeSpec());
  // The later one in memory first: the distance is negative.
  Parts parts(MLA_F32, 2, 2);
  Parts swapped = parts;
  mla_merge_args args = parts.args();
  int64_t perPart = parts.rows * kHeads;
  args.parts.data = const_cast<char *>(parts.values.address(perPart, 0));
  args.parts.stride[0] = -args.parts.stride[0];
  args.lse_parts.data = parts.lse.data() + perPart;
  args.lse_parts.stride[0] = -perPart;
  args.lse = {}; // not wanted
  mla::Status status = kernel.merge(args);
  ASSERT_TRUE(status) << status.message();
  ASSERT_TRUE(kernel.merge(swapped.args()));
  for (int64_t column = 0; column < kColumns; ++column)
    EXPECT_NEAR(parts.out.get(4, column), swapped.out.get(4, column), 1e-6);
  EXPECT_EQ(parts.lseOut[4], 0);
}

TEST(CInterfaceMergeTest, ErrorsNameTheField) {
  mla::Engine engine = makeEngine();
  mla::Kernel kernel = *engine.prepare(mergeSpec());
  using Change = void (*)(mla_merge_args &);
  const std::pair<const char *, Change> kCases[] = {
      {"parts", [](mla_merge_args &a) { a.parts.dtype = MLA_BF16; }},
      {"parts", [](mla_merge_args &a) { a.parts = {}; }},
      {"parts", [](mla_merge_args &a) { a.parts.shape[1] = 1; }},
      {"lse_parts", [](mla_merge_args &a) { a.lse_parts.shape[0] = 1; }},
      {"out", [](mla_merge_args &a) { a.out.shape[1] = 4; }},
      {"out", [](mla_merge_args &a) { a.out.stride[2] = 2; }},
      {"lse", [](mla_merge_args &a) { a.lse.shape[0] = 1; }},
      {"lse_base", [](mla_merge_args &a) { a.lse_base = 3; }},
      {"lse_empty_posinf", [](mla_merge_args &a) { a.lse_empty_posinf = 2; }},
      {"flags", [](mla_merge_args &a) { a.flags = MLA_LAUNCH_CHECK; }},
      {"max_ctas", [](mla_merge_args &a) { a.max_ctas = -1; }},
  };
  for (const auto &[field, change] : kCases) {
    Parts parts(MLA_F32, 2, 2);
    mla_merge_args args = parts.args();
    change(args);
    mla::Status status = kernel.merge(args);
    EXPECT_EQ(status.code(), MLA_E_INVALID) << status.message();
    EXPECT_STREQ(status->argument, field) << status.message();
  }
  mla_spec spec = mergeSpec();
  spec.d_qk = 576;
  auto refused = engine.prepare(spec);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.status()->argument, "d_qk");
  auto decode = engine.prepare(smallSpec());
  ASSERT_TRUE(decode);
  EXPECT_STREQ(decode->merge(Parts(MLA_F32, 1, 1).args())->argument, "kernel");
}
