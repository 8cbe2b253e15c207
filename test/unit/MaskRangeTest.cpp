//===- MaskRangeTest.cpp - Masks against brute force ----------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The contract of the mask interface: the predicate is the oracle's, the hull
// holds every key that some query sees, the inner interval only keys that all
// see, and both are as tight as an interval can be, where a key is seen at all.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/MaskRange.h"
#include "mla/Oracle/Oracle.h"

#include "gtest/gtest.h"

using namespace mla_jit;

namespace {
/// A mask by its name and values of its parameters.
struct MaskCase {
  const char *name;
  std::vector<int32_t> parameters;
};
} // namespace

/// Every mask has its lines here.
static const MaskCase kMasks[] = {
    {"none", {}},
    {"causal", {}},
    {"sliding_window", {-3}},
    {"sliding_window", {0}},
    {"sliding_window", {1}},
    {"sliding_window", {2}},
    {"sliding_window", {5}},
    {"sliding_window", {16}},
    {"sliding_window", {1000000}},
    {"sliding_window", {INT32_MAX}},
};

class MaskTest : public testing::TestWithParam<MaskCase> {
protected:
  MaskTest()
      : range(llvm::cantFail(
            MaskRange::create(std::string("#mla.") + GetParam().name))),
        reference(*oracle::makeMask(
            GetParam().name,
            {GetParam().parameters.begin(), GetParam().parameters.end()})) {}

  MaskRange range;
  oracle::Mask reference;
};

INSTANTIATE_TEST_SUITE_P(All, MaskTest, testing::ValuesIn(kMasks),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           for (int32_t p : info.param.parameters)
                             name += (p < 0 ? "_minus" : "_") +
                                     std::to_string(std::abs(int64_t(p)));
                           return name;
                         });

TEST_P(MaskTest, PredicateIsTheOracles) {
  EXPECT_EQ(range.parameterNames().size(), GetParam().parameters.size());
  for (int64_t query = -4; query < 24; ++query)
    for (int64_t key = 0; key < 24; ++key)
      ASSERT_EQ(range.sees(query, key, GetParam().parameters),
                reference(query, key))
          << "query " << query << ", key " << key;
}

TEST_P(MaskTest, IntervalsHoldWhatTheyPromise) {
  // As many keys as fit a few tiles, queries that end at the last key.
  for (int64_t numKeys : {0, 1, 2, 7, 17, 40})
    for (int64_t numQueries : {1, 2, 5, 23, 45})
      for (int64_t first = 0; first < numQueries; ++first)
        for (int64_t last : {first, (first + numQueries) / 2, numQueries - 1}) {
          if (last < first || last >= numQueries)
            continue;
          int64_t origin = numKeys - numQueries;
          MaskRange::Keys keys = range.keys(origin + first, origin + last,
                                            numKeys, GetParam().parameters);
          SCOPED_TRACE(testing::Message()
                       << numKeys << " keys, " << numQueries << " queries, "
                       << first << " to " << last << ": [" << keys.begin << ", "
                       << keys.end << "), inner [" << keys.innerBegin << ", "
                       << keys.innerEnd << ")");
          ASSERT_LE(0, keys.begin);
          ASSERT_LE(keys.begin, keys.end);
          ASSERT_LE(keys.end, numKeys);
          ASSERT_LE(0, keys.innerBegin);
          ASSERT_LE(keys.innerBegin, keys.innerEnd);
          ASSERT_LE(keys.innerEnd, numKeys);

          int64_t numSome = 0, numAll = 0;
          for (int64_t key = 0; key < numKeys; ++key) {
            bool some = false, all = true;
            for (int64_t query = first; query <= last; ++query) {
              bool sees = reference(origin + query, key);
              some |= sees;
              all &= sees;
            }
            numSome += some;
            numAll += all;
            if (some) {
              ASSERT_TRUE(keys.begin <= key && key < keys.end) << key;
            }
            if (keys.innerBegin <= key && key < keys.innerEnd) {
              ASSERT_TRUE(all) << key;
              ASSERT_TRUE(keys.begin <= key && key < keys.end) << key;
            }
          }
          // These masks' sets are intervals, so nothing is lost (but for
          // windows that are empty wherever they are).
          if (numSome > 0) {
            EXPECT_EQ(keys.end - keys.begin, numSome);
          }
          EXPECT_EQ(keys.innerEnd - keys.innerBegin, numAll);
        }
}

TEST(MaskRangeTest, RefusesWhatIsNoMask) {
  for (const char *text : {"", "#mla.nonsense", "#mla.target", "42 : i32"}) {
    auto range = MaskRange::create(text);
    ASSERT_FALSE(bool(range)) << text;
    EXPECT_EQ(llvm::toString(range.takeError()),
              "'" + std::string(text) + "' is not a mask");
  }
}
