//===- Failure.h ------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An error as a value that can be copied: what the cache hands to all who wait
// for one compilation, and what the C interface reports.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_FAILURE_H
#define MLA_JIT_SRC_FAILURE_H

#include "llvm/Support/Error.h"

#include <string>

namespace mla_jit {

enum class FailureKind {
  Invalid,     ///< an argument, or a field of a spec
  Unsupported, ///< can be said, but the target has no kernel for it
  Forbidden,   ///< the policy lets nothing be compiled
  NotFound,    ///< of a look-up
  Compile,     ///< a stage of the compiler, or the assembler
  Timeout,
  Workspace, ///< too small, or badly aligned
  Version,   ///< a struct of an older or newer header
  Capturing, ///< illegal while a stream is being captured
  NoDriver,
  Device,
  DeviceLost,
  OutOfMemory,
  Forked, ///< a handle with device state of the parent process
  Archive,
};

struct Failure {
  FailureKind kind = FailureKind::Invalid;
  std::string message;
  int driverCode = 0;
  std::string dumpPath = {}; ///< of what the stage that failed was given
};

/// A Failure on its way through functions that return llvm::Error.
class FailureError : public llvm::ErrorInfo<FailureError> {
public:
  static char ID; // NOLINT(readability-identifier-naming)
  explicit FailureError(Failure failure) : what(std::move(failure)) {}
  const Failure &failure() const { return what; }
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  Failure what;
};

llvm::Error fail(FailureKind kind, std::string message);
/// What describeFailure took apart: an UnsupportedError is one again.
llvm::Error toError(Failure failure);

/// Takes an error apart. One that says nothing of its kind is of `otherwise`,
/// or of Compile if its message begins with a stage.
Failure describeFailure(llvm::Error error,
                        FailureKind otherwise = FailureKind::Invalid);

/// What stands in quotes behind `before` in a message ("argument '", "stage
/// '"), or "": messages of the project name what they are about that way.
std::string_view quotedAfter(std::string_view message, std::string_view before);

} // namespace mla_jit

#endif // MLA_JIT_SRC_FAILURE_H
