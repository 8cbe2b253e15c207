//===- Peaks.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What this machine can do, measured by code from the same JIT.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PEAKS_H
#define MLA_JIT_TOOLS_PEAKS_H

#include "PublicEngine.h"

namespace mla_jit {

/// Peaks of all workers together.
struct Peaks {
  double gflops;          ///< f32: independent vector.fma, 2 FLOPs each lane
  double gbytesPerSecond; ///< reads of a buffer far larger than the caches
};

/// Measures for about a second.
llvm::Expected<Peaks> measurePeaks(PublicEngine &engine);

/// Seconds of the fastest and of the median call.
struct Times {
  double best, median;
};
/// Calls `body` until `seconds` have passed, at least 5 times after a first
/// call that does not count.
template <typename F> Times measure(double seconds, F body);

} // namespace mla_jit

#include <algorithm>
#include <chrono>
#include <vector>

template <typename F> mla_jit::Times mla_jit::measure(double seconds, F body) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  body();
  std::vector<double> times;
  auto begin = Clock::now();
  while (times.size() < 5 || since(begin) < seconds) {
    auto start = Clock::now();
    body();
    times.push_back(since(start));
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

#endif // MLA_JIT_TOOLS_PEAKS_H
