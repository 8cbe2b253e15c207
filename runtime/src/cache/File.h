//===- File.h - Files that are read whole or appear whole -------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_FILE_H
#define MLA_JIT_SRC_CACHE_FILE_H

#include "Entry.h"

#include <sys/types.h>

namespace mla_jit::cache {

/// Owns a file descriptor.
class File {
public:
  File() = default;
  explicit File(int descriptor) : fd(descriptor) {}
  File(File &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~File();

  explicit operator bool() const { return fd >= 0; }
  int get() const { return fd; }

private:
  int fd = -1;
};

/// "<what>: <text of errno>", Absent where there is no such file.
Error systemError(std::string_view what, int code);

/// Opens a regular file for reading; `flags` are added (O_NOFOLLOW). `path` is
/// relative to `directory`, which may be AT_FDCWD.
Result<File> openToRead(int directory, const std::string &path, int flags);

/// Reads by pread, never by mapping: a file that shrinks meanwhile is an error,
/// not a signal.
Result<std::string> readAt(const File &file, uint64_t offset, uint64_t size);

Result<uint64_t> sizeOf(const File &file);

/// A file that appears under its name whole, by rename, or not at all.
class NewFile {
public:
  static Result<NewFile> create(int directory, const std::string &path,
                                mode_t mode);
  NewFile(NewFile &&other) noexcept { *this = std::move(other); }
  NewFile &operator=(NewFile &&other) noexcept;
  /// Removes what was not published.
  ~NewFile();

  Status write(std::string_view bytes);
  /// Waits until the bytes are on the disk, then gives the file its name.
  Status publish();

  /// Whether a file of that name is one that was never published.
  static bool isTemporary(std::string_view name);

private:
  NewFile(int directory, std::string path, std::string temporary, File file)
      : directory(directory), path(std::move(path)),
        temporary(std::move(temporary)), file(std::move(file)) {}

  int directory = -1;
  std::string path, temporary; // temporary: empty once published
  File file;
  bool isBroken = false; // a write failed: never published
};

enum class Trust {
  Owner, ///< nobody else may write
  Group, ///< members of the directory's group may write, and are trusted
};

/// Opens a directory that is safe to read code from: no symbolic link, ours (or
/// root's), not writable by others. With `create` it is made if missing, with
/// its parents, for nobody else to read.
Result<File> openPrivateDirectory(std::string path, Trust trust, bool create);

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_FILE_H
