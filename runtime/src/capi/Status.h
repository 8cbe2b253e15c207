//===- Status.h -------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// How failures leave the C interface, and structs with a size cross it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_STATUS_H
#define MLA_JIT_SRC_CAPI_STATUS_H

#include "../Failure.h"
#include "mla_jit/mla_jit.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace mla_jit::capi {

/// Fills in `status` (may be null) and returns its code.
mla_code report(mla_status *status, const Failure &failure);
mla_code report(mla_status *status, llvm::Error error);
mla_code succeed(mla_status *status);
/// Of the exception that is being handled: a lack of memory or threads, in
/// words that need no memory. Functions of the interface end in it: code is
/// without exceptions of its own, but allocates.
mla_code reportException(mla_status *status) noexcept;

/// An error if a parameter is null.
llvm::Error require(const void *pointer, const char *name);
/// An error that names the first of some numbers that is below 0.
llvm::Error
requireCounts(std::initializer_list<std::pair<const char *, int64_t>> numbers);

/// What a buffer of text needs: *bytes becomes what `content` takes with a 0
/// behind it; copies it where `text` is not null.
llvm::Error copyText(std::string_view content, char *text, size_t *bytes);

/// Copies into an array of a struct, cut at its end.
template <size_t N> void copyInto(char (&to)[N], std::string_view text) {
  size_t length = std::min(text.size(), N - 1);
  text.copy(to, length);
  to[length] = '\0';
}

/// The size of a struct in the first header, which every caller's has. Whoever
/// adds a field gives that here: what is missing of a smaller struct is 0.
template <typename T> inline constexpr size_t kFirstBytes = sizeof(T);
template <>
inline constexpr size_t kFirstBytes<mla_status> =
    offsetof(mla_status, dump_path);
template <>
inline constexpr size_t kFirstBytes<mla_engine_options> =
    offsetof(mla_engine_options, self_check);
/// Structs of later headers are no larger than this.
inline constexpr uint32_t kMaxStructBytes = 1 << 16;

llvm::Error checkSize(const void *pointer, const char *name, size_t least);
/// An error if the caller's struct is null or smaller than the first version.
template <typename T>
llvm::Error checkStruct(const T *given, const char *name) {
  return checkSize(given, name, kFirstBytes<T>);
}

/// The caller's struct; an error if it is null, smaller than the first version,
/// or has something in what this version does not know.
template <typename T>
llvm::Expected<T> readStruct(const T *given, const char *name) {
  if (llvm::Error error = checkStruct(given, name))
    return std::move(error);
  const char *bytes = reinterpret_cast<const char *>(given);
  size_t known = std::min<size_t>(given->size, sizeof(T));
  if (std::any_of(bytes + known, bytes + given->size,
                  [](char byte) { return byte != 0; }))
    return fail(FailureKind::Version, ofArgument(name),
                "requires zeroes behind the {0} bytes that this library knows, "
                "but a field of a newer header is set",
                sizeof(T));
  T copy = {};
  std::memcpy(&copy, given, known);
  copy.size = sizeof(T);
  return copy;
}

/// Writes what the caller's struct has room for, but the size.
template <typename T> void writeStruct(T *to, T value) {
  value.size = to->size;
  std::memcpy(to, &value, std::min<size_t>(to->size, sizeof(T)));
}

} // namespace mla_jit::capi

#endif // MLA_JIT_SRC_CAPI_STATUS_H
