//===- Random.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_INPUTS_RANDOM_H
#define MLA_LIB_INPUTS_RANDOM_H

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace mla_jit {

/// The splitmix64 generator (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014): the same numbers with every C++ library, which
/// the distributions of <random> do not promise. A stream is named by a few
/// integers, so that values can be made in any order and by any thread.
class Random {
public:
  explicit Random(std::initializer_list<uint64_t> stream) {
    for (uint64_t part : stream) {
      state ^= part;
      state = next();
    }
  }

  uint64_t next() {
    state += 0x9E3779B97F4A7C15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  /// Uniform in (0, 1], so that its logarithm is finite.
  double uniform() { return ((next() >> 11) + 1) * 0x1p-53; }

  /// Uniform in [0, bound). The bias, bound / 2^64, does not matter here.
  uint64_t below(uint64_t bound) { return next() % bound; }

  /// Standard normal values by the Box-Muller transform, which makes two.
  void normals(double *values, int64_t count, double deviation) {
    for (int64_t i = 0; i < count; i += 2) {
      double radius = deviation * std::sqrt(-2 * std::log(uniform()));
      double angle = 2 * std::numbers::pi * uniform();
      values[i] = radius * std::cos(angle);
      if (i + 1 < count)
        values[i + 1] = radius * std::sin(angle);
    }
  }

private:
  uint64_t state = 0;
};

} // namespace mla_jit

#endif // MLA_LIB_INPUTS_RANDOM_H
