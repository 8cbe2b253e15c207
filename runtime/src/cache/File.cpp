//===- File.cpp - Files that are read whole or appear whole ---------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "File.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mla_jit::cache;

static constexpr std::string_view kTemporary = ".new-";

File::~File() {
  if (fd >= 0)
    ::close(fd);
}

Error mla_jit::cache::systemError(std::string_view what, int code) {
  char buffer[128] = "";
  const char *text = ::strerror_r(code, buffer, sizeof(buffer));
  return {code == ENOENT ? ErrorKind::Absent : ErrorKind::System,
          std::string(what) + ": " + text, code};
}

Result<File> mla_jit::cache::openToRead(int directory, const std::string &path,
                                        int flags) {
  // Non-blocking, so that opening a pipe in the file's place returns.
  File file(::openat(directory, path.c_str(),
                     O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!file && errno == ELOOP)
    return Error{ErrorKind::Damaged, "'" + path + "' is a symbolic link"};
  if (!file)
    return systemError("cannot open '" + path + "'", errno);
  struct stat status;
  if (::fstat(file.get(), &status))
    return systemError("cannot look at '" + path + "'", errno);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorKind::Damaged, "'" + path + "' is not a regular file"};
  return file;
}

Result<uint64_t> mla_jit::cache::sizeOf(const File &file) {
  struct stat status;
  if (::fstat(file.get(), &status))
    return systemError("cannot look at an open file", errno);
  return static_cast<uint64_t>(status.st_size);
}

Result<std::string> mla_jit::cache::readAt(const File &file, uint64_t offset,
                                           uint64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    ssize_t count = ::pread(file.get(), bytes.data() + done, size - done,
                            static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError("cannot read", errno);
    if (count == 0)
      return Error{ErrorKind::Damaged, "it ended while it was read"};
    done += count;
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// NewFile
//===----------------------------------------------------------------------===//

Result<NewFile> NewFile::create(int directory, const std::string &path,
                                mode_t mode) {
  // Process numbers repeat between containers that share a disk.
  uint64_t random[2];
  if (::getrandom(random, sizeof(random), 0) != sizeof(random))
    return systemError("cannot get random bytes", errno);
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), "%016llx%016llx",
                static_cast<unsigned long long>(random[0]),
                static_cast<unsigned long long>(random[1]));
  std::string temporary =
      path.substr(0, path.rfind('/') + 1) + std::string(kTemporary) + suffix;
  File file(::openat(directory, temporary.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     mode));
  if (!file)
    return systemError("cannot create a file beside '" + path + "'", errno);
  return NewFile(directory, path, std::move(temporary), std::move(file));
}

NewFile &NewFile::operator=(NewFile &&other) noexcept {
  std::swap(directory, other.directory);
  std::swap(path, other.path);
  std::swap(temporary, other.temporary);
  std::swap(isBroken, other.isBroken);
  file = std::move(other.file);
  return *this;
}

NewFile::~NewFile() {
  if (!temporary.empty())
    ::unlinkat(directory, temporary.c_str(), 0);
}

Status NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      isBroken = true;
      return systemError("cannot write '" + path + "'", count ? errno : EIO);
    }
    bytes.remove_prefix(count);
  }
  return {};
}

Status NewFile::publish() {
  if (isBroken)
    return Error{ErrorKind::Invalid,
                 "'" + path + "' was not written whole before"};
  // The name must not survive a crash that the bytes did not survive.
  int failed;
  do
    failed = ::fsync(file.get());
  while (failed && errno == EINTR);
  if (failed)
    return systemError("cannot write '" + path + "' to the disk", errno);
  if (::renameat(directory, temporary.c_str(), directory, path.c_str()))
    return systemError("cannot name '" + path + "'", errno);
  temporary.clear();
  return {};
}

bool NewFile::isTemporary(std::string_view name) {
  return name.starts_with(kTemporary);
}

//===----------------------------------------------------------------------===//
// Private directories
//===----------------------------------------------------------------------===//

/// Makes the directory and its parents; what is there is left as it is.
static void makeDirectories(const std::string &path, mode_t mode) {
  for (size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  // A umask must not take the group's rights away again.
  if (::mkdir(path.c_str(), mode) == 0 && (mode & 070))
    ::chmod(path.c_str(), mode);
}

static bool isOurGroup(gid_t group) {
  gid_t groups[256];
  int count = ::getgroups(256, groups);
  return group == ::getegid() ||
         (count > 0 &&
          std::find(groups, groups + count, group) != groups + count);
}

/// Why nobody should read code from there, or "".
static std::string findDanger(const struct stat &status, Trust trust) {
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", status.st_mode & 07777);
  if (status.st_mode & S_IWOTH)
    return std::string("not writable by others, but its mode is ") + mode;
  if ((status.st_mode & S_IWGRP) && trust != Trust::Group)
    return std::string("not writable by its group, but its mode is ") + mode;
  bool groupOwns = trust == Trust::Group && isOurGroup(status.st_gid);
  if (status.st_uid != ::geteuid() && status.st_uid != 0 && !groupOwns)
    return "owned by user " + std::to_string(::geteuid()) +
           ", but its owner is " + std::to_string(status.st_uid);
  return "";
}

Result<File> mla_jit::cache::openPrivateDirectory(std::string path, Trust trust,
                                                  bool create) {
  // A slash at the end would follow a symbolic link.
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (path.empty())
    return Error{ErrorKind::Invalid, "a cache directory requires a path"};
  if (create)
    makeDirectories(path, trust == Trust::Group ? 02770 : 0700);
  std::string required = "the cache directory '" + path + "' must be ";
  File directory(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    int code = errno;
    struct stat link;
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      return Error{ErrorKind::Unsafe, required + "no symbolic link"};
    return systemError("cannot open the cache directory '" + path + "'", code);
  }
  struct stat status;
  if (::fstat(directory.get(), &status))
    return systemError("cannot look at '" + path + "'", errno);
  if (std::string danger = findDanger(status, trust); !danger.empty())
    return Error{ErrorKind::Unsafe, required + danger};
  return directory;
}
