//===- Error.cpp - What the driver's status codes mean --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mla_jit::cuda;

char DriverError::ID = 0;

void DriverError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code DriverError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error mla_jit::cuda::refuse(ErrorKind kind, llvm::StringRef call,
                                  const llvm::Twine &required,
                                  const llvm::Twine &given) {
  return llvm::make_error<DriverError>(
      kind, Success,
      (call + " requires " + required + ", but got " + given).str());
}

llvm::Error mla_jit::cuda::inStage(llvm::StringRef stage, llvm::Error error) {
  auto named = [&](const std::string &text) {
    return ("stage '" + stage + "': " + text).str();
  };
  return llvm::handleErrors(
      std::move(error),
      [&](const DriverError &driver) {
        return llvm::make_error<DriverError>(driver.kind(), driver.result(),
                                             named(driver.message()));
      },
      [&](const llvm::ErrorInfoBase &other) {
        return llvm::createStringError(named(other.message()));
      });
}

llvm::StringRef mla_jit::cuda::toString(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::NoDriver:
    return "no driver";
  case ErrorKind::NoDevice:
    return "no device";
  case ErrorKind::Forked:
    return "forked";
  case ErrorKind::Invalid:
    return "invalid";
  case ErrorKind::Unsupported:
    return "unsupported";
  case ErrorKind::OutOfMemory:
    return "out of memory";
  case ErrorKind::Compile:
    return "compile";
  case ErrorKind::Capturing:
    return "capturing";
  case ErrorKind::DeviceLost:
    return "device lost";
  case ErrorKind::Other:
    return "other";
  }
  return "other";
}

ErrorKind mla_jit::cuda::classify(Result result) {
  if (result >= CaptureUnsupported && result <= CaptureWrongThread)
    return ErrorKind::Capturing;
  switch (result) {
  case OutOfMemory:
    return ErrorKind::OutOfMemory;
  case NotInitialized:
  case Deinitialized:
  case StubLibrary:
  case SystemDriverMismatch:
    return ErrorKind::NoDriver;
  case NoDevice:
  case InvalidDevice:
    return ErrorKind::NoDevice;
  case InvalidImage:
  case NoBinaryForGPU:
  case InvalidPTX:
  case JITCompilerNotFound:
  case UnsupportedPTXVersion:
  case JITCompilationDisabled:
  case InvalidSource:
    return ErrorKind::Compile;
  case InvalidValue:
  case InvalidContext:
  case InvalidHandle:
  case NotFound:
  case LaunchOutOfResources:
  case InvalidClusterSize:
    return ErrorKind::Invalid;
  case NotSupported:
    return ErrorKind::Unsupported;
  // The driver's documentation says of these that the process has to be
  // started again, or that the context is gone.
  case EccUncorrectable:
  case NVLinkUncorrectable:
  case Contained:
  case IllegalAddress:
  case LaunchTimeout:
  case ContextIsDestroyed:
  case DeviceAssert:
  case HardwareStackError:
  case IllegalInstruction:
  case MisalignedAddress:
  case InvalidAddressSpace:
  case InvalidPC:
  case LaunchFailed:
  case TensorMemoryLeak:
  case MPSClientTerminated:
  case ExternalDevice:
    return ErrorKind::DeviceLost;
  default:
    return ErrorKind::Other;
  }
}

ErrorKind mla_jit::cuda::classifyAssembly(Result result) {
  ErrorKind kind = classify(result);
  bool isOther = kind == ErrorKind::DeviceLost ||
                 kind == ErrorKind::OutOfMemory ||
                 kind == ErrorKind::Capturing || kind == ErrorKind::NoDriver;
  return isOther ? kind : ErrorKind::Compile;
}
