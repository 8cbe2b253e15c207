//===- DevicePlanTest.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOnHost.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace mla_test;

namespace {

constexpr int kTile = 64;
/// Of a piece that two CTAs merge themselves.
constexpr int kSlotOfPair = -2;

int ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Tiles that a row block sees.
struct Hull {
  int first = 0, tiles = 0;
};

/// A row block: request, KV head and first row.
using RowBlock = std::array<int, 3>;

struct Launch {
  PlanKind kind;
  PlanInput input;

  std::vector<RowBlock> rowBlocks() const {
    std::vector<RowBlock> all;
    for (int r = 0; r < int(input.lengths.size()); ++r)
      for (int h = 0; h < kind.kvHeads; ++h)
        for (int row = 0; row < input.queries[r] * kind.group();
             row += kind.blockM)
          all.push_back({r, h, row});
    return all;
  }

  Hull hull(const RowBlock &block, int rows) const {
    auto [request, head, first] = block;
    int kvLen = std::max(input.lengths[request], 0);
    int qLen = input.queries[request];
    int last = std::min(first + rows, qLen * kind.group()) - 1;
    int begin = 0, end = kvLen;
    if (kind.mask != "#mla.none") {
      int firstQ = kvLen - qLen + first / kind.group();
      int lastQ = kvLen - qLen + last / kind.group();
      end = std::max(lastQ + 1, 0);
      if (kind.mask == "#mla.sliding_window")
        begin = std::max(std::max(firstQ + 1, 0) - input.window, 0);
    }
    if (begin >= end)
      return {begin / kTile, 0};
    return {begin / kTile, ceilDiv(end, kTile) - begin / kTile};
  }

  int mostPieces() const {
    int given = kind.hasSplits ? std::max(input.splits, 0) : 0;
    if (kind.split == "row_local")
      return given ? given : 32;
    return kind.split == "balanced" ? given : 0;
  }

  /// Entries that the runtime gives to the buffers of scope `piece`.
  int64_t pieces() const {
    int64_t blocks = 0;
    for (size_t r = 0; r < input.lengths.size(); ++r)
      blocks +=
          int64_t(ceilDiv(ceilDiv(input.queries[r] * kind.group(), kind.blockM),
                          kind.rowBlocks)) *
          kind.rowBlocks * kind.kvHeads;
    return blocks * std::max(mostPieces(), 1) + input.workers;
  }
  /// Whether the runtime launches the CTAs in clusters of two.
  bool mayPair() const {
    int64_t units = rowBlocks().size();
    return kind.pairs && !kind.ragged && kind.split == "balanced" &&
           !mostPieces() && input.workers % 2 == 0 && units > 0 &&
           input.workers / units == 2;
  }
  int64_t slots() const {
    if (int most = mostPieces())
      return int64_t(rowBlocks().size()) * most;
    return 2 * input.workers;
  }
};

std::string describe(const Launch &launch) {
  std::string s = launch.kind.mask + " " + launch.kind.split + " heads " +
                  std::to_string(launch.kind.heads) + "/" +
                  std::to_string(launch.kind.kvHeads) + " block_m " +
                  std::to_string(launch.kind.blockM) + " row_blocks " +
                  std::to_string(launch.kind.rowBlocks) + " workers " +
                  std::to_string(launch.input.workers) + " splits " +
                  std::to_string(launch.input.splits) + " window " +
                  std::to_string(launch.input.window) + " [";
  for (size_t r = 0; r < std::min<size_t>(launch.input.lengths.size(), 12); ++r)
    s += std::to_string(launch.input.queries[r]) + "x" +
         std::to_string(launch.input.lengths[r]) + " ";
  return s + "] batch " + std::to_string(launch.input.lengths.size());
}

/// A piece that some CTA does.
struct Piece {
  int first, tiles, slot, cta;
};

/// The pieces of every row block, in order; checks the entries by themselves.
std::map<RowBlock, std::vector<Piece>> collect(const Launch &launch,
                                               const PlanOutput &plan) {
  std::map<RowBlock, std::vector<Piece>> pieces;
  std::set<int> entries, slots;
  for (int cta = 0; cta < launch.input.workers; ++cta) {
    auto [begin, end] = plan.ranges[cta];
    EXPECT_LE(0, begin);
    EXPECT_LE(begin, end);
    EXPECT_LE(end, int64_t(plan.work.size()));
    RowBlock previous = {-1, 0, 0};
    for (int i = begin; i < std::min<int>(end, plan.work.size()); ++i) {
      EXPECT_TRUE(entries.insert(i).second) << "two CTAs do entry " << i;
      auto [request, head, row, first, tiles, slot, kvLen, qLen] = plan.work[i];
      RowBlock block = {request, head, row};
      EXPECT_LE(previous, block);
      previous = block;
      if (size_t(request) >= launch.input.lengths.size()) {
        ADD_FAILURE() << "entry " << i << " of CTA " << cta << " of [" << begin
                      << ", " << end << ") is of request " << request;
        return {};
      }
      EXPECT_EQ(kvLen, std::max(launch.input.lengths[request], 0));
      EXPECT_EQ(qLen, launch.input.queries[request]);
      EXPECT_GE(slot, launch.mayPair() ? kSlotOfPair : -1);
      EXPECT_LT(slot, launch.slots());
      if (slot >= 0)
        EXPECT_TRUE(slots.insert(slot).second) << "two pieces in " << slot;
      pieces[block].push_back({first, tiles, slot, cta});
    }
  }
  return pieces;
}

/// The slots of what is to be merged, in order.
std::map<RowBlock, std::vector<int>> collectSplits(const Launch &launch,
                                                   const PlanOutput &plan) {
  std::map<RowBlock, std::vector<int>> splits;
  for (auto [request, head, row, count, first, next, stride, qLen] :
       plan.splits) {
    std::vector<int> slots;
    for (int i = 0; i < count; ++i)
      slots.push_back(i ? next + (i - 1) * stride : first);
    EXPECT_TRUE(splits.insert({{request, head, row}, slots}).second);
    if (size_t(request) < launch.input.queries.size())
      EXPECT_EQ(qLen, launch.input.queries[request]);
  }
  return splits;
}

/// Every tile of every row block is done once, and what is split is merged.
void check(const Launch &launch, const PlanOutput &plan) {
  SCOPED_TRACE(describe(launch));
  EXPECT_FALSE(plan.overrun);
  EXPECT_TRUE(plan.listsAlike);
  auto pieces = collect(launch, plan);
  auto splits = collectSplits(launch, plan);
  size_t numSplit = 0;
  for (const RowBlock &block : launch.rowBlocks()) {
    Hull hull = launch.hull(block, launch.kind.blockM);
    const std::vector<Piece> &mine = pieces[block];
    std::string name = std::to_string(block[0]) + ", " +
                       std::to_string(block[1]) + ", " +
                       std::to_string(block[2]);
    ASSERT_FALSE(mine.empty()) << "nobody does " << name;
    std::vector<int> slots;
    int next = hull.first;
    for (const Piece &piece : mine) {
      if (piece.tiles > 0)
        EXPECT_EQ(piece.first, next) << name;
      next += piece.tiles;
      slots.push_back(piece.slot);
    }
    EXPECT_EQ(next, hull.first + hull.tiles) << name;
    if (mine.size() == 1 && slots[0] == -1)
      continue;
    if (llvm::is_contained(slots, kSlotOfPair)) {
      // Both halves in one cluster, and nothing else to do for its CTAs.
      EXPECT_EQ(slots, std::vector<int>(2, kSlotOfPair)) << name;
      EXPECT_EQ(mine[0].cta % 2, 0) << name;
      EXPECT_EQ(mine[0].cta + 1, mine[1].cta) << name;
      for (const Piece &piece : mine)
        EXPECT_EQ(plan.ranges[piece.cta][1] - plan.ranges[piece.cta][0], 1);
      EXPECT_FALSE(splits.count(block)) << name;
      continue;
    }
    ++numSplit;
    EXPECT_GT(mine.size(), 1u) << name;
    EXPECT_EQ(splits[block], slots) << name;
    if (launch.mostPieces()) {
      EXPECT_LE(int(mine.size()), launch.mostPieces());
      int size = std::max(
          ceilDiv(hull.tiles, launch.mostPieces()),
          launch.kind.split == "row_local" ? launch.kind.splitTiles : 1);
      for (size_t i = 0; i + 1 < mine.size(); ++i)
        EXPECT_EQ(mine[i].tiles, size) << name;
    }
  }
  EXPECT_EQ(pieces.size(), launch.rowBlocks().size());
  EXPECT_EQ(splits.size(), numSplit);
  if (launch.kind.split == "whole")
    EXPECT_EQ(numSplit, 0u);
}

PlanOnHost compile(const PlanKind &kind) {
  return llvm::cantFail(PlanOnHost::compile(kind));
}

//===----------------------------------------------------------------------===//
// Random launches
//===----------------------------------------------------------------------===//

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int within(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine);
  }
  template <typename T> T of(std::initializer_list<T> list) {
    return list.begin()[within(0, list.size() - 1)];
  }

private:
  std::mt19937 engine;
};

PlanInput randomInput(Random &random, const PlanKind &kind) {
  PlanInput input;
  int batch = random.of({0, 1, 2, 7, random.within(1, 200)});
  int longest = random.of({1, 64, 100, 1000, 20000});
  int style = random.within(0, 3); // even, any, mostly short, with zeros
  int mostQueries = random.of({1, 1, 2, 4, random.within(1, 40)});
  for (int r = 0; r < batch; ++r) {
    int length = random.within(0, longest);
    if (style == 0)
      length = longest;
    else if (style == 2 && random.within(0, 9))
      length /= 50;
    else if (style == 3 && random.within(0, 1))
      length = random.of({0, -3});
    input.lengths.push_back(length);
    input.queries.push_back(kind.ragged ? random.within(0, mostQueries)
                                        : mostQueries);
  }
  input.splits = random.of({0, 0, 1, 3, -1, 40});
  input.window = random.of({0, 1, 64, 1000});
  input.workers = random.of({1, 2, 5, 64, 132, random.within(1, 132)});
  return input;
}

void checkMany(PlanKind kind, unsigned seed) {
  Random random(seed);
  for (int rowBlocks : {1, 2, 3})
    for (bool ragged : {false, true})
      for (auto [heads, kvHeads, blockM] :
           {std::array{16, 1, 16}, std::array{128, 1, 64},
            std::array{40, 2, 64}}) {
        kind.rowBlocks = rowBlocks;
        kind.ragged = ragged;
        kind.heads = heads, kind.kvHeads = kvHeads, kind.blockM = blockM;
        kind.splitTiles = random.of({1, 4});
        PlanOnHost plan = compile(kind);
        for (int i = 0; i < 40; ++i) {
          Launch launch = {kind, randomInput(random, kind)};
          check(launch, plan.run(launch.input, launch.pieces()));
          if (testing::Test::HasFailure())
            return;
        }
      }
}

} // namespace

TEST(DevicePlan, Balanced) { checkMany({"#mla.causal", "balanced"}, 1); }
TEST(DevicePlan, BalancedWithoutMask) {
  PlanKind kind = {"#mla.none", "balanced"};
  kind.hasSplits = false;
  checkMany(kind, 2);
}
TEST(DevicePlan, BalancedWindow) {
  checkMany({"#mla.sliding_window", "balanced"}, 3);
}
TEST(DevicePlan, RowLocal) { checkMany({"#mla.causal", "row_local"}, 4); }
TEST(DevicePlan, RowLocalWithoutCount) {
  PlanKind kind = {"#mla.sliding_window", "row_local"};
  kind.hasSplits = false;
  checkMany(kind, 5);
}
TEST(DevicePlan, Whole) { checkMany({"#mla.causal", "whole"}, 6); }

TEST(DevicePlan, Pairs) {
  for (bool ragged : {true, false})
    for (auto [heads, kvHeads, blockM] :
         {std::array{16, 1, 16}, std::array{40, 2, 32}}) {
      PlanKind kind = {"#mla.causal", "balanced"};
      kind.pairs = true, kind.ragged = ragged;
      kind.heads = heads, kind.kvHeads = kvHeads, kind.blockM = blockM;
      PlanOnHost plan = compile(kind);
      Random random(10);
      for (int i = 0; i < 40; ++i) {
        Launch launch = {kind, randomInput(random, kind)};
        // Mostly as many workers as pairs need.
        int units = launch.rowBlocks().size();
        if (i % 4)
          launch.input.workers = 2 * units + random.within(0, units + 1);
        launch.input.workers = std::max(launch.input.workers, 1);
        check(launch, plan.run(launch.input, launch.pieces()));
      }
    }
}

TEST(DevicePlan, ManyRequests) {
  PlanKind kind = {"#mla.causal", "balanced"};
  PlanOnHost plan = compile(kind);
  Launch launch = {kind, {}};
  Random random(7);
  launch.input.workers = 132;
  for (int r = 0; r < 4096; ++r) {
    launch.input.lengths.push_back(random.within(0, 3000));
    launch.input.queries.push_back(1);
  }
  check(launch, plan.run(launch.input, launch.pieces()));
}

TEST(DevicePlan, ManyQueries) {
  for (bool ragged : {false, true}) {
    PlanKind kind = {"#mla.causal", "balanced"};
    kind.heads = 128, kind.blockM = 64, kind.rowBlocks = 2;
    kind.ragged = ragged;
    PlanOnHost plan = compile(kind);
    Launch launch = {kind, {{5000, 2000}, {2000, 2000}}};
    launch.input.workers = 132;
    check(launch, plan.run(launch.input, launch.pieces()));
  }
}

//===----------------------------------------------------------------------===//
// Balance
//===----------------------------------------------------------------------===//

namespace {

/// How a launch of an even length comes out.
struct Balance {
  int busy = 0;       ///< CTAs with work
  int most = 0;       ///< tiles of the busiest
  int partials = 0;   ///< pieces that must be merged
  int mostPieces = 0; ///< of a CTA
};

Balance balance(PlanKind kind, PlanInput input) {
  Launch launch = {kind, input};
  PlanOutput plan = compile(kind).run(input, launch.pieces());
  check(launch, plan);
  Balance result;
  for (auto [begin, end] : plan.ranges) {
    int tiles = 0;
    for (int i = begin; i < end; ++i) {
      tiles += plan.work[i][4];
      result.partials += plan.work[i][5] >= 0;
    }
    result.busy += end > begin;
    result.most = std::max(result.most, tiles);
    result.mostPieces = std::max(result.mostPieces, end - begin);
  }
  return result;
}

PlanInput even(int batch, int length, int queries = 1) {
  PlanInput input;
  input.lengths.assign(batch, length);
  input.queries.assign(batch, queries);
  input.workers = 132;
  return input;
}

PlanKind manyRows() {
  PlanKind kind = {"#mla.none", "balanced"};
  kind.heads = 128, kind.blockM = 64, kind.rowBlocks = 2;
  return kind;
}
PlanKind fewRows() { return {"#mla.none", "balanced"}; }

} // namespace

TEST(DevicePlan, WholeUnitsWhereTheyBalance) {
  Balance b = balance(manyRows(), even(128, 4096));
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.most, 128);
  EXPECT_EQ(b.partials, 0);
  b = balance(fewRows(), even(128, 8192));
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.partials, 0);
}

TEST(DevicePlan, EqualPiecesOfEachRequest) {
  Balance b = balance(fewRows(), even(64, 4096));
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.most, 32);
  b = balance(fewRows(), even(1, 4096));
  EXPECT_EQ(b.busy, 64);
  EXPECT_EQ(b.most, 1);
  b = balance(fewRows(), even(1, 65536));
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.most, 8);
  b = balance(manyRows(), even(1, 65536));
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.most, 16);
}

TEST(DevicePlan, PairsOfHalves) {
  PlanKind kind = fewRows();
  kind.pairs = true;
  // 64 requests on 132 CTAs, and of uneven lengths up to 1.5 times the mean.
  PlanInput input = even(64, 512);
  Balance b = balance(kind, input);
  EXPECT_EQ(b.busy, 128);
  EXPECT_EQ(b.most, 4);
  EXPECT_EQ(b.partials, 0);
  input.lengths[3] = 700;
  input.lengths[5] = 64;
  b = balance(kind, input);
  EXPECT_EQ(b.most, 6);
  EXPECT_EQ(b.partials, 0);
  input.lengths[3] = 2000;
  EXPECT_GT(balance(kind, input).partials, 0);
  // Three pieces of each, one, an odd number of CTAs, or a count.
  EXPECT_GT(balance(kind, even(44, 4096)).partials, 0);
  EXPECT_EQ(balance(kind, even(128, 4096)).partials, 0);
  input = even(64, 512);
  input.workers = 131;
  EXPECT_GT(balance(kind, input).partials, 0);
  input = even(64, 512);
  input.splits = 2;
  EXPECT_GT(balance(kind, input).partials, 0);
}

TEST(DevicePlan, PiecesAreWorthTheirMerge) {
  // 16 tiles a request; 4 a group would be the mean.
  Balance b = balance(manyRows(), even(16, 1024));
  EXPECT_EQ(b.busy, 96);
  EXPECT_EQ(b.most, 6);
}

TEST(DevicePlan, UnevenLengthsBalance) {
  PlanInput input = even(4, 1024);
  input.lengths[2] = 32768;
  Balance b = balance(fewRows(), input);
  EXPECT_LE(b.most, 5); // 560 tiles: mean 4.3
  EXPECT_EQ(b.mostPieces, 1);
  input = even(64, 700);
  input.lengths[5] = 65536;
  b = balance(fewRows(), input);
  EXPECT_LE(b.most, 14); // 1717 tiles and 64 units: mean 13.5
  Random random(9);
  input = even(128, 0);
  for (int32_t &length : input.lengths)
    length = random.within(1, 8192);
  int64_t tiles = 0;
  for (int32_t length : input.lengths)
    tiles += ceilDiv(length, kTile);
  b = balance(manyRows(), input);
  EXPECT_LE(b.most, (tiles + 128) / 66 + 1);
  b = balance(fewRows(), input);
  EXPECT_LE(b.most, (tiles + 128) / 132 + 1);
}
