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

/// SHA-256 (FIPS 180-4): names content.
class Sha256 {
public:
  void update(std::string_view bytes);
  Digest finish();

private:
  void block(const uint8_t *bytes);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending;
  size_t numPending = 0;
  uint64_t total = 0;
};

Digest sha256(std::string_view bytes);

/// CRC-64/XZ: finds damage, ten times as fast. No defence against an
/// author of wrong bytes.
uint64_t crc64(std::string_view bytes);

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_HASH_H
