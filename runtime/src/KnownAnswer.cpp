//===- KnownAnswer.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownAnswer.h"
#include "llvm/Support/FormatVariadic.h"

#include <bit>
#include <cmath>
#include <limits>

namespace mla_jit {

float fromBF16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Multiples of 1/128 in [-1, 1), which bf16 has.
static uint16_t valueAt(uint32_t index) {
  uint32_t bits = index * 2654435761u;
  bits = (bits ^ bits >> 15) * 2246822519u;
  float value = (static_cast<int>((bits ^ bits >> 13) % 256) - 128) / 128.0f;
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

KnownAnswer::KnownAnswer(int64_t heads, int64_t queries) : queries(queries) {
  spec.numHeads = heads; // for the rest as it is by default
  spec.queries = queries;
  lengths = {150, 0, 37};
  table = {3, 0, 4, -1, -1, -1, 1, -1, -1};
  constexpr int64_t kPages = 5;
  q.resize(lengths.size() * queries * heads * spec.headDim);
  k.resize(kPages * spec.pageSize * spec.headDim);
  for (size_t i = 0; i < q.size(); ++i)
    q[i] = valueAt(static_cast<uint32_t>(i));
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = valueAt(static_cast<uint32_t>(i) + 0x10000000);
  out.resize(lengths.size() * queries * heads * spec.headDimV);
  lse.resize(lengths.size() * queries * heads);
  for (int64_t request = 0; request < int64_t(lengths.size()); ++request)
    for (int64_t query = 0; query < queries; ++query)
      for (int64_t head = 0; head < heads; ++head)
        computeRow(request, query, head);
}

void KnownAnswer::computeRow(int64_t request, int64_t query, int64_t head) {
  int64_t row = (request * queries + query) * spec.numHeads + head;
  int64_t keys = std::max<int64_t>(lengths[request] - queries + query + 1, 0);
  auto keyAt = [&](int64_t key) {
    int64_t page = table[request * columns() + key / spec.pageSize];
    return &k[(page * spec.pageSize + key % spec.pageSize) * spec.headDim];
  };
  std::vector<double> weights(keys);
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t key = 0; key < keys; ++key) {
    const uint16_t *mine = &q[row * spec.headDim], *its = keyAt(key);
    for (int64_t d = 0; d < spec.headDim; ++d)
      weights[key] += double(fromBF16(mine[d])) * fromBF16(its[d]);
    weights[key] *= kScale;
    most = std::max(most, weights[key]);
  }
  for (double &weight : weights)
    sum += weight = std::exp(weight - most);
  lse[row] = static_cast<float>(most + std::log(sum));
  float *result = &out[row * spec.headDimV];
  for (int64_t d = 0; d < spec.headDimV; ++d) {
    double mean = 0;
    for (int64_t key = 0; key < keys; ++key)
      mean += weights[key] * fromBF16(keyAt(key)[d]);
    result[d] = static_cast<float>(keys ? mean / sum : 0);
  }
}

std::optional<std::string>
KnownAnswer::findError(const std::vector<uint16_t> &gotOut,
                       const std::vector<float> &gotLSE) const {
  auto differs = [&](const char *name, size_t index, float wanted, float got) {
    return llvm::formatv("{0}[{1}] requires {2}, but got {3}", name, index,
                         wanted, got)
        .str();
  };
  // Values are below 1. Weights that are rounded to bf16, and results that are,
  // make 2^-9 each; twice that is allowed.
  for (size_t i = 0; i < out.size(); ++i)
    if (float got = fromBF16(gotOut[i]); !(std::abs(got - out[i]) <= 0x1p-7f))
      return differs("out", i, out[i], got);
  for (size_t i = 0; i < lse.size(); ++i)
    if (lse[i] != gotLSE[i] && !(std::abs(gotLSE[i] - lse[i]) <= 1e-3f))
      return differs("lse", i, lse[i], gotLSE[i]);
  return std::nullopt;
}

} // namespace mla_jit
