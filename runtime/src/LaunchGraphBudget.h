//===- LaunchGraphBudget.h ------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_LAUNCHGRAPHBUDGET_H
#define MLA_JIT_SRC_LAUNCHGRAPHBUDGET_H

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace mla_jit {

/// How many launch graphs the kernels of an engine may have, as each takes
/// memory of the device.
class LaunchGraphBudget {
public:
  explicit LaunchGraphBudget(size_t most) : left(most) {}

  /// How many of those that are wanted there may be: a quarter of what is left,
  /// so that later kernels get some, but two while there are.
  size_t take(size_t wanted) {
    std::lock_guard lock(mutex);
    size_t given = std::min({wanted, std::max<size_t>(left / 4, 2), left});
    left -= given;
    return given;
  }
  void giveBack(size_t count) {
    std::lock_guard lock(mutex);
    left += count;
  }

private:
  std::mutex mutex;
  size_t left;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_LAUNCHGRAPHBUDGET_H
