//===- MergeParts.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Inputs of mla_merge, and the same sums in f64.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_MERGEPARTS_H
#define MLA_TEST_UNIT_MERGEPARTS_H

#include "CInterface.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace mla_test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr int64_t kHeads = 3, kColumns = 40;

inline mla_spec mergeSpec(int32_t dtype = MLA_F32) {
  auto spec = mla::make<mla_spec>();
  spec.operation = MLA_MERGE;
  spec.out_dtype = dtype;
  spec.h_q = kHeads;
  spec.d_v = kColumns;
  return spec;
}

/// A 16-bit float's bits, by truncation: what is stored is exact.
inline uint16_t bits16(float value, int32_t dtype) {
  if (dtype == MLA_F16) {
    _Float16 half = static_cast<_Float16>(value);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
  }
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits >> 16;
}

inline float float16(uint16_t bits, int32_t dtype) {
  if (dtype == MLA_F16) {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return half;
  }
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Values in memory of one type, rows of them with a gap behind.
struct Values {
  Values(int32_t dtype, int64_t rows, int64_t columns, int64_t gap)
      : dtype(dtype), columns(columns), pitch(columns + gap),
        memory(rows * pitch * 4, char(0x7f)) {}

  float get(int64_t row, int64_t column) const {
    const char *at = address(row, column);
    if (dtype == MLA_F32) {
      float value;
      std::memcpy(&value, at, 4);
      return value;
    }
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    return float16(bits, dtype);
  }
  void set(int64_t row, int64_t column, float value) {
    char *at = const_cast<char *>(address(row, column));
    if (dtype == MLA_F32) {
      std::memcpy(at, &value, 4);
    } else {
      uint16_t bits = bits16(value, dtype);
      std::memcpy(at, &bits, 2);
    }
  }
  const char *address(int64_t row, int64_t column) const {
    return memory.data() + (row * pitch + column) * (dtype == MLA_F32 ? 4 : 2);
  }

  int32_t dtype;
  int64_t columns, pitch;
  std::vector<char> memory;
};

/// n parts of some rows, whose memory has gaps everywhere.
struct Parts {
  Parts(int32_t dtype, int64_t n, int64_t rows, unsigned seed = 1)
      : n(n), rows(rows), values(dtype, n * rows * kHeads, kColumns, 8),
        lse(n * rows * kHeads), out(dtype, rows * kHeads, kColumns, 3),
        lseOut(rows * kHeads) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float &value : lse)
      value = 4 * normal(random);
    for (int64_t row = 0; row < n * rows * kHeads; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        values.set(row, column, normal(random));
  }

  mla_merge_args args() {
    auto args = mla::make<mla_merge_args>();
    args.parts =
        tensor(values.memory.data(), values.dtype, {n, rows, kHeads, kColumns});
    int64_t pitch = values.pitch;
    const int64_t strides[] = {rows * kHeads * pitch, kHeads * pitch, pitch, 1};
    std::copy_n(strides, 4, args.parts.stride);
    args.lse_parts = tensor(lse.data(), MLA_F32, {n, rows, kHeads});
    args.out = tensor(out.memory.data(), out.dtype, {rows, kHeads, kColumns});
    args.out.stride[1] = out.pitch;
    args.out.stride[0] = kHeads * out.pitch;
    args.lse = tensor(lseOut.data(), MLA_F32, {rows, kHeads});
    return args;
  }

  /// Parts of a row (and head) in f64; `base`: of the logarithms.
  void merge(int64_t row, double base, float empty,
             std::vector<double> &expected, double &expectedLse) const {
    double max = -kInf, sum = 0;
    auto given = [&](int64_t part) {
      float value = lse[part * rows * kHeads + row];
      return value == empty ? -kInf : value;
    };
    for (int64_t part = 0; part < n; ++part)
      max = std::max<double>(max, given(part));
    expected.assign(kColumns, 0);
    expectedLse = empty;
    if (max == -kInf)
      return;
    for (int64_t part = 0; part < n; ++part) {
      double weight = std::pow(base, given(part) - max);
      sum += weight;
      for (int64_t column = 0; weight && column < kColumns; ++column)
        expected[column] +=
            weight * values.get(part * rows * kHeads + row, column);
    }
    for (double &value : expected)
      value /= sum;
    expectedLse = max + std::log(sum) / std::log(base);
  }

  int64_t n, rows;
  Values values;
  std::vector<float> lse;
  Values out;
  std::vector<float> lseOut;
};

inline void expectMerged(const Parts &inputs, const Values &out,
                         const std::vector<float> &lse, double base,
                         float empty) {
  double step = out.dtype == MLA_F32   ? 1e-6
                : out.dtype == MLA_F16 ? 1.0 / 2048
                                       : 1.0 / 256;
  std::vector<double> expected;
  double expectedLse;
  for (int64_t row = 0; row < inputs.rows * kHeads; ++row) {
    inputs.merge(row, base, empty, expected, expectedLse);
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_NEAR(out.get(row, column), expected[column],
                  step * std::abs(expected[column]) + 1e-5)
          << row << ", " << column;
    if (std::isinf(expectedLse))
      ASSERT_EQ(lse[row], expectedLse) << row;
    else
      ASSERT_NEAR(lse[row], expectedLse, 1e-5) << row;
  }
}

} // namespace mla_test

#endif // MLA_TEST_UNIT_MERGEPARTS_H
