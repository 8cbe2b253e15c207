//===- LaunchKey.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_LAUNCHKEY_H
#define MLA_JIT_SRC_LAUNCHKEY_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mla_jit {

/// What tells the launches of a kernel apart before anything of them is looked
/// at. One with the key of another that succeeded needs no checks: it is the
/// same.
struct LaunchKey {
  static constexpr size_t kMaxBytes = 3072;

  /// All that the caller gave, by value; none: a launch that is not remembered.
  llvm::ArrayRef<char> bytes;
  uint64_t hash = 0; ///< of what differs most; 0: of no bytes
  bool usesPlan = false;
  /// Of the plans' records, if it uses one: what the checks read besides.
  uint64_t plansVersion = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_LAUNCHKEY_H
