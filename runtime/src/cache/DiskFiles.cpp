//===- DiskFiles.cpp - Looks after all files of a disk cache --------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiskCache.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mla_jit::cache;

/// A writer that has not published for so long is dead.
static constexpr int64_t kStaleSeconds = 300;

/// The names in a directory below `root`; none where it cannot be read.
static std::vector<std::string> namesIn(int root, const std::string &path) {
  std::vector<std::string> names;
  int fd = ::openat(root, path.c_str(),
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (!directory) {
    File closed(fd);
    return names;
  }
  while (const dirent *item = ::readdir(directory))
    if (std::string name = item->d_name; name != "." && name != "..")
      names.push_back(std::move(name));
  ::closedir(directory);
  return names;
}

namespace {
struct Files {
  std::vector<StoredEntry> entries;   // the last used first
  std::vector<StoredEntry> temporary; // of writers, alive or dead
  std::vector<std::string> builds;
};
} // namespace

static Files findFiles(int root) {
  Files files;
  for (std::string &build : namesIn(root, ".")) {
    struct stat status;
    if (::fstatat(root, build.c_str(), &status, AT_SYMLINK_NOFOLLOW) ||
        !S_ISDIR(status.st_mode))
      continue;
    for (const std::string &name : namesIn(root, build)) {
      StoredEntry stored;
      stored.path.append(build).append("/").append(name);
      if (::fstatat(root, stored.path.c_str(), &status, AT_SYMLINK_NOFOLLOW) ||
          S_ISDIR(status.st_mode))
        continue;
      stored.bytes = status.st_size;
      stored.lastUse =
          status.st_mtim.tv_sec * int64_t(1000000000) + status.st_mtim.tv_nsec;
      if (NewFile::isTemporary(name))
        files.temporary.push_back(std::move(stored));
      else if (name.ends_with(".entry"))
        files.entries.push_back(std::move(stored));
    }
    files.builds.push_back(std::move(build));
  }
  std::sort(files.entries.begin(), files.entries.end(),
            [](const StoredEntry &a, const StoredEntry &b) {
              return a.lastUse != b.lastUse ? a.lastUse > b.lastUse
                                            : a.path < b.path;
            });
  return files;
}

std::vector<StoredEntry> DiskCache::list() const {
  return findFiles(root.get()).entries;
}

std::vector<std::pair<StoredEntry, Error>> DiskCache::verify() const {
  std::vector<std::pair<StoredEntry, Error>> wrong;
  for (const StoredEntry &stored : list()) {
    Result<Entry> entry = read(stored);
    if (!entry && entry.error().kind != ErrorKind::Absent)
      wrong.emplace_back(stored, entry.error());
  }
  return wrong;
}

/// Builds come and go; what still holds a file stays.
static void removeEmpty(int root, const std::vector<std::string> &builds) {
  for (const std::string &build : builds)
    ::unlinkat(root, build.c_str(), AT_REMOVEDIR);
}

uint64_t DiskCache::prune(uint64_t maxBytes) {
  if (options.readOnly)
    return 0;
  Files files = findFiles(root.get());
  int64_t now = ::time(nullptr);
  for (const StoredEntry &stored : files.temporary)
    if (stored.lastUse / 1000000000 < now - kStaleSeconds)
      ::unlinkat(root.get(), stored.path.c_str(), 0);

  uint64_t total = 0, removed = 0;
  for (const StoredEntry &stored : files.entries)
    total += stored.bytes;
  for (; total > maxBytes; files.entries.pop_back()) {
    const StoredEntry &oldest = files.entries.back();
    total -= oldest.bytes;
    // Another process may have come first.
    if (::unlinkat(root.get(), oldest.path.c_str(), 0) == 0) {
      counts.add(DiskEvent::Pruned);
      ++removed;
    }
  }
  if (removed)
    removeEmpty(root.get(), files.builds);
  return removed;
}

Result<std::string> DiskCache::keepFailed(const std::string &name,
                                          std::string_view text) {
  const std::string folder = "failed";
  if (options.readOnly)
    return Error{ErrorKind::Invalid, "the cache was opened read-only"};
  std::string path = folder + "/" + name;
  if (Status status = writeFile(folder, path, text); !status)
    return status.error();
  std::vector<std::pair<int64_t, std::string>> kept;
  for (const std::string &other : namesIn(root.get(), folder)) {
    struct stat status;
    std::string place = folder + "/" + other;
    if (!NewFile::isTemporary(other) && place != path &&
        ::fstatat(root.get(), place.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      kept.emplace_back(status.st_mtim.tv_sec * int64_t(1000000000) +
                            status.st_mtim.tv_nsec,
                        std::move(place));
  }
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i + kMostFailed <= kept.size(); ++i)
    ::unlinkat(root.get(), kept[i].second.c_str(), 0);
  return directory + "/" + path;
}

uint64_t DiskCache::removeIf(
    const std::function<bool(const StoredEntry &)> &isUnwanted) {
  if (options.readOnly)
    return 0;
  Files files = findFiles(root.get());
  uint64_t removed = 0;
  for (const StoredEntry &stored : files.entries)
    if (isUnwanted(stored) &&
        ::unlinkat(root.get(), stored.path.c_str(), 0) == 0)
      ++removed;
  if (removed)
    removeEmpty(root.get(), files.builds);
  return removed;
}
