//===- Archive.h - Compiled kernels ahead of time, in one file --*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_ARCHIVE_H
#define MLA_JIT_SRC_CACHE_ARCHIVE_H

#include "File.h"
#include "Stripes.h"

#include <optional>

namespace mla_jit::cache {

/// Where an archive has an entry.
struct ArchivePlace {
  Digest key;
  uint64_t offset, bytes;
};

/// Writes an archive; the same entries in the same order give the same bytes:
///
///   head:    "mlaarchv", u32 version
///   entries: as in their own files, without gaps
///   index:   text build id, u32 entries,
///            for each: its key's digest, u64 offset, u64 bytes
///   tail:    u64 offset of the index, u64 its bytes,
///            u64 checksum of the index and the two numbers
class ArchiveBuilder {
public:
  static Result<ArchiveBuilder> create(const std::string &path,
                                       std::string buildId);
  /// Requires an entry of this build, and each key once.
  Status append(const Entry &entry);
  /// The archive appears under its name, whole, in place of what was there.
  /// Without, nothing does.
  Status finish();

private:
  ArchiveBuilder(NewFile file, std::string buildId)
      : file(std::move(file)), buildId(std::move(buildId)) {}

  NewFile file;
  std::string buildId;
  uint64_t offset = 0;
  std::vector<ArchivePlace> places;
};

enum class ArchiveEvent { Hit, Miss, Damaged, Last = Damaged };

/// Reads an archive; never writes anything. Its index is verified when it is
/// opened, an entry each time it is looked up. Thread-safe.
class Archive {
public:
  /// With `pin`, requires the whole file to have that SHA-256, and keeps what
  /// was hashed in memory: a later change of the file changes nothing.
  static Result<std::unique_ptr<Archive>> open(const std::string &path,
                                               const Digest *pin = nullptr);

  /// Absent, or Damaged with the reason: a miss of this entry alone.
  Result<Entry> lookup(const CacheKey &key);

  const std::string &buildId() const { return build; }
  size_t size() const { return places.size(); }
  /// The entries in the order of their digests, for tools.
  Result<Entry> read(size_t i) const;

  uint64_t count(ArchiveEvent event) const { return counts.get(event); }

private:
  Archive() = default;
  Result<SharedBytes> bytesAt(uint64_t offset, uint64_t size) const;
  Status readIndex();
  Result<Entry> readPlace(const ArchivePlace &place) const;

  File file;
  uint64_t fileBytes = 0;
  SharedBytes pinned; // all of the file, if it was pinned
  std::string build;
  std::vector<ArchivePlace> places; // in the order of their keys
  EventCounts<ArchiveEvent> counts;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_ARCHIVE_H
