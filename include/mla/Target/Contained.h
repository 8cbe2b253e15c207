//===- Contained.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// LLVM ends the process on what it cannot compile ("cannot select", a chip that
// the PTX version does not know), and where memory ends. In a process that
// serves others that must be an error value: work that may meet it runs on a
// thread of its own, which reports the reason and then stands still for good.
// No signals, no child process.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_CONTAINED_H
#define MLA_TARGET_CONTAINED_H

#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class LLVMContext;
} // namespace llvm

namespace mlir::mla {

/// There was no memory for a contained call.
class OutOfMemoryError : public llvm::ErrorInfo<OutOfMemoryError> {
public:
  static char ID; // NOLINT(readability-identifier-naming)
  explicit OutOfMemoryError(std::string stage) : stage(std::move(stage)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string stage;
};

/// Runs `body` on a thread of its own and returns its error, or one that says
/// stage and reason if LLVM met a fatal error or `timeLimit` (0: none) passed,
/// or an OutOfMemoryError.
///
/// After any of these the thread is neither unwound nor joined: what `body`
/// owns leaks, and after a time limit it runs on until its next pass (see
/// prepareContext). From then on the end of the process waits up to 10 s for
/// threads of calls, and a shared library of this code must not be unloaded
/// (-z nodelete). So `body` must own all that it touches, or share its
/// ownership; without a time limit it may also refer to the caller's immutable
/// data. Objects of LLVM and MLIR belong inside it.
///
/// Any number of calls may be under way at once. The first call installs LLVM's
/// fatal-error handler, which LLVM has once per copy; fatal errors of threads
/// that run no contained call print and end the process as LLVM's default does,
/// and where LLVM finds no memory they get std::bad_alloc.
llvm::Error runContained(llvm::StringRef stage,
                         llvm::unique_function<llvm::Error()> body,
                         std::chrono::milliseconds timeLimit = {});

/// A contained call that its caller does not wait for at once: calls that run
/// side by side. Not waited for, it goes on by itself.
class ContainedCall {
public:
  static llvm::Expected<ContainedCall>
  start(llvm::StringRef stage, llvm::unique_function<llvm::Error()> body);
  /// To be called once; as runContained from there on.
  llvm::Error wait(std::chrono::milliseconds timeLimit = {});

private:
  struct State;
  friend struct ContainedThread;
  explicit ContainedCall(std::shared_ptr<State> state)
      : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

/// The same for a body that makes a value.
template <typename T>
llvm::Expected<T>
runContainedFor(llvm::StringRef stage,
                llvm::unique_function<llvm::Expected<T>()> body,
                std::chrono::milliseconds timeLimit = {}) {
  auto result = std::make_shared<std::optional<T>>();
  llvm::Error error = runContained(
      stage,
      [result, body = std::move(body)]() mutable -> llvm::Error {
        llvm::Expected<T> value = body();
        if (!value)
          return value.takeError();
        *result = std::move(*value);
        return llvm::Error::success();
      },
      timeLimit);
  if (error)
    return std::move(error);
  return std::move(**result);
}

/// Names what the contained call of this thread is doing, for its error; does
/// nothing outside of contained calls. Use runStage.
class ContainedStage {
public:
  explicit ContainedStage(llvm::StringRef name);
  ~ContainedStage();
  ContainedStage(const ContainedStage &) = delete;
  ContainedStage &operator=(const ContainedStage &) = delete;

private:
  std::string previous;
};

/// The error with the stage before its text, as a fatal error has it, and its
/// code (std::errc::timed_out of a time limit).
llvm::Error inStage(llvm::StringRef stage, llvm::Error error);

/// Runs `body`, which returns an llvm::Expected, as a named stage: both an
/// error that it returns and a fatal error inside it name the stage.
template <typename Body>
auto runStage(llvm::StringRef name, Body &&body) -> decltype(body()) {
  ContainedStage stage(name);
  decltype(body()) result = body();
  if (!result)
    return inStage(name, result.takeError());
  return result;
}

/// Lets errors that LLVM reports through `context` be taken with
/// takeDiagnostics, where by default they end the process, and lets a thread
/// whose time is over stand still between two passes.
void prepareContext(llvm::LLVMContext &context);

/// The errors reported through `context` since the last call, as one error.
llvm::Error takeDiagnostics(llvm::LLVMContext &context);

/// Does not return on a thread whose contained call is over.
void standStillIfAbandoned();

/// Threads that stand still, or run although their time is over.
unsigned numAbandonedThreads();

} // namespace mlir::mla

#endif // MLA_TARGET_CONTAINED_H
