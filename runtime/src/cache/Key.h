//===- Key.h - What names a cached kernel -----------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_KEY_H
#define MLA_JIT_SRC_CACHE_KEY_H

#include "Hash.h"
#include "Result.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace mla_jit::cache {

/// Everything that can change the code, as text, and its digest. The digest
/// finds an entry; the text decides whether it is the right one. Cheap to copy.
class CacheKey {
public:
  explicit CacheKey(std::string text) {
    Digest digest = sha256(text);
    data = std::make_shared<const Data>(Data{std::move(text), digest});
  }

  const std::string &text() const { return data->text; }
  const Digest &digest() const { return data->digest; }

  bool operator==(const CacheKey &other) const {
    return data == other.data ||
           (digest() == other.digest() && text() == other.text());
  }

private:
  struct Data {
    std::string text;
    Digest digest;
  };
  std::shared_ptr<const Data> data;
};

struct CacheKeyHash {
  size_t operator()(const CacheKey &key) const { return key.digest().prefix(); }
};

/// Puts named fields together: a line for each, "name length:value", in the
/// order of their names, so that no two sets of fields have the same text.
class KeyBuilder {
public:
  /// `name` consists of letters, digits, '-', '_' and '.'; `value` is free, but
  /// may not be empty: what was forgotten must not look like what is not there.
  KeyBuilder &add(std::string_view name, std::string_view value);
  /// Fails if a field was wrong or named twice.
  Result<CacheKey> build() const;

private:
  std::map<std::string, std::string, std::less<>> fields;
  std::string wrong;
};

/// The fields of a key's text, for people; none if it is no such text.
std::map<std::string, std::string, std::less<>>
fieldsOfKey(std::string_view text);

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_KEY_H
