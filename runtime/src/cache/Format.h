//===- Format.h - Bytes of the file formats ---------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Little-endian integers, and text as its length and bytes. A reader never goes
// past its end and never trusts a length; whether all was there is asked once.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_FORMAT_H
#define MLA_JIT_SRC_CACHE_FORMAT_H

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mla_jit::cache {

static_assert(std::endian::native == std::endian::little);

/// Letters, digits, '-', '_' and '.', the first no dot; 1 to 128 of them. Safe
/// as the name of a file.
constexpr bool isPlainName(std::string_view name) {
  for (char c : name) {
    bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!isPlain)
      return false;
  }
  return !name.empty() && name.size() <= 128 && name.front() != '.';
}

class FormatWriter {
public:
  void raw(std::string_view bytes) { out += bytes; }
  void u32(uint32_t value) { number(value); }
  void u64(uint64_t value) { number(value); }
  void text(std::string_view value) {
    u32(static_cast<uint32_t>(value.size()));
    out += value;
  }

  std::string out;

private:
  template <typename T> void number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
};

class FormatReader {
public:
  explicit FormatReader(std::string_view bytes) : rest(bytes) {}

  std::string_view raw(size_t size) {
    if (size > rest.size()) {
      complete = false;
      rest = {};
      return {};
    }
    std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
  }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  std::string_view text() { return raw(u32()); }

  /// Everything so far was there.
  bool ok() const { return complete; }
  bool atEnd() const { return complete && rest.empty(); }

private:
  template <typename T> T number() {
    T value = 0;
    std::string_view bytes = raw(sizeof(T));
    bytes.copy(reinterpret_cast<char *>(&value), sizeof(T)); // or of nothing
    return value;
  }

  std::string_view rest;
  bool complete = true;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_FORMAT_H
