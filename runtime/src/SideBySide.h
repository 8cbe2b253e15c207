//===- SideBySide.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_SIDEBYSIDE_H
#define MLA_JIT_SRC_SIDEBYSIDE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <thread>

namespace mla_jit {

/// Calls body(0) to body(count - 1) on at most `threads` threads, the calling
/// one among them, and returns when all have returned.
inline void runSideBySide(size_t count, unsigned threads,
                          llvm::function_ref<void(size_t)> body) {
  size_t used = std::min<size_t>(count, threads);
  auto share = [&](size_t thread) {
    for (size_t i = thread; i < count; i += used)
      body(i);
  };
  llvm::SmallVector<std::thread> others;
  for (size_t thread = 1; thread < used; ++thread)
    others.emplace_back(share, thread);
  if (used > 0)
    share(0);
  for (std::thread &other : others)
    other.join();
}

} // namespace mla_jit

#endif // MLA_JIT_SRC_SIDEBYSIDE_H
