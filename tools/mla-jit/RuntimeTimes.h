//===- RuntimeTimes.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNTIMETIMES_H
#define MLA_JIT_TOOLS_RUNTIMETIMES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <vector>

namespace mla_jit {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double medianOf(std::vector<double> times) {
  llvm::sort(times);
  return times[times.size() / 2];
}

/// Seconds a call, the median over rounds of so many calls.
inline double secondsACall(int rounds, int calls,
                           llvm::function_ref<void()> call) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    times.push_back(secondsSince(start) / calls);
  }
  return medianOf(std::move(times));
}

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNTIMETIMES_H
