//===- Failure.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "cuda/Error.h"
#include "mla/Target/Contained.h"

#include <optional>

namespace mla_jit {

char FailureError::ID;
void FailureError::log(llvm::raw_ostream &stream) const {
  stream << what.message;
}
std::error_code FailureError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

char UnsupportedError::ID;
UnsupportedError::UnsupportedError(Failure failure)
    : ErrorInfo(std::move(failure)) {}

llvm::Error toError(Failure failure) {
  if (failure.kind == FailureKind::Unsupported)
    return llvm::make_error<UnsupportedError>(std::move(failure));
  return llvm::make_error<FailureError>(std::move(failure));
}

llvm::Error fail(FailureKind kind, std::string message) {
  return toError({kind, std::move(message)});
}

static std::string textOf(Subject subject) {
  return llvm::formatv("{0} '{1}'", subject.kind, subject.name);
}

llvm::Error failOf(FailureKind kind, Subject subject, std::string text) {
  return toError({.kind = kind,
                  .message = textOf(subject) + " " + text,
                  .argument = std::string(subject.name)});
}

llvm::Error invalid(Subject subject, llvm::Error why) {
  return toError(
      {.message = textOf(subject) + ": " + llvm::toString(std::move(why)),
       .argument = std::string(subject.name)});
}

static FailureKind kindOf(cuda::ErrorKind kind) {
  switch (kind) {
  case cuda::ErrorKind::NoDriver:
  case cuda::ErrorKind::NoDevice:
    return FailureKind::NoDriver;
  case cuda::ErrorKind::Forked:
    return FailureKind::Forked;
  case cuda::ErrorKind::Invalid:
    return FailureKind::Invalid;
  case cuda::ErrorKind::Unsupported:
    return FailureKind::Unsupported;
  case cuda::ErrorKind::OutOfMemory:
    return FailureKind::OutOfMemory;
  case cuda::ErrorKind::Compile:
    return FailureKind::Compile;
  case cuda::ErrorKind::Capturing:
    return FailureKind::Capturing;
  case cuda::ErrorKind::DeviceLost:
    return FailureKind::DeviceLost;
  case cuda::ErrorKind::Other:
    return FailureKind::Device;
  }
  return FailureKind::Device;
}

/// The stage that a message begins with ("stage 'tile': ..."), or "".
static std::string stageOf(llvm::StringRef message) {
  if (!message.consume_front("stage '"))
    return "";
  return message.take_until([](char c) { return c == '\''; }).str();
}

/// Of one error that is no list.
static Failure describe(const llvm::ErrorInfoBase &error,
                        FailureKind otherwise) {
  if (error.isA<FailureError>()) {
    Failure failure = static_cast<const FailureError &>(error).failure();
    if (failure.stage.empty())
      failure.stage = stageOf(failure.message);
    return failure;
  }
  Failure failure{.kind = otherwise, .message = error.message()};
  failure.stage = stageOf(failure.message);
  bool isOfStage = !failure.stage.empty();
  if (error.isA<mlir::mla::OutOfMemoryError>()) {
    failure.kind = FailureKind::OutOfMemory;
  } else if (error.isA<cuda::DriverError>()) {
    const auto &driver = static_cast<const cuda::DriverError &>(error);
    failure.kind = kindOf(driver.kind());
    failure.driverCode = static_cast<int>(driver.result());
    // What a stage gave the driver is not the caller's argument.
    if (failure.kind == FailureKind::Invalid && isOfStage)
      failure.kind = FailureKind::Device;
  } else if (error.convertToErrorCode() == std::errc::timed_out) {
    failure.kind = FailureKind::Timeout;
  } else if (isOfStage) {
    failure.kind = FailureKind::Compile;
  }
  return failure;
}

Failure describeFailure(llvm::Error error, FailureKind otherwise) {
  std::optional<Failure> first;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &one) {
    if (first)
      first->message += "\n" + one.message();
    else
      first = describe(one, otherwise);
  });
  return first.value_or(Failure());
}

} // namespace mla_jit
