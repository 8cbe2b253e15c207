//===- Hash.h - Content digests and checksums -------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_HASH_H
#define MLA_JIT_SRC_CACHE_HASH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mla_jit::cache {

/// A SHA-256 value.
struct Digest {
  std::array<uint8_t, 32> bytes = {};

  std::string hex() const;
  /// The first 64 bits: as good as any other hash of the content.
  uint64_t prefix() const;
  auto operator<=>(const Digest &) const = default;
};

/// Names content.
Digest sha256(std::string_view bytes);

/// XXH3-64: finds damage, as fast as memory is read. No defence against an
/// author of wrong bytes.
uint64_t checksum(std::string_view bytes);

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_HASH_H
