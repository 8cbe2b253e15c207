//===- Masks.cpp - The oracle's masks -------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Oracle/Oracle.h"

using namespace mla_jit::oracle;

namespace {
using Parameters = std::vector<int64_t>;

struct NamedMask {
  std::string_view name;
  size_t numParameters;
  Mask (*make)(const Parameters &);
};
} // namespace

static Mask makeNone(const Parameters &) {
  return [](int64_t q, int64_t k) { return true; };
}

static Mask makeCausal(const Parameters &) {
  return [](int64_t q, int64_t k) { return k <= q; };
}

static Mask makeSlidingWindow(const Parameters &parameters) {
  int64_t window = parameters[0];
  return
      [window](int64_t q, int64_t k) { return 0 <= q - k && q - k < window; };
}

static const NamedMask kMasks[] = {
    {"none", 0, makeNone},
    {"causal", 0, makeCausal},
    {"sliding_window", 1, makeSlidingWindow},
};

std::optional<Mask> mla_jit::oracle::makeMask(std::string_view name,
                                              const Parameters &parameters) {
  for (const NamedMask &mask : kMasks)
    if (mask.name == name && mask.numParameters == parameters.size())
      return mask.make(parameters);
  return std::nullopt;
}
