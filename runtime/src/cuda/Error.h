//===- Error.h --------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_ERROR_H
#define MLA_JIT_SRC_CUDA_ERROR_H

#include "DriverAPI.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mla_jit::cuda {

/// What a caller can do about an error.
enum class ErrorKind {
  NoDriver,    ///< no library, too old, or its initialisation failed
  NoDevice,    ///< a driver, but no device of that number
  Forked,      ///< a handle of the parent process, used in a child
  Invalid,     ///< an argument is wrong; nothing was done
  Unsupported, ///< the device cannot do it
  OutOfMemory,
  Compile,    ///< PTX or an image was refused; the log is in the message
  Capturing,  ///< illegal while a stream is being captured
  DeviceLost, ///< sticky: every later call in this context fails as well
  Other,
};
/// "no driver", "device lost", ...
llvm::StringRef toString(ErrorKind kind);

/// What the driver's status code means.
ErrorKind classify(Result result);
/// The same where PTX was being assembled, of which failures come with many
/// codes: Compile, unless device, memory or capture are the reason.
ErrorKind classifyAssembly(Result result);

/// An error of a call to the driver, or of a check before one.
class DriverError : public llvm::ErrorInfo<DriverError> {
public:
  static char ID;
  /// `result` is Success where the driver was not asked.
  DriverError(ErrorKind kind, Result result, std::string message)
      : errorKind(kind), code(result), text(std::move(message)) {}

  ErrorKind kind() const { return errorKind; }
  /// The driver's own number.
  Result result() const { return code; }
  std::string message() const override { return text; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  ErrorKind errorKind;
  Result code;
  std::string text;
};

/// An error found on the host: "<call> requires <required>, but got <given>".
llvm::Error refuse(ErrorKind kind, llvm::StringRef call,
                   const llvm::Twine &required, const llvm::Twine &given);

/// The error with the stage before its text, of the same kind.
llvm::Error inStage(llvm::StringRef stage, llvm::Error error);

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_ERROR_H
