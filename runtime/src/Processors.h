//===- Processors.h ---------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_PROCESSORS_H
#define MLA_JIT_SRC_PROCESSORS_H

#include <string>

namespace mla_jit {

/// Processors that this process may use: those of its affinity, and no more
/// than the quota of processor time of its control group and of those that this
/// is in; at least 1.
int usableProcessors();

/// Processors that a quota is worth, from the text of cgroup's cpu.max
/// ("150000 100000": 2); 0: no limit.
int processorsOfQuota(const std::string &text);

/// The least quota of the groups that /proc/self/cgroup lists, of either
/// version, whose file systems are below `root`; 0: no limit.
int processorsOfGroups(const std::string &list, const std::string &root);

} // namespace mla_jit

#endif // MLA_JIT_SRC_PROCESSORS_H
