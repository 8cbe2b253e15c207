//===- DiskCache.cpp - Compiled kernels in a directory --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiskCache.h"
#include "Format.h"
#include "KeyLock.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mla_jit::cache;

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string &directory,
                                                   DiskOptions options) {
  if (!isPlainName(options.buildId))
    return Error{ErrorKind::Invalid,
                 "a disk cache requires a build id of letters and digits, but "
                 "got '" +
                     options.buildId + "'"};
  Result<File> root = openPrivateDirectory(directory, options.trust,
                                           /*create=*/!options.readOnly);
  if (!root)
    return root.error();
  return std::unique_ptr<DiskCache>(
      new DiskCache(directory, std::move(*root), std::move(options)));
}

static std::string pathOf(std::string_view buildId, const Digest &digest) {
  return std::string(buildId) + "/" + digest.hex() + ".entry";
}

void DiskCache::warn(const std::string &message) const {
  if (options.warn)
    options.warn(message);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Result<Entry> readEntry(const File &file) {
  Result<uint64_t> size = sizeOf(file);
  if (!size)
    return size.error();
  if (*size > Entry::kMaxBytes)
    return Error{ErrorKind::Damaged,
                 "requires at most " + std::to_string(Entry::kMaxBytes) +
                     " bytes, but got " + std::to_string(*size)};
  Result<std::string> bytes = readAt(file, 0, *size);
  if (!bytes)
    return bytes.error();
  return Entry::fromBytes(SharedBytes(std::move(*bytes)));
}

/// Whether the name still means the file that was opened.
static bool isStill(int directory, const std::string &path, const File &file) {
  struct stat now, opened;
  return ::fstatat(directory, path.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(file.get(), &opened) == 0 && now.st_dev == opened.st_dev &&
         now.st_ino == opened.st_ino;
}

/// Notes the use, for prune; once a second is often enough.
static void markUsed(const File &file) {
  struct stat status;
  if (::fstat(file.get(), &status) ||
      status.st_mtim.tv_sec >= ::time(nullptr) - 1)
    return;
  struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::futimens(file.get(), times); // only the order of removal depends on it
}

Result<Entry> DiskCache::readOrRemove(const CacheKey &key) {
  std::string path = pathOf(options.buildId, key.digest());
  Result<File> file = openToRead(root.get(), path, O_NOFOLLOW);
  Result<Entry> entry = file ? readEntry(*file) : file.error();
  if (entry && entry->keyText() != key.text())
    entry = Error{ErrorKind::Damaged, "it holds another key"};
  else if (entry && entry->buildId() != options.buildId)
    entry = Error{ErrorKind::Damaged, "it holds code of another build"};
  if (entry) {
    if (!options.readOnly)
      markUsed(*file);
    return entry;
  }
  if (entry.error().kind == ErrorKind::Damaged) {
    counts.add(DiskEvent::Damaged);
    // Not what another process has put there since.
    if (!options.readOnly && file && isStill(root.get(), path, *file))
      ::unlinkat(root.get(), path.c_str(), 0);
    warn("the cache entry '" + path + "' is damaged (" + entry.error().message +
         ") and taken for missing");
  }
  return entry;
}

Result<Entry> DiskCache::read(const StoredEntry &stored) const {
  Result<File> file = openToRead(root.get(), stored.path, O_NOFOLLOW);
  Result<Entry> entry = file ? readEntry(*file) : file.error();
  if (entry &&
      pathOf(entry->buildId(), sha256(entry->keyText())) != stored.path)
    return Error{ErrorKind::Damaged, "it belongs under another name"};
  return entry;
}

Result<Entry> DiskCache::lookup(const CacheKey &key) {
  Result<Entry> entry = readOrRemove(key);
  counts.add(entry ? DiskEvent::Hit : DiskEvent::Miss);
  return entry;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status DiskCache::write(const CacheKey &key, const Entry &entry) {
  if (entry.keyText() != key.text() || entry.buildId() != options.buildId)
    return Error{ErrorKind::Invalid,
                 "an entry requires the key that it is stored under and the "
                 "build of this cache, but got others"};
  if (entry.bytes().size() > options.maxBytes)
    return Error{ErrorKind::Invalid, "an entry requires at most " +
                                         std::to_string(options.maxBytes) +
                                         " bytes, but got " +
                                         std::to_string(entry.bytes().size())};
  return writeFile(options.buildId, pathOf(options.buildId, key.digest()),
                   entry.bytes());
}

Status DiskCache::writeFile(const std::string &folder, const std::string &path,
                            std::string_view bytes) {
  bool shared = options.trust == Trust::Group;
  mode_t mode = shared ? 0640 : 0600;
  Result<NewFile> file = NewFile::create(root.get(), path, mode);
  if (!file && file.error().kind == ErrorKind::Absent) {
    // Its first file, or prune has just removed the folder.
    if (::mkdirat(root.get(), folder.c_str(), 0700) == 0 && shared)
      ::fchmodat(root.get(), folder.c_str(), 02770, 0);
    file = NewFile::create(root.get(), path, mode);
  }
  if (!file)
    return file.error();
  if (Status status = file->write(bytes); !status)
    return status;
  return file->publish();
}

Status DiskCache::store(const CacheKey &key, const Entry &entry) {
  if (options.readOnly)
    return Error{ErrorKind::Invalid, "the cache was opened read-only"};
  Status status = write(key, entry);
  if (status) {
    counts.add(DiskEvent::Stored);
    prune(options.maxBytes);
    return status;
  }
  counts.add(DiskEvent::StoreFailed);
  if (!toldOfStore.exchange(true))
    warn("compiled kernels are not kept on the disk: " +
         status.error().message);
  return status;
}

void DiskCache::remove(const CacheKey &key) {
  if (!options.readOnly)
    ::unlinkat(root.get(), pathOf(options.buildId, key.digest()).c_str(), 0);
}

Result<Entry> DiskCache::getOrMake(const CacheKey &key,
                                   const std::function<Result<Entry>()> &make) {
  if (Result<Entry> entry = lookup(key))
    return entry;
  return makeMissing(key, make);
}

Result<Entry>
DiskCache::makeMissing(const CacheKey &key,
                       const std::function<Result<Entry>()> &make) {
  if (options.readOnly)
    return make();

  std::string path = pathOf(options.buildId, key.digest());
  KeyLock lock = KeyLock::acquire(
      root.get(), options.trust, key.digest(), options.peerWait,
      [&] { return ::faccessat(root.get(), path.c_str(), F_OK, 0) == 0; });
  if (lock.waited())
    counts.add(DiskEvent::PeerWait);
  if (lock.state() == KeyLock::State::TimedOut)
    counts.add(DiskEvent::PeerTimeout);
  if (lock.state() == KeyLock::State::Unavailable)
    counts.add(DiskEvent::NoLock);
  // Also without a wait: it may have been made just before.
  if (Result<Entry> entry = readOrRemove(key)) {
    counts.add(DiskEvent::PeerHit);
    return entry;
  }
  Result<Entry> entry = make();
  if (entry)
    // What fails here has been counted and told; the result is as good.
    (void)store(key, *entry);
  return entry;
}
