//===- Hash.cpp - Content digests and checksums ---------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace mla_jit::cache;

Digest mla_jit::cache::sha256(std::string_view bytes) {
  return {llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes))};
}

std::string Digest::hex() const {
  return llvm::toHex(bytes, /*LowerCase=*/true);
}

uint64_t Digest::prefix() const {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

uint64_t mla_jit::cache::checksum(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::arrayRefFromStringRef(bytes));
}
