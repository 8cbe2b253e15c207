//===- CacheProcessTest.cpp - Many processes and one cache ----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include <fcntl.h>
#include <random>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>

using namespace mla_jit::cache;

namespace {
struct Counts {
  Barrier barrier;
  std::atomic<int> made = 0, wrong = 0, damaged = 0;
  std::atomic<bool> started = false, goOn = false;
};
} // namespace

/// Uses the processor, as a compilation does, of which this thread gets a part.
static void burn(std::chrono::milliseconds time) {
  auto used = [] {
    struct timespec now;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) +
           std::chrono::nanoseconds(now.tv_nsec);
  };
  for (auto end = used() + time; used() < end;) {
  }
}

// D1: 16 processes, the same cold key at the same time, 100 rounds.
TEST(CacheProcessTest, OneOfManyProcessesMakes) {
  constexpr int kProcesses = 16, kRounds = 100;
  TemporaryDirectory directory;
  Shared<Counts> counts;
  counts->barrier.init(kProcesses);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p)
    children.push_back(startChild([&] {
      auto disk = openDisk(directory / "cache");
      for (int round = 0; round < kRounds; ++round) {
        CacheKey key = keyOf(round);
        counts->barrier.wait();
        auto entry = disk->getOrMake(key, [&]() -> Result<Entry> {
          ++counts->made;
          // Long enough for all others to ask for it too.
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return entryOf(key, 20000);
        });
        counts->wrong += !isEntryOf(entry, key, 20000);
      }
      counts->damaged += disk->count(DiskEvent::Damaged);
      return disk->count(DiskEvent::StoreFailed) ? 1 : 0;
    }));
  EXPECT_EQ(waitForAll(children), 0);
  EXPECT_EQ(counts->wrong, 0);
  EXPECT_EQ(counts->damaged, 0);
  EXPECT_EQ(counts->made, kRounds);
  auto disk = openDisk(directory / "cache");
  EXPECT_EQ(disk->list().size(), size_t(kRounds));
  EXPECT_TRUE(disk->verify().empty());
  EXPECT_EQ(countFiles(directory / "cache"), kRounds);
}

/// The processor time of `processes` processes that want the same 20 cold keys
/// of 20 ms each, on one processor.
static double secondsFor(int processes) {
  TemporaryDirectory directory;
  Shared<Counts> counts;
  counts->barrier.init(processes);
  int processor = ::sched_getcpu();
  double before = processorSecondsOfChildren();
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(startChild([&] {
      useProcessor(processor);
      auto disk = openDisk(directory / "cache");
      counts->barrier.wait();
      for (int i = 0; i < 20; ++i)
        counts->wrong +=
            !isEntryOf(disk->getOrMake(keyOf(i),
                                       [&]() -> Result<Entry> {
                                         burn(std::chrono::milliseconds(20));
                                         ++counts->made;
                                         return entryOf(keyOf(i));
                                       }),
                       keyOf(i));
      return 0;
    }));
  EXPECT_EQ(waitForAll(children), 0);
  EXPECT_EQ(counts->wrong, 0);
  EXPECT_EQ(counts->made, 20);
  return processorSecondsOfChildren() - before;
}

TEST(CacheProcessTest, ManyProcessesCostNoMoreThanOne) {
  double one = secondsFor(1), eight = secondsFor(8);
  RecordProperty("one process, ms", static_cast<int>(1000 * one));
  RecordProperty("eight processes, ms", static_cast<int>(1000 * eight));
  EXPECT_LE(eight, 1.5 * one);
}

TEST(CacheProcessTest, TwoBuildsShareADirectory) {
  TemporaryDirectory directory;
  Shared<Counts> counts;
  counts->barrier.init(8);
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p)
    children.push_back(startChild([&, p] {
      std::string build = p % 2 ? "b1" : "b2";
      size_t size = p % 2 ? 3000 : 5000;
      auto disk = openDisk(directory / "cache", {.buildId = build});
      counts->barrier.wait();
      for (int i = 0; i < 20; ++i)
        counts->wrong +=
            !isEntryOf(disk->getOrMake(keyOf(i),
                                       [&]() -> Result<Entry> {
                                         ++counts->made;
                                         return entryOf(keyOf(i), size, build);
                                       }),
                       keyOf(i), size);
      return 0;
    }));
  EXPECT_EQ(waitForAll(children), 0);
  EXPECT_EQ(counts->wrong, 0);
  EXPECT_EQ(counts->made, 40);
  EXPECT_TRUE(openDisk(directory / "cache")->verify().empty());
}

//===----------------------------------------------------------------------===//
// Killed processes
//===----------------------------------------------------------------------===//

TEST(CacheProcessTest, ALockEndsWithItsOwner) {
  TemporaryDirectory directory;
  Shared<Counts> counts;
  pid_t owner = startChild([&] {
    (void)openDisk(directory / "cache")
        ->getOrMake(keyOf(1), [&]() -> Result<Entry> {
          counts->started = true;
          ::pause();
          return Error{};
        });
    return 0;
  });
  while (!counts->started)
    std::this_thread::yield();
  pid_t next = startChild([&] {
    auto disk = openDisk(directory / "cache");
    auto entry = disk->getOrMake(
        keyOf(1), [&]() -> Result<Entry> { return entryOf(keyOf(1)); });
    return isEntryOf(entry, keyOf(1)) &&
                   disk->count(DiskEvent::PeerWait) == 1 &&
                   disk->count(DiskEvent::PeerTimeout) == 0
               ? 0
               : 1;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(owner, SIGKILL);
  EXPECT_EQ(waitForChild(owner), 128 + SIGKILL);
  EXPECT_EQ(waitForChild(next), 0);
}

TEST(CacheProcessTest, KilledAtAnyPoint) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  std::mt19937 random(1);
  int killed = 0;
  for (int round = 0; round < 100; ++round) {
    pid_t child = startChild([&] {
      auto disk = openDisk(path);
      for (int i = 0;; ++i) {
        CacheKey key = keyOf(i % 4);
        (void)disk->getOrMake(
            key, [&]() -> Result<Entry> { return entryOf(key, 200000); });
        if (i % 4 == 3)
          disk->clear();
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    ::kill(child, SIGKILL);
    killed += waitForChild(child) == 128 + SIGKILL;
    auto disk =
        openDisk(path, {.buildId = "b1", .peerWait = std::chrono::minutes(10)});
    ASSERT_TRUE(disk->verify().empty());
    for (int i = 0; i < 4; ++i)
      ASSERT_TRUE(isEntryOf(disk->getOrMake(keyOf(i),
                                            [&]() -> Result<Entry> {
                                              return entryOf(keyOf(i), 200000);
                                            }),
                            keyOf(i), 200000));
    ASSERT_EQ(disk->count(DiskEvent::Damaged), 0u);
  }
  EXPECT_EQ(killed, 100);
  // What the killed ones left behind goes once it is old.
  for (auto &item : std::filesystem::recursive_directory_iterator(path)) {
    struct timespec times[2] = {};
    if (item.path().filename().string().starts_with(".new-"))
      ::utimensat(AT_FDCWD, item.path().c_str(), times, 0);
  }
  openDisk(path)->prune(1 << 30);
  EXPECT_EQ(countFiles(path), 4);
}

//===----------------------------------------------------------------------===//
// Nowhere to write
//===----------------------------------------------------------------------===//

/// Gets 20 entries, the first `numStored` of which are there already, and
/// cannot store all others. Returns 0 if all went as it should.
static int useWhatCannotBeWritten(const std::string &path, int numStored) {
  int warnings = 0;
  auto disk =
      openDisk(path, {.buildId = "b1",
                      .warn = [&](const std::string &) { ++warnings; }});
  if (!disk)
    return 1;
  for (int i = 0; i < 20; ++i)
    if (!isEntryOf(disk->getOrMake(keyOf(i),
                                   [&]() -> Result<Entry> {
                                     return entryOf(keyOf(i), 9000);
                                   }),
                   keyOf(i), 9000))
      return 2;
  if (disk->count(DiskEvent::Hit) != uint64_t(numStored))
    return 3;
  if (!disk->count(DiskEvent::StoreFailed) || warnings != 1)
    return 4;
  if (!disk->verify().empty() || disk->count(DiskEvent::Damaged))
    return 5;
  return 0;
}

TEST(CacheProcessTest, AFullDisk) {
  TemporaryDirectory directory;
  int status = inChild([&] {
    if (!mountSmall(directory.path()))
      return kCannotTest;
    return useWhatCannotBeWritten(directory / "cache", 0);
  });
  if (status == kCannotTest)
    GTEST_SKIP() << "requires the right to mount";
  EXPECT_EQ(status, 0);
}

TEST(CacheProcessTest, AReadOnlyDisk) {
  TemporaryDirectory directory;
  int status = inChild([&] {
    if (!mountSmall(directory.path()))
      return kCannotTest;
    for (int i = 0; i < 3; ++i)
      if (!openDisk(directory / "cache")
               ->store(keyOf(i), entryOf(keyOf(i), 9000)))
        return 10;
    if (!makeReadOnly(directory.path()))
      return kCannotTest;
    return useWhatCannotBeWritten(directory / "cache", 3);
  });
  if (status == kCannotTest)
    GTEST_SKIP() << "requires the right to mount";
  EXPECT_EQ(status, 0);
}

TEST(CacheProcessTest, ADirectoryThatIsNotWritable) {
  TemporaryDirectory directory;
  ::chmod(directory.path().c_str(), 0755);
  std::string path = directory / "cache";
  auto disk = openDisk(path);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(disk->store(keyOf(i), entryOf(keyOf(i), 9000)));
  // What root has filled for all is safe to read, and not writable.
  std::filesystem::remove(path + "/locks");
  for (const std::string &name : {path + "/b1", path})
    ::chmod(name.c_str(), 0555);
  for (int i = 0; i < 3; ++i)
    ::chmod((path + "/b1/" + keyOf(i).digest().hex() + ".entry").c_str(), 0444);
  int status = inChild([&] {
    becomeNobody();
    return useWhatCannotBeWritten(path, 3);
  });
  for (const std::string &name : {path, path + "/b1"})
    ::chmod(name.c_str(), 0755);
  EXPECT_EQ(status, 0);
}

TEST(CacheProcessTest, ADirectoryOfSomebodyElse) {
  if (::geteuid())
    GTEST_SKIP() << "requires root";
  TemporaryDirectory directory;
  ::chmod(directory.path().c_str(), 0755);
  std::string path = directory / "cache";
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  auto isRefused = [&] {
    auto disk = DiskCache::open(path, {.buildId = "b1"});
    return !disk && disk.error().kind == ErrorKind::Unsafe;
  };
  // For root as for others; nor does it help to trust a group that has no part.
  EXPECT_TRUE(isRefused());
  EXPECT_EQ(inChild([&] {
              becomeNobody();
              auto trusting = DiskCache::open(
                  path, {.buildId = "b1", .trust = Trust::Group});
              return isRefused() && !trusting ? 0 : 1;
            }),
            0);
}

// Two members of a group share what either compiles.
TEST(CacheProcessTest, AGroupThatIsTrusted) {
  if (::geteuid())
    GTEST_SKIP() << "requires root";
  TemporaryDirectory directory;
  ::chmod(directory.path().c_str(), 0777);
  auto runAs = [&](uid_t user, bool mustHit) {
    return inChild([&, user, mustHit] {
      ::umask(022);
      if (::setgroups(0, nullptr) || ::setgid(4242) || ::setuid(user))
        return kCannotTest;
      auto disk = openDisk(directory / "cache",
                           {.buildId = "b1", .trust = Trust::Group});
      if (!disk)
        return 1;
      for (int i = 0; i < 3; ++i)
        if (!disk->getOrMake(
                keyOf(i), [&]() -> Result<Entry> { return entryOf(keyOf(i)); }))
          return 2;
      // Only the other one's are there; and both may add to them.
      if (disk->count(DiskEvent::Hit) != (mustHit ? 3u : 0u))
        return 3;
      return disk->store(keyOf(user), entryOf(keyOf(user))) &&
                     disk->count(DiskEvent::NoLock) == 0
                 ? 0
                 : 4;
    });
  };
  EXPECT_EQ(runAs(12345, false), 0);
  EXPECT_EQ(runAs(12346, true), 0);
}
