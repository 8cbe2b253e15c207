//===- Archive.cpp - Compiled kernels ahead of time, in one file ----------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "Format.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

using namespace mla_jit::cache;

static constexpr std::string_view kMagic = "mlaarchv";
static constexpr uint32_t kVersion = 2;
static constexpr size_t kHeadBytes = 12, kTailBytes = 24;

static Error damaged(std::string what) {
  return {ErrorKind::Damaged, std::move(what)};
}

static std::string_view bytesOf(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.bytes.data()),
          digest.bytes.size()};
}

//===----------------------------------------------------------------------===//
// ArchiveBuilder
//===----------------------------------------------------------------------===//

Result<ArchiveBuilder> ArchiveBuilder::create(const std::string &path,
                                              std::string buildId) {
  // A rename would put a file in the place of a device or a pipe. That of a
  // link leaves alone what it leads to.
  struct stat there;
  if (::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) &&
      !S_ISLNK(there.st_mode))
    return Error{ErrorKind::Invalid,
                 "an archive requires the name of a regular file or of none, "
                 "but got '" +
                     path + "'"};
  Result<NewFile> file = NewFile::create(AT_FDCWD, path, 0644);
  if (!file)
    return file.error();
  FormatWriter head;
  head.raw(kMagic);
  head.u32(kVersion);
  if (Status status = file->write(head.out); !status)
    return status.error();
  ArchiveBuilder builder(std::move(*file), std::move(buildId));
  builder.offset = head.out.size();
  return builder;
}

Status ArchiveBuilder::append(const Entry &entry) {
  if (entry.buildId() != buildId)
    return Error{ErrorKind::Invalid, "an archive requires entries of build '" +
                                         buildId + "', but got one of '" +
                                         std::string(entry.buildId()) + "'"};
  Digest key = sha256(entry.keyText());
  for (const ArchivePlace &place : places)
    if (place.key == key)
      return Error{ErrorKind::Invalid,
                   "an archive requires each key once, but got again:\n" +
                       std::string(entry.keyText())};
  if (Status status = file.write(entry.bytes()); !status)
    return status;
  places.push_back({key, offset, entry.bytes().size()});
  offset += entry.bytes().size();
  return {};
}

Status ArchiveBuilder::finish() {
  FormatWriter writer;
  writer.text(buildId);
  writer.u32(static_cast<uint32_t>(places.size()));
  for (const ArchivePlace &place : places) {
    writer.raw(bytesOf(place.key));
    writer.u64(place.offset);
    writer.u64(place.bytes);
  }
  uint64_t indexBytes = writer.out.size();
  writer.u64(offset);
  writer.u64(indexBytes);
  writer.u64(checksum(writer.out));
  if (Status status = file.write(writer.out); !status)
    return status;
  return file.publish();
}

//===----------------------------------------------------------------------===//
// Archive
//===----------------------------------------------------------------------===//

Result<SharedBytes> Archive::bytesAt(uint64_t offset, uint64_t size) const {
  if (pinned.owner)
    return pinned.slice(offset, size);
  Result<std::string> bytes = readAt(file, offset, size);
  if (!bytes)
    return bytes.error();
  return SharedBytes(std::move(*bytes));
}

Status Archive::readIndex() {
  if (fileBytes < kHeadBytes + kTailBytes)
    return damaged("it ends in its head");
  Result<SharedBytes> head = bytesAt(0, kHeadBytes);
  if (!head)
    return head.error();
  FormatReader headReader(head->view);
  if (headReader.raw(kMagic.size()) != kMagic)
    return damaged("it does not begin as an archive");
  if (uint32_t version = headReader.u32(); version != kVersion)
    return damaged("requires format version " + std::to_string(kVersion) +
                   ", but got " + std::to_string(version));

  uint64_t tailOffset = fileBytes - kTailBytes;
  Result<SharedBytes> tail = bytesAt(tailOffset, kTailBytes);
  if (!tail)
    return tail.error();
  FormatReader tailReader(tail->view);
  uint64_t indexOffset = tailReader.u64(), indexBytes = tailReader.u64();
  if (indexOffset < kHeadBytes || indexOffset > tailOffset ||
      indexBytes != tailOffset - indexOffset)
    return damaged("its end is not where its index says");
  Result<SharedBytes> index = bytesAt(indexOffset, indexBytes + 16);
  if (!index)
    return index.error();
  if (checksum(index->view) != tailReader.u64())
    return damaged("the checksum of its index is wrong");

  FormatReader reader(index->view.substr(0, indexBytes));
  build = reader.text();
  uint32_t numEntries = reader.u32();
  for (uint32_t i = 0; i < numEntries && reader.ok(); ++i) {
    ArchivePlace place;
    std::string_view key = reader.raw(place.key.bytes.size());
    std::copy(key.begin(), key.end(), place.key.bytes.begin());
    place.offset = reader.u64();
    place.bytes = reader.u64();
    if (place.offset > indexOffset ||
        place.bytes > indexOffset - place.offset ||
        place.bytes > Entry::kMaxBytes)
      return damaged("an entry is not where its index says");
    places.push_back(place);
  }
  if (!reader.atEnd())
    return damaged("its index does not have the size that it says");
  std::sort(places.begin(), places.end(),
            [](const ArchivePlace &a, const ArchivePlace &b) {
              return a.key < b.key;
            });
  return {};
}

/// Reads all of the file and compares its hash.
static Result<SharedBytes> readPinned(const File &file, uint64_t size,
                                      const Digest &pin) {
  Result<std::string> bytes = readAt(file, 0, size);
  if (!bytes)
    return bytes.error();
  if (Digest found = sha256(*bytes); found != pin)
    return damaged("requires the SHA-256 " + pin.hex() + ", but got " +
                   found.hex());
  return SharedBytes(std::move(*bytes));
}

Result<std::unique_ptr<Archive>> Archive::open(const std::string &path,
                                               const Digest *pin) {
  // The caller names the file, so a symbolic link is what the caller wants.
  Result<File> file = openToRead(AT_FDCWD, path, 0);
  if (!file)
    return file.error();
  auto explain = [&](const Error &error) {
    return Error{error.kind,
                 "cannot use the archive '" + path + "': " + error.message,
                 error.code};
  };
  Result<uint64_t> size = sizeOf(*file);
  if (!size)
    return explain(size.error());
  std::unique_ptr<Archive> archive(new Archive());
  archive->file = std::move(*file);
  archive->fileBytes = *size;
  if (pin) {
    Result<SharedBytes> all = readPinned(archive->file, *size, *pin);
    if (!all)
      return explain(all.error());
    archive->pinned = std::move(*all);
  }
  if (Status status = archive->readIndex(); !status)
    return explain(status.error());
  return archive;
}

Result<Entry> Archive::readPlace(const ArchivePlace &place) const {
  Result<SharedBytes> bytes = bytesAt(place.offset, place.bytes);
  if (!bytes)
    return bytes.error();
  Result<Entry> entry = Entry::fromBytes(std::move(*bytes));
  if (entry && sha256(entry->keyText()) != place.key)
    return damaged("it holds another key");
  if (entry && entry->buildId() != build)
    return damaged("it holds code of another build");
  return entry;
}

Result<Entry> Archive::read(size_t i) const {
  if (i >= places.size())
    return Error{ErrorKind::Invalid, "requires an entry below " +
                                         std::to_string(places.size()) +
                                         ", but got " + std::to_string(i)};
  return readPlace(places[i]);
}

Result<Entry> Archive::lookup(const CacheKey &key) {
  auto place = std::lower_bound(
      places.begin(), places.end(), key.digest(),
      [](const ArchivePlace &a, const Digest &b) { return a.key < b; });
  if (place == places.end() || place->key != key.digest()) {
    counts.add(ArchiveEvent::Miss);
    return Error{ErrorKind::Absent, "the archive has no such entry"};
  }
  Result<Entry> entry = readPlace(*place);
  if (entry && entry->keyText() != key.text())
    entry = damaged("it holds another key");
  counts.add(entry ? ArchiveEvent::Hit : ArchiveEvent::Miss);
  if (!entry && entry.error().kind == ErrorKind::Damaged)
    counts.add(ArchiveEvent::Damaged);
  return entry;
}
