//===- WorkerPool.h ---------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_WORKERPOOL_H
#define MLA_JIT_SRC_WORKERPOOL_H

#include <atomic>
#include <cstdint>

namespace mla_jit {

/// Threads that run one function at a time, each with its index; the caller is
/// worker 0. Threads start with the first need, in a child process anew.
class WorkerPool {
public:
  explicit WorkerPool(int numWorkers) : numWorkers(numWorkers) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  int size() const { return numWorkers; }

  /// Starts the threads; a run after it allocates nothing.
  void start() { crewOfProcess(); }
  /// Runs `function(context, worker)` on every worker and returns when all
  /// have. Concurrent calls wait for each other.
  void run(void (*function)(void *context, int worker), void *context);

private:
  struct Crew;
  Crew &crewOfProcess();

  const int numWorkers;
  std::atomic<Crew *> crew = nullptr;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_WORKERPOOL_H
