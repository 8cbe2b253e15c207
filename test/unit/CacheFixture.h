//===- CacheFixture.h - What the tests of the kernel cache share *- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_CACHEFIXTURE_H
#define MLA_TEST_UNIT_CACHEFIXTURE_H

#include "../../runtime/src/cache/DiskCache.h"
#include "ChildProcess.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

// Sanitizers cost time, and keep memory that was freed.
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// A directory of its own, removed at the end; in memory where that can be had,
/// as fsync of a real disk is slow and changes nothing that a test can see.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    bool inMemory = ::access("/dev/shm", W_OK | X_OK) == 0;
    std::string name =
        (inMemory ? "/dev/shm/" : testing::TempDir()) + "mla-cache-XXXXXX";
    where = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(where, ignored);
  }
  const std::string &path() const { return where; }
  std::string operator/(const std::string &name) const {
    return where + "/" + name;
  }

private:
  std::string where;
};

inline mla_jit::cache::CacheKey keyOf(int i) {
  return *mla_jit::cache::KeyBuilder()
              .add("spec", "kernel " + std::to_string(i))
              .add("chip", "sm_90a")
              .build();
}

/// Bytes that differ from key to key and do not repeat.
inline std::string contentOf(const mla_jit::cache::CacheKey &key, size_t size) {
  std::string content(size, '\0');
  uint64_t state = key.digest().prefix();
  for (char &byte : content) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return content;
}

inline mla_jit::cache::Entry entryOf(const mla_jit::cache::CacheKey &key,
                                     size_t size = 2000,
                                     std::string_view build = "b1") {
  std::string content = contentOf(key, size);
  const mla_jit::cache::Section sections[] = {
      {"tile", "module {}"}, {"cubin", content}, {"metadata", ""}};
  return *mla_jit::cache::Entry::make(key, build, sections);
}

inline bool
isEntryOf(const mla_jit::cache::Result<mla_jit::cache::Entry> &entry,
          const mla_jit::cache::CacheKey &key, size_t size = 2000) {
  return entry && entry->keyText() == key.text() &&
         entry->section("cubin") == contentOf(key, size);
}

inline std::unique_ptr<mla_jit::cache::DiskCache>
openDisk(const std::string &path, mla_jit::cache::DiskOptions options = {}) {
  if (options.buildId.empty())
    options.buildId = "b1";
  auto disk = mla_jit::cache::DiskCache::open(path, std::move(options));
  EXPECT_TRUE(disk) << disk.error().message;
  return disk ? std::move(*disk) : nullptr;
}

/// The number of files below a directory, the lock file apart.
inline int countFiles(const std::string &directory) {
  int count = 0;
  for (auto &item : std::filesystem::recursive_directory_iterator(directory))
    count += item.is_regular_file() && item.path().filename() != "locks";
  return count;
}

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Writes in place, as damage does.
inline void overwrite(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Writes a new file; unlike the above, some file systems need no disk for it.
inline void replace(const std::string &path, std::string_view bytes) {
  ::unlink(path.c_str());
  overwrite(path, bytes);
}

#endif // MLA_TEST_UNIT_CACHEFIXTURE_H
