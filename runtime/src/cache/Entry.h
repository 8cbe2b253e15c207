//===- Entry.h - One compiled kernel, as it is cached -----------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_ENTRY_H
#define MLA_JIT_SRC_CACHE_ENTRY_H

#include "Key.h"
#include "Result.h"

#include <optional>
#include <span>
#include <vector>

namespace mla_jit::cache {

/// Bytes that somebody keeps alive.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::string_view view;

  SharedBytes() = default;
  explicit SharedBytes(std::string bytes) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    view = *kept;
    owner = std::move(kept);
  }
  SharedBytes slice(size_t offset, size_t size) const {
    SharedBytes part = *this;
    part.view = view.substr(offset, size);
    return part;
  }
};

struct Section {
  std::string_view name;
  std::string_view content;
};

/// An immutable set of named sections (the IR of each stage, "cubin",
/// "metadata") with the key and the build that it belongs to. Copies share
/// their bytes. In a file or an archive:
///
///   head:     "mlaentry", u32 version, u32 bytes of the head, u64 bytes of
///   all,
///             text key, text build id, u32 sections,
///             for each: text name, u64 bytes, u64 checksum of its content,
///             u64 checksum of the head up to here
///   contents: of the sections, in this order, without gaps
class Entry {
public:
  static constexpr uint32_t kVersion = 2;
  /// What claims to be larger is taken for damage.
  static constexpr uint64_t kMaxBytes = uint64_t(1) << 28;

  /// Section names must differ from each other.
  static Result<Entry> make(const CacheKey &key, std::string_view buildId,
                            std::span<const Section> sections);
  /// Verifies every byte.
  static Result<Entry> fromBytes(SharedBytes bytes);

  std::string_view keyText() const { return data->key; }
  std::string_view buildId() const { return data->buildId; }
  std::span<const Section> sections() const { return data->sections; }
  /// The content of that section, if there is one.
  std::optional<std::string_view> section(std::string_view name) const;
  std::string_view bytes() const { return data->bytes.view; }

private:
  struct Data {
    SharedBytes bytes; // what all views point into
    std::string_view key, buildId;
    std::vector<Section> sections;
  };
  explicit Entry(std::shared_ptr<const Data> data) : data(std::move(data)) {}
  std::shared_ptr<const Data> data;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_ENTRY_H
