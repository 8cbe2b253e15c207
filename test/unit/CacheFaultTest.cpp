//===- CacheFaultTest.cpp - The disk cache while system calls fail --------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The functions of libc that the cache uses are taken the place of, so that any
// one call, or all from one on, can fail with any code.
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include "../../runtime/src/cache/Archive.h"

#include <cstdarg>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

using namespace mla_jit::cache;

namespace {
struct Fault {
  std::string_view call = ""; ///< the only one that fails; "" for any
  int first = 0;              ///< its number, from 1; 0: nothing fails
  bool andAllLater = false;
  int code = 0;
  int seen = 0;
};
} // namespace

static Fault fault;

/// Whether this call fails; errno is set then.
static bool fails(std::string_view call) {
  if (!fault.first || (!fault.call.empty() && fault.call != call))
    return false;
  ++fault.seen;
  if (fault.seen != fault.first &&
      !(fault.andAllLater && fault.seen > fault.first))
    return false;
  errno = fault.code;
  return true;
}

extern "C" {
int openat(int directory, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (fails("openat"))
    return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}
int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (command == F_OFD_SETLK && fails("fcntl"))
    return -1;
  return static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
}
ssize_t pread(int fd, void *to, size_t size, off_t offset) {
  return fails("pread") ? -1 : ::syscall(SYS_pread64, fd, to, size, offset);
}
ssize_t write(int fd, const void *from, size_t size) {
  // Disks take what they have room for before they say that they are full.
  bool isLast = fails("write");
  if (isLast && size > 1 && fault.code == ENOSPC)
    return ::syscall(SYS_write, fd, from, size / 2);
  return isLast ? -1 : ::syscall(SYS_write, fd, from, size);
}
int fsync(int fd) {
  return fails("fsync") ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}
int renameat(int a, const char *from, int b, const char *to) noexcept {
  if (fails("renameat"))
    return -1;
  return static_cast<int>(::syscall(SYS_renameat2, a, from, b, to, 0));
}
int mkdirat(int directory, const char *path, mode_t mode) noexcept {
  if (fails("mkdirat"))
    return -1;
  return static_cast<int>(::syscall(SYS_mkdirat, directory, path, mode));
}
int fstat(int fd, struct stat *status) noexcept {
  if (fails("fstat"))
    return -1;
  return static_cast<int>(
      ::syscall(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH));
}
} // extern "C"

static Result<Entry> makeOne() { return entryOf(keyOf(1)); }

static constexpr int kCodes[] = {ENOSPC, EDQUOT, EACCES, EROFS,  EIO,  ESTALE,
                                 EBUSY,  ENOENT, EMFILE, ENOLCK, EPERM};

// Whatever fails and whenever: the caller gets the right entry, nothing wrong
// is left, and when all is well again so is the cache.
TEST(CacheFaultTest, AnyCallMayFail) {
  int runs = 0;
  for (int code : kCodes)
    for (bool andAllLater : {false, true})
      for (int first = 1;; ++first) {
        TemporaryDirectory directory;
        int warnings = 0;
        auto disk =
            openDisk(directory / "cache",
                     {.buildId = "b1",
                      .warn = [&](const std::string &) { ++warnings; }});
        fault = {"", first, andAllLater, code};
        EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), makeOne), keyOf(1)));
        EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), makeOne), keyOf(1)));
        bool wasHit = fault.seen >= first;
        fault = {};
        EXPECT_LE(warnings, 1);
        EXPECT_TRUE(disk->verify().empty());
        EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), makeOne), keyOf(1)));
        EXPECT_TRUE(isEntryOf(disk->lookup(keyOf(1)), keyOf(1)));
        EXPECT_EQ(countFiles(directory / "cache"), 1);
        EXPECT_EQ(disk->count(DiskEvent::Damaged), 0u);
        ++runs;
        if (HasFailure())
          FAIL() << "at call " << first << ": " << strerror(code);
        if (!wasHit)
          break; // past the last call
      }
  EXPECT_GT(runs, 200);
}

// A system call that a signal interrupted is done again.
TEST(CacheFaultTest, InterruptedCallsAreRepeated) {
  for (const char *call : {"pread", "write", "fsync", "fcntl"}) {
    TemporaryDirectory directory;
    auto disk = openDisk(directory / "cache");
    fault = {call, 1, false, EINTR};
    EXPECT_TRUE(disk->getOrMake(keyOf(1), makeOne));
    EXPECT_TRUE(isEntryOf(disk->lookup(keyOf(1)), keyOf(1))) << call;
    EXPECT_GE(fault.seen, 2) << call;
    fault = {};
    EXPECT_EQ(disk->count(DiskEvent::StoreFailed), 0u) << call;
  }
}

// A network file system without a lock service.
TEST(CacheFaultTest, WithoutLocksItStillStores) {
  for (int code : {ENOLCK, EOPNOTSUPP, EINVAL, ENOSYS}) {
    TemporaryDirectory directory;
    auto disk = openDisk(directory / "cache");
    fault = {"fcntl", 1, true, code};
    EXPECT_TRUE(disk->getOrMake(keyOf(1), makeOne));
    fault = {};
    EXPECT_EQ(disk->count(DiskEvent::NoLock), 1u);
    EXPECT_TRUE(disk->lookup(keyOf(1)));
  }
}

// A lost race for the name, or a server that forgot the file.
TEST(CacheFaultTest, AFailedRenameLeavesNothing) {
  for (int code : {EBUSY, ESTALE, ENOENT}) {
    TemporaryDirectory directory;
    auto disk = openDisk(directory / "cache");
    fault = {"renameat", 1, false, code};
    EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), makeOne), keyOf(1)));
    fault = {};
    EXPECT_EQ(disk->count(DiskEvent::StoreFailed), 1u);
    EXPECT_EQ(countFiles(directory / "cache"), 0);
  }
}

TEST(CacheFaultTest, AFullDiskIsToldOnce) {
  TemporaryDirectory directory;
  std::vector<std::string> warnings;
  auto disk = openDisk(directory / "cache",
                       {.buildId = "b1", .warn = [&](const std::string &text) {
                          warnings.push_back(text);
                        }});
  fault = {"write", 1, true, ENOSPC};
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(isEntryOf(
        disk->getOrMake(keyOf(i),
                        [&]() -> Result<Entry> { return entryOf(keyOf(i)); }),
        keyOf(i)));
  fault = {};
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("not kept on the disk"), std::string::npos);
  EXPECT_EQ(disk->count(DiskEvent::StoreFailed), 5u);
}

TEST(CacheFaultTest, AnArchiveIsWrittenWholeOrNotAtAll) {
  for (int code : kCodes)
    for (int first = 1;; ++first) {
      TemporaryDirectory directory;
      auto build = [&]() -> Status {
        auto builder = ArchiveBuilder::create(directory / "a", "b1");
        if (!builder)
          return builder.error();
        for (int i = 0; i < 3; ++i)
          if (Status status = builder->append(entryOf(keyOf(i))); !status)
            return status;
        return builder->finish();
      };
      fault = {"", first, true, code};
      Status status = build();
      bool wasHit = fault.seen >= first;
      fault = {};
      EXPECT_EQ(bool(status), !wasHit) << first << ": " << strerror(code);
      EXPECT_EQ(countFiles(directory / ""), wasHit ? 0 : 1);
      if (!wasHit)
        break;
    }
}

// Who goes on after a failure gets no archive with a hole.
TEST(CacheFaultTest, AnArchiveWithAFailureIsNotFinished) {
  TemporaryDirectory directory;
  auto builder = ArchiveBuilder::create(directory / "a", "b1");
  ASSERT_TRUE(builder->append(entryOf(keyOf(1))));
  fault = {"write", 1, true, ENOSPC};
  EXPECT_EQ(builder->append(entryOf(keyOf(2))).error().code, ENOSPC);
  fault = {};
  (void)builder->append(entryOf(keyOf(3)));
  EXPECT_FALSE(builder->finish());
  EXPECT_FALSE(std::filesystem::exists(directory / "a"));
}

TEST(CacheFaultTest, AnArchiveThatCannotBeReadSaysSo) {
  TemporaryDirectory directory;
  auto builder = ArchiveBuilder::create(directory / "a", "b1");
  ASSERT_TRUE(builder->append(entryOf(keyOf(1))));
  ASSERT_TRUE(builder->finish());
  for (int first = 1;; ++first) {
    fault = {"", first, false, EIO};
    auto archive = Archive::open(directory / "a");
    bool wasRight =
        archive && isEntryOf((*archive)->lookup(keyOf(1)), keyOf(1));
    bool wasHit = fault.seen >= first;
    fault = {};
    EXPECT_EQ(wasRight, !wasHit) << first;
    if (!archive)
      EXPECT_EQ(archive.error().code, EIO);
    if (!wasHit)
      break;
  }
}
