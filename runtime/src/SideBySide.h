//===- SideBySide.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Threads for a piece of work, and how many there may be.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_SIDEBYSIDE_H
#define MLA_JIT_SRC_SIDEBYSIDE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mla_jit {

/// Threads that are joined with it. What a thread throws is thrown again by
/// join(), the first of it.
class ThreadGroup {
public:
  ~ThreadGroup() { joinAll(); }

  /// Starts as many as the system has room for, `count` at most; how many.
  size_t start(size_t count, llvm::function_ref<void(size_t)> body) {
    try {
      threads.reserve(count);
      for (size_t i = 0; i < count; ++i)
        threads.emplace_back([this, i, body] { run(i, body); });
    } catch (const std::exception &) {
      // No memory, or no thread: those that run do it all.
    }
    return threads.size();
  }
  void join() {
    joinAll();
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  void run(size_t i, llvm::function_ref<void(size_t)> body) {
    try {
      body(i);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!thrown)
        thrown = std::current_exception();
    }
  }
  void joinAll() {
    for (std::thread &thread : threads)
      if (thread.joinable())
        thread.join();
  }

  std::mutex mutex;
  std::exception_ptr thrown;
  std::vector<std::thread> threads;
};

/// Calls body(0) to body(count - 1) on at most `threads` threads, the calling
/// one among them, and returns when all have returned.
inline void runSideBySide(size_t count, unsigned threads,
                          llvm::function_ref<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  auto share = [&](size_t) {
    for (size_t i = next++; i < count; i = next++)
      body(i);
  };
  ThreadGroup others;
  others.start(std::max<size_t>(std::min<size_t>(count, threads), 1) - 1,
               share);
  share(0);
  others.join();
}

/// Counts the threads that work for one engine at a time, whoever asked, so
/// that together they are no more than its limit.
class ThreadBudget {
public:
  /// Threads that count until it is gone.
  class Share {
  public:
    Share(ThreadBudget &budget, size_t count) : budget(budget), count(count) {}
    Share(const Share &) = delete;
    ~Share() { budget.used -= count; }
    size_t threads() const { return count; }

  private:
    ThreadBudget &budget;
    size_t count;
  };

  /// The calling thread, and of what is free of `limit` as many more as make
  /// `most`.
  Share take(size_t limit, size_t most) {
    size_t now = used, got;
    do
      got = std::clamp<size_t>(limit > now ? limit - now : 0, 1, most);
    while (!used.compare_exchange_weak(now, now + got));
    return {*this, got};
  }

private:
  std::atomic<size_t> used = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_SIDEBYSIDE_H
