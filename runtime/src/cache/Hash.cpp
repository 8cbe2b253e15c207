//===- Hash.cpp - Content digests and checksums ---------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace mla_jit::cache;

//===----------------------------------------------------------------------===//
// SHA-256
//===----------------------------------------------------------------------===//

static constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void Sha256::block(const uint8_t *bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 |
           uint32_t(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           w[i - 7] + (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  int i = 0;
  // The names go round instead of the values.
  auto round = [&](uint32_t a, uint32_t b, uint32_t c, uint32_t &d, uint32_t e,
                   uint32_t f, uint32_t g, uint32_t &h) {
    h += (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
         ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    d += h;
    h += (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
         ((a & b) ^ (a & c) ^ (b & c));
    ++i;
  };
  while (i < 64) {
    round(a, b, c, d, e, f, g, h);
    round(h, a, b, c, d, e, f, g);
    round(g, h, a, b, c, d, e, f);
    round(f, g, h, a, b, c, d, e);
    round(e, f, g, h, a, b, c, d);
    round(d, e, f, g, h, a, b, c);
    round(c, d, e, f, g, h, a, b);
    round(b, c, d, e, f, g, h, a);
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (int k = 0; k < 8; ++k)
    state[k] += added[k];
}

void Sha256::update(std::string_view bytes) {
  total += bytes.size();
  while (!bytes.empty()) {
    auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
    if (numPending == 0 && bytes.size() >= pending.size()) {
      block(data);
      bytes.remove_prefix(pending.size());
      continue;
    }
    size_t taken = std::min(pending.size() - numPending, bytes.size());
    std::copy_n(data, taken, pending.data() + numPending);
    bytes.remove_prefix(taken);
    numPending += taken;
    if (numPending == pending.size()) {
      block(pending.data());
      numPending = 0;
    }
  }
}

Digest Sha256::finish() {
  uint64_t bits = total * 8;
  update(std::string_view("\x80", 1));
  while (numPending != 56)
    update(std::string_view("\0", 1));
  char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update(std::string_view(length, 8));
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest.bytes[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest mla_jit::cache::sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string Digest::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

uint64_t Digest::prefix() const {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

//===----------------------------------------------------------------------===//
// CRC-64
//===----------------------------------------------------------------------===//

/// Bytes a step, of which the effects are independent of each other.
static constexpr size_t kSlices = 16;

namespace {
/// [n][b]: the effect of byte b with n bytes behind it.
struct CrcTables {
  uint64_t of[kSlices][256];
  constexpr CrcTables() : of() {
    for (uint64_t byte = 0; byte < 256; ++byte) {
      uint64_t crc = byte;
      for (int bit = 0; bit < 8; ++bit)
        crc = crc & 1 ? crc >> 1 ^ 0xC96C5795D7870F42u : crc >> 1;
      of[0][byte] = crc;
    }
    for (size_t n = 1; n < kSlices; ++n)
      for (int byte = 0; byte < 256; ++byte)
        of[n][byte] = of[n - 1][byte] >> 8 ^ of[0][of[n - 1][byte] & 255];
  }
};
} // namespace

static constexpr CrcTables kCrc;

uint64_t mla_jit::cache::crc64(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t crc = ~uint64_t(0);
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    uint64_t low, high;
    std::memcpy(&low, bytes.data(), 8);
    std::memcpy(&high, bytes.data() + 8, 8);
    low ^= crc;
    crc = 0;
    for (int i = 0; i < 8; ++i)
      crc ^= kCrc.of[15 - i][low >> (8 * i) & 255] ^
             kCrc.of[7 - i][high >> (8 * i) & 255];
  }
  for (char byte : bytes)
    crc = crc >> 8 ^ kCrc.of[0][(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}
