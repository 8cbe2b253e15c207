//===- CacheEntryTest.cpp - Tests of the form of cache entries ------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

using namespace mla_jit::cache;

static Result<Entry> parse(std::string bytes) {
  return Entry::fromBytes(SharedBytes(std::move(bytes)));
}

TEST(CacheEntryTest, ReadsWhatWasWritten) {
  Entry made = entryOf(keyOf(1));
  auto read = parse(std::string(made.bytes()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->keyText(), keyOf(1).text());
  EXPECT_EQ(read->buildId(), "b1");
  ASSERT_EQ(read->sections().size(), 3u);
  EXPECT_EQ(read->section("tile"), "module {}");
  EXPECT_EQ(read->section("cubin"), contentOf(keyOf(1), 2000));
  EXPECT_EQ(read->section("metadata"), "");
  EXPECT_EQ(read->section("ptx"), std::nullopt);
}

TEST(CacheEntryTest, CopiesShareTheirBytes) {
  std::optional<Entry> made = entryOf(keyOf(1));
  Entry copy = *made;
  EXPECT_EQ(copy.bytes().data(), made->bytes().data());
  made.reset();
  EXPECT_EQ(copy.section("tile"), "module {}");
}

TEST(CacheEntryTest, SectionNamesMustDiffer) {
  const Section twice[] = {{"cubin", "a"}, {"cubin", "b"}};
  EXPECT_EQ(Entry::make(keyOf(1), "b1", twice).error().kind,
            ErrorKind::Invalid);
}

TEST(CacheEntryTest, EveryFlippedBitIsFound) {
  std::string bytes(entryOf(keyOf(1), 100).bytes());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1 << bit % 8;
    auto entry = parse(bytes);
    ASSERT_FALSE(entry) << bit;
    EXPECT_EQ(entry.error().kind, ErrorKind::Damaged);
    EXPECT_NE(entry.error().message, "");
    bytes[bit / 8] ^= 1 << bit % 8;
  }
  EXPECT_TRUE(parse(bytes));
}

TEST(CacheEntryTest, EveryOtherLengthIsFound) {
  std::string bytes(entryOf(keyOf(1), 100).bytes());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse(bytes.substr(0, size))) << size;
  EXPECT_FALSE(parse(bytes + '\0'));
}

// Numbers that a checksum does not protect from an author.
TEST(CacheEntryTest, WrongSizesDoNoHarm) {
  std::string bytes(entryOf(keyOf(1), 100).bytes());
  uint32_t headBytes;
  std::memcpy(&headBytes, bytes.data() + 12, 4);
  for (size_t at = 8; at + 4 <= headBytes - 8; ++at) {
    for (uint32_t value : {0u, 1u, 0x7fffffffu, 0xffffffffu}) {
      std::string wrong = bytes;
      std::memcpy(wrong.data() + at, &value, 4);
      uint64_t sum = checksum(wrong.substr(0, headBytes - 8));
      std::memcpy(wrong.data() + headBytes - 8, &sum, 8);
      if (auto entry = parse(wrong))
        EXPECT_LE(entry->keyText().size(), bytes.size());
    }
  }
}

TEST(CacheEntryTest, AnotherVersionIsNamed) {
  std::string bytes(entryOf(keyOf(1)).bytes());
  bytes[8] = 7;
  EXPECT_EQ(parse(bytes).error().message,
            "requires format version 2, but got 7");
}
