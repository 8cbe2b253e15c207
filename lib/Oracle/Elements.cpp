//===- Elements.cpp - The oracle's own reading of tensor elements ---------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

using namespace mla_jit;

static double fromF32(float value) { return value; }

/// bf16 is the upper half of an f32.
static double fromBF16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// f16: 1 sign, 5 exponent (bias 15) and 10 fraction bits.
static double fromF16(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1F;
  int fraction = bits & 0x3FF;
  double magnitude;
  if (exponent == 0x1F)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = fraction * 0x1p-24;
  else // a double of the same value: bias 1023 and 52 fraction bits
    magnitude = std::bit_cast<double>(uint64_t(exponent - 15 + 1023) << 52 |
                                      uint64_t(fraction) << 42);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <typename Bits, typename Convert>
static void loadAll(const Tensor &tensor, int64_t offset, int64_t stride,
                    int64_t count, double *values, Convert convert) {
  const Bits *data = static_cast<const Bits *>(tensor.data) + offset;
  for (int64_t c = 0; c < count; ++c)
    values[c] = convert(data[c * stride]);
}

void oracle::loadFloats(const Tensor &tensor, int64_t offset, int64_t stride,
                        int64_t count, double *values) {
  switch (tensor.dtype) {
  case DType::F32:
    return loadAll<float>(tensor, offset, stride, count, values, fromF32);
  case DType::F16:
    return loadAll<uint16_t>(tensor, offset, stride, count, values, fromF16);
  case DType::BF16:
    return loadAll<uint16_t>(tensor, offset, stride, count, values, fromBF16);
  default:
    assert(false && "not a float tensor");
  }
}

int64_t oracle::loadInt(const Tensor &tensor, int64_t offset) {
  if (tensor.dtype == DType::I32)
    return static_cast<const int32_t *>(tensor.data)[offset];
  assert(tensor.dtype == DType::I64 && "not an integer tensor");
  return static_cast<const int64_t *>(tensor.data)[offset];
}
