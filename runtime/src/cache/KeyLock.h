//===- KeyLock.h - One process at a time works on a key ---------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_KEYLOCK_H
#define MLA_JIT_SRC_CACHE_KEYLOCK_H

#include "File.h"

#include <chrono>
#include <functional>

namespace mla_jit::cache {

/// An advisory lock on one byte of a file: the byte that the key's digest
/// names, so that no file is left behind for each key. The lock belongs to an
/// open file of its own: it ends with its owner, however that dies, excludes
/// threads as well as processes, and is no business of other locks here. (A
/// child forked while it was held keeps it alive when the parent is killed;
/// whoever waits does so for a limited time only.)
class KeyLock {
public:
  enum class State {
    Held,
    NotNeeded,   ///< `stop` said so while waiting
    TimedOut,    ///< its owner is too slow
    Unavailable, ///< read-only directory, file system without locks, ...
  };

  /// Waits at most `limit`, looking again ever more slowly.
  static KeyLock acquire(int directory, Trust trust, const Digest &key,
                         std::chrono::milliseconds limit,
                         const std::function<bool()> &stop);

  State state() const { return outcome; }
  /// Somebody else held it at first.
  bool waited() const { return hadToWait; }

private:
  KeyLock(State state, bool waited, File file)
      : outcome(state), hadToWait(waited), file(std::move(file)) {}

  State outcome;
  bool hadToWait;
  File file; // closing it gives the lock back
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_KEYLOCK_H
