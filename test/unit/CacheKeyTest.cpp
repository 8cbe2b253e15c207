//===- CacheKeyTest.cpp - Tests of digests, keys and build ids ------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cache/BuildId.h"
#include "../../runtime/src/cache/Key.h"

#include "gtest/gtest.h"

using namespace mla_jit::cache;

// The examples of FIPS 180-4, and the lengths around a block.
TEST(CacheHashTest, Sha256HasTheValuesOfTheStandard) {
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223"
                                 "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb924"
                              "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(
      sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// A version of the library that computes another one would take all that is
// stored for damaged.
TEST(CacheHashTest, TheChecksumIsXXH3) {
  EXPECT_EQ(checksum(""), 0x2D06800538D394C2u);
  EXPECT_EQ(checksum("abc"), 0x78AF5F94892F3950u);
}

TEST(CacheHashTest, TheChecksumSeesEveryBit) {
  std::string text(777, 'x');
  uint64_t whole = checksum(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] ^= 1 << bit % 8;
    EXPECT_NE(checksum(text), whole);
    text[bit / 8] ^= 1 << bit % 8;
  }
}

TEST(CacheKeyTest, TheOrderOfFieldsDoesNotMatter) {
  auto a = KeyBuilder().add("spec", "x").add("chip", "sm_90a").build();
  auto b = KeyBuilder().add("chip", "sm_90a").add("spec", "x").build();
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(*a == *b);
  EXPECT_EQ(a->text(), "chip 6:sm_90a\nspec 1:x\n");
  EXPECT_EQ(a->digest(), sha256(a->text()));
}

TEST(CacheKeyTest, WhatIsDifferentHasAnotherKey) {
  auto key = [](auto... parts) {
    KeyBuilder builder;
    const char *fields[] = {parts...};
    for (size_t i = 0; i < sizeof...(parts); i += 2)
      builder.add(fields[i], fields[i + 1]);
    return *builder.build();
  };
  EXPECT_FALSE(key("chip", "sm_90a") == key("chip", "sm_90"));
  EXPECT_FALSE(key("ab", "c") == key("a", "bc"));
  EXPECT_FALSE(key("a", "1", "b", "2") == key("a", "2", "b", "1"));
  // A value that looks like another field.
  EXPECT_FALSE(key("a", "1\nb 1:2") == key("a", "1", "b", "2"));
}

TEST(CacheKeyTest, FieldsCanBeReadAgain) {
  auto key =
      KeyBuilder().add("spec", "a = 1\nb 1:2\n").add("chip", "x").build();
  ASSERT_TRUE(key);
  auto fields = fieldsOfKey(key->text());
  EXPECT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields["spec"], "a = 1\nb 1:2\n");
  EXPECT_EQ(fields["chip"], "x");
  for (const char *text : {"spec", "spec 2:x\n", "spec x:1\n", "spec 1:ab"})
    EXPECT_TRUE(fieldsOfKey(text).empty()) << text;
}

TEST(CacheKeyTest, RefusesWhatWouldHideAMistake) {
  EXPECT_FALSE(KeyBuilder().build());
  EXPECT_EQ(KeyBuilder().add("spec", "").build().error().message,
            "the key field 'spec' requires a value, but got none");
  EXPECT_EQ(KeyBuilder().add("a", "1").add("a", "1").build().error().message,
            "the key field 'a' was given twice");
  for (const char *name : {"", "a b", "a\n", ".a", "a/b"})
    EXPECT_FALSE(KeyBuilder().add(name, "1").build()) << name;
}

TEST(CacheBuildIdTest, FindsTheNoteOfTheLibrary) {
  static const int ours = 0;
  auto id = buildIdOf(&ours);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_GE(id->size(), 16u);
  EXPECT_EQ(id->find_first_not_of("0123456789abcdef"), std::string::npos);
  auto libc = buildIdOf(reinterpret_cast<const void *>(&::malloc));
  EXPECT_TRUE(!libc || !libc->empty());
  int onStack = 0;
  EXPECT_FALSE(buildIdOf(&onStack));
}
