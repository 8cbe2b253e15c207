//===- WorkerPool.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"

namespace mla_jit {

WorkerPool::WorkerPool(int numWorkers) {
  for (int i = 1; i < numWorkers; ++i)
    threads.emplace_back([this, i] { work(i); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::run(void (*f)(void *, int), void *c) {
  std::lock_guard whole(callers);
  {
    std::lock_guard lock(mutex);
    function = f;
    context = c;
    running = static_cast<int>(threads.size());
    ++generation;
  }
  started.notify_all();
  f(c, 0);
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return running == 0; });
}

void WorkerPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    std::unique_lock lock(mutex);
    started.wait(lock, [&] { return stopping || generation != seen; });
    if (stopping)
      return;
    seen = generation;
    auto *f = function;
    void *c = context;
    lock.unlock();
    f(c, worker);
    lock.lock();
    if (--running == 0)
      finished.notify_one();
  }
}

} // namespace mla_jit
