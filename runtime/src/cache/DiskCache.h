//===- DiskCache.h - Compiled kernels in a directory ------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_DISKCACHE_H
#define MLA_JIT_SRC_CACHE_DISKCACHE_H

#include "File.h"
#include "Stripes.h"

#include <chrono>
#include <functional>

namespace mla_jit::cache {

enum class DiskEvent {
  Hit,
  Miss,    ///< nothing there, or not to be had, or damaged
  Damaged, ///< found, but not what was written
  Stored,
  StoreFailed, ///< disk full, read-only, larger than all that is allowed, ...
  Pruned,      ///< removed because others were used later
  PeerWait,    ///< another process was making the entry
  PeerHit,     ///< and had made it: a miss without a compilation
  PeerTimeout, ///< it took too long: made here as well
  NoLock,      ///< the file system has none: made without
  Last = NoLock
};

struct DiskOptions {
  /// Of the library whose code is cached (buildIdOf); names a subdirectory.
  std::string buildId;
  /// Of all builds together.
  uint64_t maxBytes = uint64_t(2) << 30;
  /// Writes nothing, not even the times of last use.
  bool readOnly = false;
  Trust trust = Trust::Owner;
  /// How long to wait for another process that makes the same entry.
  std::chrono::milliseconds peerWait = std::chrono::seconds(60);
  /// Told of each damaged entry, and of the first failure to store. Called
  /// without a lock, from any thread.
  std::function<void(const std::string &)> warn = nullptr;
};

/// A file of the cache.
struct StoredEntry {
  std::string path; ///< below the directory: "<build id>/<digest>.entry"
  uint64_t bytes = 0;
  int64_t lastUse = 0; ///< ns since 1970
};

/// Entries as files "<directory>/<build id>/<digest of the key>.entry". Files
/// appear whole and are never changed; any number of processes and threads may
/// use one directory, and be killed at any time. What cannot be read is a miss;
/// what cannot be written is not kept.
class DiskCache {
public:
  /// Fails if the directory is not safe (Unsafe) or cannot be had: go on
  /// without, and say so once.
  static Result<std::unique_ptr<DiskCache>> open(const std::string &directory,
                                                 DiskOptions options);

  Result<Entry> lookup(const CacheKey &key);

  /// Replaces what was there. Removes what was unused the longest where that
  /// makes too much.
  Status store(const CacheKey &key, const Entry &entry);

  /// Looks up, else makes and stores. While one process makes an entry, others
  /// that want it wait for at most `peerWait`. Fails only if `make` does.
  Result<Entry> getOrMake(const CacheKey &key,
                          const std::function<Result<Entry>()> &make);
  /// The same behind a `lookup` that found nothing.
  Result<Entry> makeMissing(const CacheKey &key,
                            const std::function<Result<Entry>()> &make);

  /// For an entry that is whole, but turned out to be of no use.
  void remove(const CacheKey &key);

  /// Keeps a text for people to read, of something that failed, in the folder
  /// "failed": the last kMostFailed. Returns its path.
  Result<std::string> keepFailed(const std::string &name,
                                 std::string_view text);
  static constexpr size_t kMostFailed = 16;

  uint64_t count(DiskEvent event) const { return counts.get(event); }

  //===--------------------------------------------------------------------===//
  // All builds. A failure is of one file: the others are seen to.
  //===--------------------------------------------------------------------===//

  /// The last used first.
  std::vector<StoredEntry> list() const;
  Result<Entry> read(const StoredEntry &stored) const;
  /// Says what is wrong with which file; changes nothing.
  std::vector<std::pair<StoredEntry, Error>> verify() const;
  /// Removes what was unused the longest until at most `maxBytes` are left, and
  /// what killed processes left behind. Returns how many entries went.
  uint64_t prune(uint64_t maxBytes);
  uint64_t clear() { return prune(0); }
  /// Removes the entries of which `isUnwanted` says so. Returns how many went.
  uint64_t removeIf(const std::function<bool(const StoredEntry &)> &isUnwanted);

private:
  DiskCache(std::string directory, File root, DiskOptions options)
      : directory(std::move(directory)), root(std::move(root)),
        options(std::move(options)) {}

  Result<Entry> readOrRemove(const CacheKey &key);
  Status write(const CacheKey &key, const Entry &entry);
  Status writeFile(const std::string &folder, const std::string &path,
                   std::string_view bytes);
  void warn(const std::string &message) const;

  std::string directory;
  File root;
  DiskOptions options;
  EventCounts<DiskEvent> counts;
  std::atomic<bool> toldOfStore = false;
};

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_DISKCACHE_H
