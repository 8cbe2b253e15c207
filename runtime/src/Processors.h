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
/// than its control group's quota of processor time; at least 1.
int usableProcessors();

/// Processors that a quota is worth, from the text of cgroup's cpu.max
/// ("150000 100000": 2); 0: no limit.
int processorsOfQuota(const std::string &text);

} // namespace mla_jit

#endif // MLA_JIT_SRC_PROCESSORS_H
