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
#include <fstream>
#include <sched.h>
#include <sstream>

namespace mla_jit {

int processorsOfQuota(const std::string &text) {
  long long quota = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2 ||
      quota <= 0 || period <= 0)
    return 0;
  return static_cast<int>((quota + period - 1) / period);
}

/// The first line of a file; empty where there is none.
static std::string lineOf(const std::string &path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

/// The least quota of a group and of those that it is in, below where their
/// file system is mounted.
static int processorsOfGroup(const std::string &mount, std::string group) {
  int least = 0;
  while (true) {
    while (!group.empty() && group.back() == '/')
      group.pop_back();
    std::string place = mount + group + "/";
    for (const std::string &quota :
         {lineOf(place + "cpu.max"), lineOf(place + "cpu.cfs_quota_us") + " " +
                                         lineOf(place + "cpu.cfs_period_us")})
      if (int limit = processorsOfQuota(quota))
        least = least ? std::min(least, limit) : limit;
    if (group.empty())
      return least;
    size_t slash = group.rfind('/');
    group.resize(slash == group.npos ? 0 : slash);
  }
}

int processorsOfGroups(const std::string &list, const std::string &root) {
  int least = 0;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    // "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1.
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() &&
        ("," + controllers + ",").find(",cpu,") == std::string::npos)
      continue;
    std::string group = line.substr(second + 1);
    for (const std::string &mount :
         {controllers.empty() ? root : root + "/" + controllers,
          root + (controllers.empty() ? "/unified" : "/cpu")})
      if (int limit = processorsOfGroup(mount, group))
        least = least ? std::min(least, limit) : limit;
  }
  return least;
}

int usableProcessors() {
  cpu_set_t set;
  int usable =
      ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  if (int limit = processorsOfGroups(groups.str(), "/sys/fs/cgroup"))
    usable = std::min(usable, limit);
  return std::max(usable, 1);
}

} // namespace mla_jit
