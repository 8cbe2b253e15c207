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
#include "llvm/Support/FormatVariadic.h"

#include <string>
#include <string_view>
#include <utility>

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
  std::string message = {};
  int driverCode = 0;
  std::string dumpPath = {}; ///< of what the stage that failed was given
  std::string argument = {}; ///< name of a Subject, or empty
  std::string stage = {};    ///< of a compilation, or empty
};

/// A Failure on its way through functions that return llvm::Error.
class FailureError : public llvm::ErrorInfo<FailureError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): the name that
                  // llvm::ErrorInfo asks for
  explicit FailureError(Failure failure) : what(std::move(failure)) {}
  const Failure &failure() const { return what; }
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  Failure what;
};

/// The error of a spec that can be said but that the target has no kernel for,
/// and of tensors that a kernel cannot take for how they lie in memory.
class UnsupportedError
    : public llvm::ErrorInfo<UnsupportedError, FailureError> {
public:
  static char ID; // NOLINT(readability-identifier-naming)
  explicit UnsupportedError(Failure failure);
  explicit UnsupportedError(std::string message)
      : UnsupportedError(
            Failure{FailureKind::Unsupported, std::move(message)}) {}
};

/// The failure as an error: an UnsupportedError if it is of that kind.
llvm::Error toError(Failure failure);
llvm::Error fail(FailureKind kind, std::string message);

/// Takes an error apart. One that says nothing of its kind is of `otherwise`,
/// or of Compile if its message begins with a stage: what compiles knows its
/// stage as text alone. Of several errors the first counts, with the messages
/// of all.
Failure describeFailure(llvm::Error error,
                        FailureKind otherwise = FailureKind::Invalid);

//===----------------------------------------------------------------------===//
// Failures that name what is wrong
//===----------------------------------------------------------------------===//

/// What the caller gave that is wrong: "argument 'q'".
struct Subject {
  std::string_view kind, name;
};
/// Of a function, or of a launch.
inline Subject ofArgument(std::string_view name) { return {"argument", name}; }
/// A field of a spec.
inline Subject ofSpec(std::string_view name) { return {"spec", name}; }
/// Of an engine.
inline Subject ofOption(std::string_view name) { return {"option", name}; }

/// Message: the subject, and `text` behind it.
llvm::Error failOf(FailureKind kind, Subject subject, std::string text);

/// The message goes on "requires ..., but got ...", a format of llvm::formatv.
template <typename... Ts>
llvm::Error fail(FailureKind kind, Subject subject, const char *format,
                 Ts &&...values) {
  return failOf(kind, subject,
                llvm::formatv(format, std::forward<Ts>(values)...).str());
}
template <typename... Ts>
llvm::Error invalid(Subject subject, const char *format, Ts &&...values) {
  return fail(FailureKind::Invalid, subject, format,
              std::forward<Ts>(values)...);
}
template <typename... Ts>
llvm::Error unsupported(Subject subject, const char *format, Ts &&...values) {
  return fail(FailureKind::Unsupported, subject, format,
              std::forward<Ts>(values)...);
}
/// The subject, and why it is wrong: "option 'target': ...".
llvm::Error invalid(Subject subject, llvm::Error why);

} // namespace mla_jit

#endif // MLA_JIT_SRC_FAILURE_H
