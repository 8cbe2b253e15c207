//===- CacheDiskTest.cpp - Tests of the cache in a directory --------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

using namespace mla_jit::cache;

namespace {
struct CacheDiskTest : testing::Test {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  std::vector<std::string> warnings;
  DiskOptions options = {
      .buildId = "b1",
      .warn = [this](const std::string &text) { warnings.push_back(text); }};

  std::string fileOf(int i) const {
    return path + "/b1/" + keyOf(i).digest().hex() + ".entry";
  }
  /// Makes the time of last use `seconds` ago.
  void age(const std::string &file, int seconds) {
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    struct timespec times[2] = {now, now};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST_F(CacheDiskTest, FindsWhatWasStored) {
  auto disk = openDisk(path);
  EXPECT_EQ(disk->lookup(keyOf(1)).error().kind, ErrorKind::Absent);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  EXPECT_TRUE(isEntryOf(disk->lookup(keyOf(1)), keyOf(1)));
  EXPECT_FALSE(disk->lookup(keyOf(2)));
  // Another process, later.
  EXPECT_TRUE(isEntryOf(openDisk(path)->lookup(keyOf(1)), keyOf(1)));
  EXPECT_EQ(disk->count(DiskEvent::Hit), 1u);
  EXPECT_EQ(disk->count(DiskEvent::Miss), 2u);
  EXPECT_EQ(disk->count(DiskEvent::Stored), 1u);
  disk->remove(keyOf(1));
  EXPECT_FALSE(disk->lookup(keyOf(1)));
}

TEST_F(CacheDiskTest, MakesWhatIsMissingOnce) {
  auto disk = openDisk(path);
  int made = 0;
  auto make = [&]() -> Result<Entry> { return ++made, entryOf(keyOf(1)); };
  EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), make), keyOf(1)));
  EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), make), keyOf(1)));
  EXPECT_EQ(made, 1);
  auto fail = []() -> Result<Entry> {
    return Error{ErrorKind::Failed, "no such instruction"};
  };
  EXPECT_EQ(disk->getOrMake(keyOf(2), fail).error().message,
            "no such instruction");
  EXPECT_EQ(countFiles(path), 1);
}

TEST_F(CacheDiskTest, BuildsDoNotSeeEachOther) {
  auto one = openDisk(path, {.buildId = "b1"});
  auto two = openDisk(path, {.buildId = "b2"});
  ASSERT_TRUE(one->store(keyOf(1), entryOf(keyOf(1))));
  EXPECT_FALSE(two->lookup(keyOf(1)));
  ASSERT_TRUE(two->store(keyOf(1), entryOf(keyOf(1), 50, "b2")));
  EXPECT_TRUE(isEntryOf(one->lookup(keyOf(1)), keyOf(1)));
  EXPECT_TRUE(isEntryOf(two->lookup(keyOf(1)), keyOf(1), 50));
  EXPECT_EQ(one->list().size(), 2u);
  // Code of another build, or under another key, is not kept.
  EXPECT_EQ(two->store(keyOf(1), entryOf(keyOf(1))).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(one->store(keyOf(2), entryOf(keyOf(1))).error().kind,
            ErrorKind::Invalid);
  for (const char *name : {"", "..", "a/b", "."})
    EXPECT_FALSE(DiskCache::open(path, {.buildId = name})) << name;
}

TEST_F(CacheDiskTest, TouchedFilesAreHits) {
  auto disk = openDisk(path);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  for (int seconds : {1000000, -1000000}) {
    age(fileOf(1), seconds);
    EXPECT_TRUE(disk->lookup(keyOf(1)));
  }
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

TEST_F(CacheDiskTest, DamageIsAMissOnceAndSaidOnce) {
  std::string good(entryOf(keyOf(1)).bytes());
  std::vector<std::string> bad = {"", good.substr(0, 1),
                                  good.substr(0, good.size() / 2),
                                  good.substr(0, good.size() - 1), good + "x"};
  for (size_t at :
       {size_t(0), size_t(9), size_t(30), good.size() / 2, good.size() - 1}) {
    bad.push_back(good);
    bad.back()[at] ^= 4;
  }
  bad.emplace_back(entryOf(keyOf(2)).bytes());                // replaced
  bad.emplace_back(entryOf(keyOf(1), 2000, "other").bytes()); // another build
  auto disk = openDisk(path, options);
  int made = 0;
  auto make = [&]() -> Result<Entry> { return ++made, entryOf(keyOf(1)); };
  ASSERT_TRUE(disk->getOrMake(keyOf(1), make));
  for (const std::string &bytes : bad) {
    made = 0;
    warnings.clear();
    overwrite(fileOf(1), bytes);
    EXPECT_EQ(disk->verify().size(), 1u);
    for (int run = 0; run < 3; ++run)
      EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), make), keyOf(1)));
    EXPECT_EQ(made, 1);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("is damaged ("), std::string::npos);
    EXPECT_TRUE(disk->verify().empty());
  }
  EXPECT_EQ(disk->count(DiskEvent::Damaged), bad.size());
}

TEST_F(CacheDiskTest, DamageIsRemovedWithoutAReplacement) {
  auto disk = openDisk(path, options);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  overwrite(fileOf(1), "x");
  EXPECT_EQ(disk->lookup(keyOf(1)).error().kind, ErrorKind::Damaged);
  EXPECT_EQ(disk->lookup(keyOf(1)).error().kind, ErrorKind::Absent);
  EXPECT_EQ(countFiles(path), 0);
}

TEST_F(CacheDiskTest, OtherThingsUnderTheNameAreReplaced) {
  auto disk = openDisk(path, options);
  auto make = []() -> Result<Entry> { return entryOf(keyOf(1)); };
  ASSERT_TRUE(disk->store(keyOf(2), entryOf(keyOf(2))));
  // A link to an entry that would be right, and a pipe that nobody writes to.
  overwrite(directory / "target", entryOf(keyOf(1)).bytes());
  ASSERT_EQ(::symlink((directory / "target").c_str(), fileOf(1).c_str()), 0);
  EXPECT_EQ(disk->lookup(keyOf(1)).error().kind, ErrorKind::Damaged);
  EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), make), keyOf(1)));
  EXPECT_TRUE(disk->lookup(keyOf(1)));
  disk->remove(keyOf(1));
  ASSERT_EQ(::mkfifo(fileOf(1).c_str(), 0600), 0);
  EXPECT_TRUE(isEntryOf(disk->getOrMake(keyOf(1), make), keyOf(1)));
  EXPECT_TRUE(disk->lookup(keyOf(1)));
}

TEST_F(CacheDiskTest, AnImpossibleSizeIsNotRead) {
  auto disk = openDisk(path, options);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  ASSERT_EQ(::truncate(fileOf(1).c_str(), off_t(1) << 40), 0);
  EXPECT_EQ(disk->lookup(keyOf(1)).error().kind, ErrorKind::Damaged);
}

//===----------------------------------------------------------------------===//
// Size
//===----------------------------------------------------------------------===//

TEST_F(CacheDiskTest, KeepsWhatWasUsedLast) {
  size_t bytes = entryOf(keyOf(0)).bytes().size();
  auto disk = openDisk(path, {.buildId = "b1", .maxBytes = 3 * bytes + 9});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(disk->store(keyOf(i), entryOf(keyOf(i))));
    age(fileOf(i), 100 - i);
  }
  EXPECT_TRUE(disk->lookup(keyOf(0))); // now 1 is the oldest
  ASSERT_TRUE(disk->store(keyOf(3), entryOf(keyOf(3))));
  EXPECT_TRUE(disk->lookup(keyOf(0)));
  EXPECT_FALSE(disk->lookup(keyOf(1)));
  EXPECT_TRUE(disk->lookup(keyOf(2)));
  EXPECT_TRUE(disk->lookup(keyOf(3)));
  EXPECT_EQ(disk->count(DiskEvent::Pruned), 1u);
  // Larger than all: not kept, and nothing is lost for it.
  EXPECT_FALSE(disk->store(keyOf(4), entryOf(keyOf(4), 4 * bytes)));
  EXPECT_EQ(disk->list().size(), 3u);
}

TEST_F(CacheDiskTest, RemovesWhatIsUnwanted) {
  auto disk = openDisk(path), other = openDisk(path, {.buildId = "b2"});
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  ASSERT_TRUE(other->store(keyOf(1), entryOf(keyOf(1), 9000, "b2")));
  EXPECT_EQ(disk->removeIf([](const StoredEntry &stored) {
    return stored.path.starts_with("b2/");
  }),
            1u);
  ASSERT_EQ(disk->list().size(), 1u);
  EXPECT_TRUE(disk->list()[0].path.starts_with("b1/"));
}

TEST_F(CacheDiskTest, OtherBuildsCountAndGo) {
  auto old = openDisk(path, {.buildId = "old"});
  ASSERT_TRUE(old->store(keyOf(1), entryOf(keyOf(1), 2000, "old")));
  auto disk = openDisk(path);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  EXPECT_EQ(disk->clear(), 2u);
  EXPECT_EQ(countFiles(path), 0);
  EXPECT_FALSE(std::filesystem::exists(path + "/old"));
  // Whoever still uses it starts anew.
  EXPECT_TRUE(old->store(keyOf(1), entryOf(keyOf(1), 2000, "old")));
}

TEST_F(CacheDiskTest, WhatDeadWritersLeftGoes) {
  auto disk = openDisk(path);
  ASSERT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  overwrite(path + "/b1/.new-dead", "x");
  overwrite(path + "/b1/.new-alive", "x");
  age(path + "/b1/.new-dead", 10000);
  disk->prune(1 << 30);
  EXPECT_FALSE(std::filesystem::exists(path + "/b1/.new-dead"));
  EXPECT_TRUE(std::filesystem::exists(path + "/b1/.new-alive"));
  EXPECT_EQ(disk->list().size(), 1u);
}

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

TEST_F(CacheDiskTest, IsMadeForItsOwnerAlone) {
  mode_t before = ::umask(0);
  auto disk = openDisk(directory / "a/b/c/");
  EXPECT_TRUE(disk->store(keyOf(1), entryOf(keyOf(1))));
  ::umask(before);
  struct stat status;
  for (const char *name : {"a", "a/b", "a/b/c", "a/b/c/b1"}) {
    ASSERT_EQ(::stat((directory / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u) << name;
  }
}

TEST_F(CacheDiskTest, RefusesWhatOthersCanWrite) {
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  auto errorOf = [&](const std::string &path, Trust trust = Trust::Owner) {
    auto disk = DiskCache::open(path, {.buildId = "b1", .trust = trust});
    return disk ? "" : disk.error().message;
  };
  std::string start = "the cache directory '" + path + "' must be ";
  ::chmod(path.c_str(), 0777);
  EXPECT_EQ(errorOf(path),
            start + "not writable by others, but its mode is 0777");
  EXPECT_NE(errorOf(path, Trust::Group), "");
  ::chmod(path.c_str(), 0770);
  EXPECT_EQ(errorOf(path),
            start + "not writable by its group, but its mode is 0770");
  EXPECT_EQ(errorOf(path, Trust::Group), "");
  ::chmod(path.c_str(), 0755);
  EXPECT_EQ(errorOf(path), "");

  ASSERT_EQ(::symlink(path.c_str(), (directory / "link").c_str()), 0);
  for (const char *name : {"link", "link/"})
    EXPECT_EQ(errorOf(directory / name), "the cache directory '" +
                                             directory / "link" +
                                             "' must be no symbolic link");
  overwrite(directory / "file", "");
  EXPECT_NE(errorOf(directory / "file"), "");
  EXPECT_NE(errorOf(directory / "file/below"), "");
  EXPECT_NE(errorOf(""), "");
}

TEST_F(CacheDiskTest, ReadOnlyChangesNothing) {
  DiskOptions readOnly = options;
  readOnly.readOnly = true;
  EXPECT_EQ(DiskCache::open(path, readOnly).error().kind, ErrorKind::Absent);
  ASSERT_TRUE(openDisk(path)->store(keyOf(1), entryOf(keyOf(1))));
  ASSERT_TRUE(openDisk(path)->store(keyOf(2), entryOf(keyOf(2))));
  overwrite(fileOf(2), "x");
  age(fileOf(1), 1000);
  auto snapshot = [&] {
    std::string text;
    for (auto &item : std::filesystem::recursive_directory_iterator(path)) {
      struct stat status;
      ::stat(item.path().c_str(), &status);
      text += item.path().string() + std::to_string(status.st_size) + " " +
              std::to_string(status.st_mtim.tv_sec) + "\n";
    }
    return text;
  };
  std::string before = snapshot();
  auto disk = openDisk(path, readOnly);
  EXPECT_TRUE(disk->lookup(keyOf(1)));
  EXPECT_FALSE(disk->lookup(keyOf(2)));
  EXPECT_FALSE(disk->store(keyOf(3), entryOf(keyOf(3))));
  EXPECT_TRUE(isEntryOf(
      disk->getOrMake(keyOf(3),
                      []() -> Result<Entry> { return entryOf(keyOf(3)); }),
      keyOf(3)));
  disk->remove(keyOf(1));
  EXPECT_EQ(disk->clear(), 0u);
  EXPECT_EQ(snapshot(), before);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST_F(CacheDiskTest, OneOfManyThreadsMakes) {
  auto disk = openDisk(path);
  auto other = openDisk(path); // two engines in one process
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(isEntryOf((t % 2 ? disk : other)
                                  ->getOrMake(keyOf(i),
                                              [&]() -> Result<Entry> {
                                                ++made;
                                                return entryOf(keyOf(i));
                                              }),
                              keyOf(i)));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 10);
}

TEST_F(CacheDiskTest, WaitsForALimitedTime) {
  DiskOptions impatient = options;
  impatient.peerWait = std::chrono::milliseconds(30);
  auto disk = openDisk(path, impatient);
  std::atomic<bool> started = false, goOn = false;
  std::thread slow([&] {
    EXPECT_TRUE(disk->getOrMake(keyOf(1), [&]() -> Result<Entry> {
      started = true;
      while (!goOn)
        std::this_thread::yield();
      return entryOf(keyOf(1));
    }));
  });
  while (!started)
    std::this_thread::yield();
  EXPECT_TRUE(isEntryOf(
      disk->getOrMake(keyOf(1),
                      []() -> Result<Entry> { return entryOf(keyOf(1)); }),
      keyOf(1)));
  EXPECT_EQ(disk->count(DiskEvent::PeerTimeout), 1u);
  goOn = true;
  slow.join();
  EXPECT_TRUE(disk->lookup(keyOf(1)));
}

// Others write and remove all the time: every answer is right or a miss.
TEST_F(CacheDiskTest, ThreadsMayDoEverythingAtOnce) {
  size_t bytes = entryOf(keyOf(0)).bytes().size();
  options.maxBytes = 4 * bytes;
  auto disk = openDisk(path, {.buildId = "b1", .maxBytes = 4 * bytes});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 150; ++i) {
        CacheKey key = keyOf((i * 7 + t) % 8);
        if (i % 25 == 24)
          disk->remove(key);
        else if (i % 50 == 0)
          disk->clear();
        else
          EXPECT_TRUE(isEntryOf(
              disk->getOrMake(key,
                              [&]() -> Result<Entry> { return entryOf(key); }),
              key));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(disk->count(DiskEvent::Damaged), 0u);
  EXPECT_LE(disk->list().size(), 4u);
  EXPECT_TRUE(disk->verify().empty());
}
