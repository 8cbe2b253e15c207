//===- Status.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

#include <new>
#include <system_error>

namespace mla_jit::capi {

static mla_code codeOf(FailureKind kind) {
  switch (kind) {
  case FailureKind::Invalid:
    return MLA_E_INVALID;
  case FailureKind::Unsupported:
    return MLA_E_UNSUPPORTED;
  case FailureKind::Forbidden:
    return MLA_E_FORBIDDEN;
  case FailureKind::NotFound:
    return MLA_E_NOT_FOUND;
  case FailureKind::Compile:
    return MLA_E_COMPILE;
  case FailureKind::Timeout:
    return MLA_E_TIMEOUT;
  case FailureKind::Workspace:
    return MLA_E_WORKSPACE;
  case FailureKind::Version:
    return MLA_E_VERSION;
  case FailureKind::Capturing:
    return MLA_E_CAPTURING;
  case FailureKind::NoDriver:
    return MLA_E_NO_DRIVER;
  case FailureKind::Device:
    return MLA_E_DEVICE;
  case FailureKind::DeviceLost:
    return MLA_E_DEVICE_LOST;
  case FailureKind::OutOfMemory:
    return MLA_E_OOM;
  case FailureKind::Forked:
    return MLA_E_FORKED;
  case FailureKind::Archive:
    return MLA_E_ARCHIVE;
  }
  return MLA_E_INVALID;
}

mla_code report(mla_status *status, const Failure &failure) {
  mla_code code = codeOf(failure.kind);
  if (!status || status->size < kFirstBytes<mla_status>)
    return code;
  mla_status told = {};
  told.code = code;
  told.driver_code = failure.driverCode;
  copyInto(told.stage, failure.stage);
  copyInto(told.argument, failure.argument);
  copyInto(told.message, failure.message);
  copyInto(told.dump_path, failure.dumpPath);
  writeStruct(status, told);
  return code;
}

mla_code report(mla_status *status, llvm::Error error) {
  return error ? report(status, describeFailure(std::move(error)))
               : succeed(status);
}

mla_code reportException(mla_status *status) noexcept {
  mla_code code = MLA_E_OOM;
  const char *message = "requires more memory than there is";
  try {
    throw;
  } catch (const std::bad_alloc &) {
  } catch (const std::system_error &) {
    message = "requires a thread, but the system has none left";
  } catch (...) {
    code = MLA_E_INVALID;
    message = "a function of the host's requires to throw nothing, but did";
  }
  if (status && status->size >= kFirstBytes<mla_status>) {
    mla_status told = {};
    told.code = code;
    copyInto(told.message, message);
    writeStruct(status, told);
  }
  return code;
}

mla_code succeed(mla_status *status) {
  if (status && status->size >= kFirstBytes<mla_status>) {
    mla_status none = {};
    writeStruct(status, none);
  }
  return MLA_OK;
}

llvm::Error require(const void *pointer, const char *name) {
  if (pointer)
    return llvm::Error::success();
  return invalid(ofArgument(name), "requires a pointer, but got null");
}

llvm::Error
requireCounts(std::initializer_list<std::pair<const char *, int64_t>> numbers) {
  for (auto [name, number] : numbers)
    if (number < 0)
      return invalid(ofArgument(name), "requires at least 0, but got {0}",
                     number);
  return llvm::Error::success();
}

llvm::Error checkSize(const void *pointer, const char *name, size_t least) {
  if (llvm::Error error = require(pointer, name))
    return error;
  uint32_t size;
  std::memcpy(&size, pointer, sizeof(size));
  if (size >= least && size <= kMaxStructBytes)
    return llvm::Error::success();
  return fail(FailureKind::Version, ofArgument(name),
              "requires a size of {0} to {1} (MLA_INIT sets it), but got {2}",
              least, kMaxStructBytes, size);
}

llvm::Error copyText(std::string_view content, char *text, size_t *bytes) {
  if (llvm::Error error = require(bytes, "bytes"))
    return error;
  size_t room = *bytes;
  *bytes = content.size() + 1;
  if (!text)
    return llvm::Error::success();
  if (room < *bytes)
    return invalid(ofArgument("bytes"), "requires {0}, but got {1}", *bytes,
                   room);
  content.copy(text, content.size());
  text[content.size()] = '\0';
  return llvm::Error::success();
}

} // namespace mla_jit::capi

extern "C" const char *mla_code_name(int32_t code) {
  static constexpr const char *kNames[] = {
      "MLA_OK",          "MLA_E_INVALID",   "MLA_E_UNSUPPORTED",
      "MLA_E_FORBIDDEN", "MLA_E_CAPTURING", "MLA_E_COMPILE",
      "MLA_E_TIMEOUT",   "MLA_E_WORKSPACE", "MLA_E_VERSION",
      "MLA_E_NO_DRIVER", "MLA_E_DEVICE",    "MLA_E_DEVICE_LOST",
      "MLA_E_OOM",       "MLA_E_FORKED",    "MLA_E_ARCHIVE",
      "MLA_E_NOT_FOUND"};
  return code >= 0 && code <= MLA_E_NOT_FOUND ? kNames[code] : "unknown";
}

extern "C" uint32_t mla_version(void) { return MLA_VERSION; }
