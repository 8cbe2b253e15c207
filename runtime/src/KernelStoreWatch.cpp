//===- KernelStoreWatch.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is a compilation to the host: allowed by the policy, counted and told
// of.
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "KernelStore.h"

namespace mla_jit {

static auto secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

llvm::Error KernelStore::watch(const KernelKeys &keys, Failure refusal,
                               Compilation compile) {
  JITPolicy now = policy;
  if (now == JITPolicy::Forbid) {
    ++forbidden;
    refusal.kind = FailureKind::Forbidden;
    refusal.message = "the policy forbids to compile, " + refusal.message;
    tell(EngineEvent::Kind::Forbidden, &keys, 0, refusal.message);
    return toError(std::move(refusal));
  }
  auto start = std::chrono::steady_clock::now();
  bool isLate = now == JITPolicy::Warn;
  return tellFailure(keys, [&] {
    auto compiled = compile();
    double seconds = secondsSince(start);
    compileNanoseconds += static_cast<uint64_t>(1e9 * seconds);
    ++(compiled ? compiles : compileFailures);
    if (compiled)
      tell(isLate ? EngineEvent::Kind::CompiledLate
                  : EngineEvent::Kind::Compiled,
           &keys, seconds,
           (isLate ? "where the policy is to have all beforehand, " : "") +
               *compiled);
    return compiled;
  });
}

llvm::Error KernelStore::tellFailure(const KernelKeys &keys,
                                     Compilation compile) {
  auto start = std::chrono::steady_clock::now();
  auto compiled = compile();
  if (compiled)
    return llvm::Error::success();
  Failure failure = describeFailure(compiled.takeError());
  tell(EngineEvent::Kind::CompileFailed, &keys, secondsSince(start),
       failure.message);
  return toError(std::move(failure));
}

} // namespace mla_jit
