//===- WorkerPool.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_WORKERPOOL_H
#define MLA_JIT_SRC_WORKERPOOL_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace mla_jit {

/// Threads that run one function at a time, each with its index; the caller is
/// worker 0. Allocates only at construction.
class WorkerPool {
public:
  explicit WorkerPool(int numWorkers);
  ~WorkerPool();

  int size() const { return static_cast<int>(threads.size()) + 1; }

  /// Runs `function(context, worker)` on every worker and returns when all
  /// have. Concurrent calls wait for each other.
  void run(void (*function)(void *context, int worker), void *context);

private:
  void work(int worker);

  std::mutex callers; // held for the whole of a run
  std::mutex mutex;
  std::condition_variable started, finished;
  uint64_t generation = 0;
  int running = 0;
  bool stopping = false;
  void (*function)(void *, int) = nullptr;
  void *context = nullptr;
  std::vector<std::thread> threads;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_WORKERPOOL_H
