//===- Failure.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Engine.h"
#include "cuda/Error.h"
#include "mla/Target/Contained.h"

namespace mla_jit {

char FailureError::ID;
void FailureError::log(llvm::raw_ostream &stream) const {
  stream << what.message;
}
std::error_code FailureError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error fail(FailureKind kind, std::string message) {
  return llvm::make_error<FailureError>(Failure{kind, std::move(message)});
}

llvm::Error toError(Failure failure) {
  if (failure.kind == FailureKind::Unsupported)
    return llvm::make_error<UnsupportedError>(std::move(failure.message));
  return llvm::make_error<FailureError>(std::move(failure));
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

Failure describeFailure(llvm::Error error, FailureKind otherwise) {
  Failure failure;
  llvm::handleAllErrors(
      std::move(error),
      [&](const FailureError &known) { failure = known.failure(); },
      [&](const UnsupportedError &refused) {
        failure = {FailureKind::Unsupported, refused.message()};
      },
      [&](const mlir::mla::OutOfMemoryError &memory) {
        failure = {FailureKind::OutOfMemory, memory.message()};
      },
      [&](const cuda::DriverError &driver) {
        failure = {kindOf(driver.kind()), driver.message(),
                   static_cast<int>(driver.result())};
        // What a stage gave the driver is not the caller's argument.
        if (failure.kind == FailureKind::Invalid &&
            !quotedAfter(failure.message, "stage '").empty())
          failure.kind = FailureKind::Device;
      },
      [&](const llvm::ErrorInfoBase &other) {
        failure = {otherwise, other.message()};
        if (!quotedAfter(failure.message, "stage '").empty())
          failure.kind = FailureKind::Compile;
        if (quotedAfter(failure.message, "argument '") == "workspace")
          failure.kind = FailureKind::Workspace;
        if (other.convertToErrorCode() == std::errc::timed_out)
          failure.kind = FailureKind::Timeout;
      });
  return failure;
}

std::string_view quotedAfter(std::string_view message,
                             std::string_view before) {
  size_t begin = message.find(before);
  if (begin == std::string_view::npos)
    return {};
  begin += before.size();
  size_t end = message.find('\'', begin);
  return end == std::string_view::npos ? std::string_view()
                                       : message.substr(begin, end - begin);
}

} // namespace mla_jit
