//===- WorkerPool.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace mla_jit {

/// The threads of one process, and what they share.
struct WorkerPool::Crew {
  explicit Crew(int numWorkers);
  ~Crew();
  void run(void (*f)(void *, int), void *c);
  void work(int worker);
  void stop();

  const pid_t process = ::getpid();
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

WorkerPool::Crew::Crew(int numWorkers) {
  try {
    for (int i = 1; i < numWorkers; ++i)
      threads.emplace_back([this, i] { work(i); });
  } catch (...) { // no memory, or no thread
    stop();
    throw;
  }
}

WorkerPool::Crew::~Crew() { stop(); }

void WorkerPool::Crew::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::Crew::run(void (*f)(void *, int), void *c) {
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

void WorkerPool::Crew::work(int worker) {
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

WorkerPool::~WorkerPool() {
  // A crew of the parent process has no threads here to join: it is left.
  if (Crew *last = crew.load(); last && last->process == ::getpid())
    delete last;
}

WorkerPool::Crew &WorkerPool::crewOfProcess() {
  Crew *found = crew.load(std::memory_order_acquire);
  while (!found || found->process != ::getpid()) {
    auto *made = new Crew(numWorkers);
    if (crew.compare_exchange_strong(found, made))
      return *made;
    delete made;
  }
  return *found;
}

void WorkerPool::run(void (*function)(void *, int), void *context) {
  crewOfProcess().run(function, context);
}

} // namespace mla_jit
