//===- CacheArchiveTest.cpp - Tests of archives made ahead of time --------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include "../../runtime/src/cache/Archive.h"

#include <filesystem>
#include <sys/stat.h>
#include <thread>

using namespace mla_jit::cache;

static constexpr int kEntries = 20;

static void build(const std::string &path, int numEntries = kEntries) {
  auto builder = ArchiveBuilder::create(path, "b1");
  ASSERT_TRUE(builder) << builder.error().message;
  for (int i = 0; i < numEntries; ++i)
    ASSERT_TRUE(builder->append(entryOf(keyOf(i), 100 + i)));
  ASSERT_TRUE(builder->finish());
}

TEST(CacheArchiveTest, FindsWhatWasPutIn) {
  TemporaryDirectory directory;
  build(directory / "a");
  auto archive = Archive::open(directory / "a");
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ((*archive)->size(), size_t(kEntries));
  EXPECT_EQ((*archive)->buildId(), "b1");
  for (int i = 0; i < kEntries; ++i)
    EXPECT_TRUE(isEntryOf((*archive)->lookup(keyOf(i)), keyOf(i), 100 + i));
  EXPECT_EQ((*archive)->lookup(keyOf(kEntries)).error().kind,
            ErrorKind::Absent);
  EXPECT_EQ((*archive)->count(ArchiveEvent::Hit), uint64_t(kEntries));
  EXPECT_EQ((*archive)->count(ArchiveEvent::Miss), 1u);
}

TEST(CacheArchiveTest, TheSameEntriesGiveTheSameBytes) {
  TemporaryDirectory directory;
  build(directory / "a");
  build(directory / "b");
  EXPECT_EQ(readFile(directory / "a"), readFile(directory / "b"));
}

TEST(CacheArchiveTest, MayBeEmpty) {
  TemporaryDirectory directory;
  build(directory / "a", 0);
  auto archive = Archive::open(directory / "a");
  ASSERT_TRUE(archive);
  EXPECT_FALSE((*archive)->lookup(keyOf(0)));
}

TEST(CacheArchiveTest, AppearsWholeOrNotAtAll) {
  TemporaryDirectory directory;
  build(directory / "a", 2);
  {
    auto builder = ArchiveBuilder::create(directory / "a", "b1");
    ASSERT_TRUE(builder);
    ASSERT_TRUE(builder->append(entryOf(keyOf(7))));
  }
  EXPECT_EQ(countFiles(directory / ""), 1);
  EXPECT_EQ((*Archive::open(directory / "a"))->size(), 2u);
}

TEST(CacheArchiveTest, TakesThePlaceOfFilesAlone) {
  TemporaryDirectory directory;
  std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto builder = ArchiveBuilder::create(path, "b1");
  ASSERT_FALSE(builder);
  EXPECT_NE(builder.error().message.find(path), std::string::npos);
  EXPECT_FALSE(ArchiveBuilder::create(directory / ".", "b1"));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(CacheArchiveTest, RefusesTwiceTheSameAndOtherBuilds) {
  TemporaryDirectory directory;
  auto builder = ArchiveBuilder::create(directory / "a", "b1");
  ASSERT_TRUE(builder->append(entryOf(keyOf(1))));
  EXPECT_FALSE(builder->append(entryOf(keyOf(1))));
  EXPECT_EQ(builder->append(entryOf(keyOf(2), 10, "b2")).error().message,
            "an archive requires entries of build 'b1', but got one of 'b2'");
}

// Damage of one entry is a miss of that entry; damage elsewhere is found when
// the archive is opened.
TEST(CacheArchiveTest, EveryFlippedByteIsFound) {
  TemporaryDirectory directory;
  build(directory / "a", 3);
  std::string bytes = readFile(directory / "a");
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 0x10;
    replace(directory / "b", bytes);
    bytes[at] ^= 0x10;
    auto archive = Archive::open(directory / "b");
    if (!archive) {
      EXPECT_EQ(archive.error().kind, ErrorKind::Damaged);
      continue;
    }
    int found = 0;
    for (int i = 0; i < 3; ++i) {
      auto entry = (*archive)->lookup(keyOf(i));
      found += isEntryOf(entry, keyOf(i), 100 + i);
      if (!entry)
        EXPECT_EQ(entry.error().kind, ErrorKind::Damaged);
    }
    EXPECT_EQ(found, 2) << at;
    EXPECT_EQ((*archive)->count(ArchiveEvent::Damaged), 1u);
  }
}

TEST(CacheArchiveTest, EveryOtherLengthIsFound) {
  TemporaryDirectory directory;
  build(directory / "a", 2);
  std::string bytes = readFile(directory / "a");
  for (size_t size = 0; size < bytes.size(); ++size) {
    replace(directory / "b", bytes.substr(0, size));
    auto archive = Archive::open(directory / "b");
    ASSERT_FALSE(archive) << size;
    EXPECT_EQ(archive.error().kind, ErrorKind::Damaged);
  }
}

TEST(CacheArchiveTest, SaysWhyItCannotBeOpened) {
  TemporaryDirectory directory;
  EXPECT_EQ(Archive::open(directory / "none").error().kind, ErrorKind::Absent);
  EXPECT_FALSE(Archive::open(directory / ""));
  overwrite(directory / "a", std::string(1000, 'x'));
  EXPECT_EQ(Archive::open(directory / "a").error().message,
            "cannot use the archive '" + directory / "a" +
                "': it does not begin as an archive");
}

TEST(CacheArchiveTest, APinIsTheHashOfTheFile) {
  TemporaryDirectory directory;
  build(directory / "a");
  std::string bytes = readFile(directory / "a");
  Digest pin = sha256(bytes);
  auto archive = Archive::open(directory / "a", &pin);
  ASSERT_TRUE(archive) << archive.error().message;
  // What was hashed is what is used.
  overwrite(directory / "a", "");
  EXPECT_TRUE(isEntryOf((*archive)->lookup(keyOf(3)), keyOf(3), 103));
  bytes[bytes.size() / 2] ^= 1;
  overwrite(directory / "a", bytes);
  EXPECT_EQ(Archive::open(directory / "a", &pin).error().kind,
            ErrorKind::Damaged);
}

// The open file is what is read, whatever becomes of its name.
TEST(CacheArchiveTest, MayBeReplacedWhileOpen) {
  TemporaryDirectory directory;
  build(directory / "a");
  auto archive = Archive::open(directory / "a");
  build(directory / "a", 1);
  EXPECT_TRUE(isEntryOf((*archive)->lookup(keyOf(9)), keyOf(9), 109));
  // Cut while open: an error, no signal.
  auto cut = Archive::open(directory / "a");
  overwrite(directory / "a", "");
  EXPECT_EQ((*cut)->lookup(keyOf(0)).error().kind, ErrorKind::Damaged);
}

TEST(CacheArchiveTest, ManyThreadsRead) {
  TemporaryDirectory directory;
  build(directory / "a");
  auto archive = Archive::open(directory / "a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5 * kEntries; ++i)
        EXPECT_TRUE((*archive)->lookup(keyOf(i % kEntries)));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ((*archive)->count(ArchiveEvent::Hit), uint64_t(20 * kEntries));
}
