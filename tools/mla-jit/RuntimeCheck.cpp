//===- RuntimeCheck.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCheck.h"

using llvm::Twine;

namespace mla_jit {

bool Check::ok() const {
  std::lock_guard lock(mutex);
  return result == Outcome::Right;
}

void Check::fail(const Twine &what) {
  std::lock_guard lock(mutex);
  if (result != Outcome::Right)
    return;
  result = Outcome::Wrong;
  message = what.str();
}

void Check::skip(const Twine &why) {
  std::lock_guard lock(mutex);
  if (result != Outcome::Right)
    return;
  result = Outcome::Skipped;
  message = why.str();
}

void Check::note(const Twine &what) {
  std::lock_guard lock(mutex);
  if (result == Outcome::Right)
    message += (message.empty() ? "" : "; ") + what.str();
}

bool Check::require(bool holds, const Twine &what) {
  if (!holds)
    fail(what);
  return holds;
}

bool Check::require(llvm::Error error) {
  if (!error)
    return true;
  fail(llvm::toString(std::move(error)));
  return false;
}

bool Check::require(const mla::Status &status, const Twine &what) {
  return requireCode(status, MLA_OK, what);
}

bool Check::requireCode(const mla::Status &status, mla_code code,
                        const Twine &what) {
  return require(status.code() == code,
                 what + ": requires " + mla_code_name(code) + ", but got " +
                     mla_code_name(status.code()) +
                     (status ? "" : std::string(": ") + status.message()));
}

} // namespace mla_jit
