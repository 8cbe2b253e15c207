//===- Processors.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processors.h"

#include <algorithm>
#include <cstdio>
#include <sched.h>

namespace mla_jit {

int processorsOfQuota(const std::string &text) {
  long long quota = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2 ||
      quota <= 0 || period <= 0)
    return 0;
  return static_cast<int>((quota + period - 1) / period);
}

int usableProcessors() {
  cpu_set_t set;
  int usable =
      ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  if (FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    char line[64] = {};
    if (std::fgets(line, sizeof(line), file))
      if (int limit = processorsOfQuota(line))
        usable = std::min(usable, limit);
    std::fclose(file);
  }
  return std::max(usable, 1);
}

} // namespace mla_jit
