//===- Result.h - A value or an error ---------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_RESULT_H
#define MLA_JIT_SRC_CACHE_RESULT_H

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mla_jit::cache {

enum class ErrorKind {
  Invalid,  ///< an argument is wrong; nothing was done
  Absent,   ///< no such entry, file or directory
  Damaged,  ///< bytes that are not what was written, or of another format
  Unsafe,   ///< a directory that somebody else could write to
  System,   ///< the operating system refused: `code` is its errno
  Busy,     ///< another thread takes long to make it
  NoMemory, ///< the thread that made a value found none
  Failed,   ///< the caller's own computation failed
};

struct Error {
  ErrorKind kind = ErrorKind::Failed;
  std::string message;
  int code = 0; ///< errno of System
  /// Failed: the caller's own description, handed on as it is.
  std::shared_ptr<const void> cause = nullptr;
};

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  const Error &error() const { return *std::get_if<1>(&state); }

private:
  std::variant<T, Error> state;
};

/// Success or an error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure; }
  const Error &error() const { return *failure; }

private:
  std::optional<Error> failure;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_RESULT_H
