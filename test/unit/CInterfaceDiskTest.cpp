//===- CInterfaceDiskTest.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What goes wrong on the disk: kernels work all the same, and the host is told
// once.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "CacheFixture.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace mla_test;
namespace cache = mla_jit::cache;

static mla::Engine engineOf(const std::string &path, Events &events) {
  return makeEngine([&](mla_engine_options &options) {
    options.cache_dir = path.c_str();
    events.record(options);
  });
}

static std::string onlyEntryIn(const std::string &path) {
  std::string found;
  for (const auto &file : std::filesystem::recursive_directory_iterator(path))
    if (file.path().extension() == ".entry") {
      EXPECT_EQ(found, "");
      found = file.path();
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Nowhere to write
//===----------------------------------------------------------------------===//

/// Two kernels, of which none can be kept; 0 if all went as it should.
static int workWithoutDisk(const std::string &path) {
  Events events;
  mla::Engine engine = engineOf(path, events);
  mla_spec other = smallSpec();
  other.h_q = 8;
  auto kernel = engine.prepare(smallSpec());
  if (!kernel || !engine.prepare(other))
    return 1;
  if (!givesTheMeans(engine, *kernel))
    return 2;
  mla_counters counters = countersOf(engine);
  if (counters.compiles != 2 || counters.stored || counters.damaged)
    return 3;
  return events.of(MLA_EVENT_CACHE_WARNING).size() == 1 ? 0 : 4;
}

TEST(CInterfaceDiskTest, AFullDisk) {
  TemporaryDirectory directory;
  int status = inChild([&] {
    // An entry has 60 KiB.
    return mountSmall(directory.path(), "16k")
               ? workWithoutDisk(directory / "cache")
               : kCannotTest;
  });
  if (status == kCannotTest)
    GTEST_SKIP() << "requires the right to mount";
  EXPECT_EQ(status, 0);
}

TEST(CInterfaceDiskTest, AReadOnlyDisk) {
  TemporaryDirectory directory;
  int status = inChild([&] {
    if (!mountSmall(directory.path(), "8m"))
      return kCannotTest;
    std::string path = directory / "cache";
    Events events;
    mla_spec stored = smallSpec();
    stored.h_q = 2;
    if (!engineOf(path, events).prepare(stored))
      return 10;
    if (!makeReadOnly(directory.path(), "8m"))
      return kCannotTest;
    mla::Engine engine = engineOf(path, events);
    auto kernel = engine.prepare(stored);
    if (!kernel || kernel->info()->origin != MLA_ORIGIN_DISK)
      return 11;
    return workWithoutDisk(path);
  });
  if (status == kCannotTest)
    GTEST_SKIP() << "requires the right to mount";
  EXPECT_EQ(status, 0);
}

// G1: an archive where not even root may write.
TEST(CInterfaceDiskTest, AnArchiveOnAReadOnlyDisk) {
  TemporaryDirectory directory;
  int status = inChild([&] {
    if (!mountSmall(directory.path(), "8m"))
      return kCannotTest;
    std::string path = directory / "archive";
    mla_spec archived = smallSpec();
    archived.h_q = 2;
    if (!makeEngine().buildArchive({archived}, path.c_str()))
      return 10;
    if (!makeReadOnly(directory.path(), "8m"))
      return kCannotTest;
    Events events;
    mla::Engine engine = engineOf(directory / "cache", events);
    auto archive = engine.openArchive(path.c_str());
    auto kernel = engine.prepare(archived);
    if (!archive || !kernel || kernel->info()->origin != MLA_ORIGIN_ARCHIVE ||
        countersOf(engine).compiles)
      return 11;
    return workWithoutDisk(directory / "cache");
  });
  if (status == kCannotTest)
    GTEST_SKIP() << "requires the right to mount";
  EXPECT_EQ(status, 0);
}

TEST(CInterfaceDiskTest, ADirectoryThatIsNotWritable) {
  TemporaryDirectory directory;
  ::chmod(directory.path().c_str(), 0755);
  std::string path = directory / "cache";
  ASSERT_EQ(::mkdir(path.c_str(), 0555), 0);
  EXPECT_EQ(inChild([&] {
              becomeNobody();
              return workWithoutDisk(path);
            }),
            0);
}

TEST(CInterfaceDiskTest, ADirectoryThatIsNotSafe) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(path.c_str(), (directory / "link").c_str()), 0);
  EXPECT_EQ(workWithoutDisk(directory / "link"), 0);
  ::chmod(path.c_str(), 0777);
  EXPECT_EQ(workWithoutDisk(path), 0);
  EXPECT_EQ(countFiles(path), 0);
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

/// An entry as it was written, where, and one of another kernel.
struct Written {
  std::string path, good, other;
};
static const Written &written() {
  static const Written entries = [] {
    Written made;
    for (int heads : {4, 8}) {
      TemporaryDirectory directory;
      Events events;
      mla_spec spec = smallSpec();
      spec.h_q = heads;
      EXPECT_TRUE(engineOf(directory.path(), events).prepare(spec));
      std::string file = onlyEntryIn(directory.path());
      (heads == 4 ? made.good : made.other) = readFile(file);
      if (heads == 4)
        made.path = file.substr(directory.path().size());
    }
    return made;
  }();
  return entries;
}

/// The same with other content in one of its sections, and right checksums.
static std::string withSection(const std::string &bytes, std::string_view name,
                               std::string_view content) {
  auto entry = cache::Entry::fromBytes(cache::SharedBytes(bytes));
  std::vector<cache::Section> sections;
  for (const cache::Section &section : entry->sections())
    sections.push_back(section.name == name ? cache::Section{name, content}
                                            : section);
  cache::CacheKey key{std::string(entry->keyText())};
  return std::string(
      cache::Entry::make(key, entry->buildId(), sections)->bytes());
}

/// `bytes` in place of a good entry: compiled once more and told once, then
/// found again.
static void expectMadeAgain(const char *what, const std::string &bytes) {
  SCOPED_TRACE(what);
  TemporaryDirectory directory;
  Events first, second;
  std::filesystem::path file = directory.path() + written().path;
  ::mkdir(file.parent_path().c_str(), 0700);
  overwrite(file, bytes);
  {
    mla::Engine engine = engineOf(directory.path(), first);
    auto kernel = engine.prepare(smallSpec());
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_TRUE(givesTheMeans(engine, *kernel));
    EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_COMPILED);
    EXPECT_EQ(countersOf(engine).compiles, 1u);
  }
  EXPECT_EQ(first.of(MLA_EVENT_CACHE_WARNING).size(), 1u);
  mla::Engine engine = engineOf(directory.path(), second);
  auto kernel = engine.prepare(smallSpec());
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_DISK);
  EXPECT_TRUE(givesTheMeans(engine, *kernel));
  EXPECT_TRUE(second.of(MLA_EVENT_CACHE_WARNING).empty());
}

TEST(CInterfaceDiskTest, ATruncatedEntry) {
  const std::string &good = written().good;
  for (size_t size : {size_t(0), size_t(1), good.size() / 2, good.size() - 1})
    expectMadeAgain(std::to_string(size).c_str(), good.substr(0, size));
}

TEST(CInterfaceDiskTest, AnEntryOfOtherBytes) {
  std::string flipped = written().good;
  flipped[flipped.size() / 2] ^= 4;
  expectMadeAgain("a flipped bit", flipped);
  expectMadeAgain("another kernel's", written().other);
}

TEST(CInterfaceDiskTest, AnEntryThatIsNoKernel) {
  const std::string &good = written().good;
  expectMadeAgain("no description", withSection(good, "info", ""));
  expectMadeAgain("no compilation", withSection(good, "compilation", "x"));
  expectMadeAgain("no code", withSection(good, "obj", ""));
}

// Loading reads no text: whoever asks for it is told, and nobody else.
TEST(CInterfaceDiskTest, AnEntryWithTextThatCannotBeRead) {
  using namespace std::literals;
  for (std::string_view tile :
       {""sv, "short"sv, "\xff\xff\xff\xff\xff\xff\xff\xff"sv,
        "\5\0\0\0\0\0\0\0tile?"sv}) {
    TemporaryDirectory directory;
    Events events;
    std::filesystem::path file = directory.path() + written().path;
    ::mkdir(file.parent_path().c_str(), 0700);
    overwrite(file, withSection(written().good, "tile", tile));
    mla::Engine engine = engineOf(directory.path(), events);
    auto kernel = engine.prepare(smallSpec());
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(kernel->info()->origin, MLA_ORIGIN_DISK);
    EXPECT_TRUE(givesTheMeans(engine, *kernel));
    auto text = kernel->stage("tile");
    ASSERT_FALSE(text);
    EXPECT_NE(std::string(text.status().message()).find("is of no kernel"),
              std::string::npos)
        << text.status().message();
    auto other = kernel->stage("problem");
    ASSERT_TRUE(other) << other.status().message();
    EXPECT_NE(other->find("mla.decode"), std::string::npos);
  }
}
