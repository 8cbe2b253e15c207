//===- FakeCudaCalls.h ------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TEST_UNIT_FAKECUDACALLS_H
#define MLA_JIT_TEST_UNIT_FAKECUDACALLS_H

#include "FakeCuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace fake_driver {
using namespace mla_jit::cuda;

#define MLA_FAKE_DECLARE(field, name, version, parameters)                     \
  Result field parameters;
MLA_CUDA_REQUIRED_FUNCTIONS(MLA_FAKE_DECLARE)
MLA_CUDA_OPTIONAL_FUNCTIONS(MLA_FAKE_DECLARE)
#undef MLA_FAKE_DECLARE

extern FakeCuda &state;
extern thread_local std::vector<ContextHandle> contextStack;
extern thread_local CaptureMode captureMode;

/// Tells the test of a call from its begin to its end.
struct Inside {
  Inside() {
    if (state.onCall)
      state.onCall(true);
  }
  Inside(const Inside &) = delete;
  ~Inside() {
    if (state.onCall)
      state.onCall(false);
  }
};
/// Counts a call and gives the failure that a test asked for.
Result begin(const char *name, bool needsContext);
/// How calls begin that a global capture forbids all threads but relaxed ones:
/// they fail, and break it.
Result beginUnsafe(const char *name, bool needsContext);

/// Takes device memory, if there is as much.
inline bool takeMemory(size_t bytes) {
  if (bytes > state.memoryBytes / 2 - state.usedBytes)
    return false;
  state.usedBytes += bytes;
  return true;
}
inline constexpr size_t kLibraryBytes = 64 << 10, kGraphBytes = 96 << 10;

/// A kernel in a graph.
struct GraphLaunch {
  DriverLaunchConfig config;
  std::vector<LaunchAttribute> attributes;
  FunctionHandle function;
  std::vector<uint64_t> parameters;
};
std::vector<uint64_t> readParameters(FunctionHandle function,
                                     void **parameters);
/// Adds to the graph if the stream is being captured.
bool capture(const DriverLaunchConfig &config, FunctionHandle function,
             const std::vector<uint64_t> &parameters);
void start(GraphLaunch launch);

template <typename Handle, typename T> Handle handle(T *object) {
  return reinterpret_cast<Handle>(object);
}

/// As much of the text as fits, and a zero.
inline void write(char *to, size_t bytes, const std::string &text) {
  if (!to || !bytes)
    return;
  size_t length = std::min(bytes - 1, text.size());
  memcpy(to, text.data(), length);
  to[length] = 0;
}
} // namespace fake_driver

/// How a call begins; the second where a context has to be current.
#define FAKE(name)                                                             \
  Inside inside;                                                               \
  std::lock_guard lock(state.mutex);                                           \
  FakeCuda &fake = state;                                                      \
  if (Result failure = begin(#name, false))                                    \
    return failure;                                                            \
  (void)fake
#define FAKE_UNSAFE(name)                                                      \
  Inside inside;                                                               \
  std::lock_guard lock(state.mutex);                                           \
  FakeCuda &fake = state;                                                      \
  if (Result failure = beginUnsafe(#name, false))                              \
    return failure;                                                            \
  (void)fake
#define FAKE_UNSAFE_IN_CONTEXT(name)                                           \
  Inside inside;                                                               \
  std::lock_guard lock(state.mutex);                                           \
  FakeCuda &fake = state;                                                      \
  if (Result failure = beginUnsafe(#name, true))                               \
    return failure;                                                            \
  (void)fake
#define FAKE_IN_CONTEXT(name)                                                  \
  Inside inside;                                                               \
  std::lock_guard lock(state.mutex);                                           \
  FakeCuda &fake = state;                                                      \
  if (Result failure = begin(#name, true))                                     \
    return failure;                                                            \
  (void)fake

#endif // MLA_JIT_TEST_UNIT_FAKECUDACALLS_H
