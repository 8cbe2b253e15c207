//===- VerifyShapes.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Shapes that others test with (section 7 of FEATURES.md, scaled to a CPU),
// element types, and schedules given by hand.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

namespace mla_jit::verify {

/// `batch` requests of `length` keys.
static GenOptions uniform(int64_t batch, int64_t length, int64_t sQ = 1) {
  return lengths(std::vector<int64_t>(batch, length), sQ);
}

/// `batch` lengths around `length`, some of them 0.
static GenOptions varied(int64_t batch, int64_t length, int64_t sQ) {
  GenOptions shape = lengths({}, sQ);
  for (int64_t b = 0; b < batch; ++b)
    shape.seqLens.push_back(b % 3 == 2 ? 0 : length - b * 37 % (length / 2));
  return shape;
}

static Case headsCase(std::string name, int64_t numHeads,
                      std::vector<GenOptions> shapes) {
  Case c;
  c.name = std::move(name);
  c.spec.numHeads = numHeads;
  c.shapes = std::move(shapes);
  return c;
}

static Case raggedCase(std::string name, int64_t numHeads,
                       std::vector<int64_t> qLens,
                       std::vector<int64_t> seqLens) {
  Case c = headsCase(std::move(name), numHeads, {lengths(std::move(seqLens))});
  c.spec.raggedQ = true;
  c.shapes[0].qLens = std::move(qLens);
  c.splits = {0, 1, 4};
  return c;
}

//===----------------------------------------------------------------------===//
// Lists of others
//===----------------------------------------------------------------------===//

static void addDenseLists(std::vector<Case> &cases) {
  cases.push_back(headsCase(
      "list.h128", 128, {uniform(1, 50), uniform(1, 1024), uniform(2, 2048)}));
  cases.push_back(headsCase("list.h128-4096", 128, {uniform(1, 4096)}));
  cases.push_back(
      headsCase("list.h16", 16, {uniform(1, 50), uniform(1, 1024)}));
  cases.push_back(headsCase(
      "list.h64", 64, {uniform(1, 50), uniform(1, 1024), uniform(1, 2048)}));
  for (int64_t batch : {0, 1, 27})
    cases.push_back(headsCase("list.batch" + std::to_string(batch), 16,
                              {uniform(batch, 50), uniform(batch, 200, 3)}));
  std::vector<GenOptions> queries;
  for (int64_t sQ = 1; sQ <= 8; ++sQ)
    queries.push_back(uniform(2, 300, sQ));
  cases.push_back(headsCase("list.q1-8-h16", 16, queries));
  cases.push_back(headsCase("list.q1-8-h128", 128, queries));
  cases.push_back(
      headsCase("list.wide-batch", 8, {uniform(128, 64), uniform(64, 100)}));
  cases.push_back(headsCase("list.32k", 8, {uniform(1, 32768)}));
  cases.push_back(headsCase("list.64k", 4, {uniform(1, 65536)}));
  for (const char *name : {"list.32k", "list.64k", "list.h128-4096"})
    for (Case &c : cases)
      if (c.name == name)
        c.slow = true;
}

static void addPagedLists(std::vector<Case> &cases) {
  cases.push_back(
      headsCase("list.ragged-kv", 16,
                {lengths({30, 50, 80, 100}), lengths({30, 256, 640, 1024}),
                 lengths({30, 128, 256, 512, 1024, 4096})}));
  cases.push_back(headsCase(
      "list.ragged-kv-32k", 8,
      {lengths({30, 1024, 8192, 32768}), lengths({30, 512, 4096, 16384})}));
  cases.back().slow = true;
  cases.push_back(raggedCase("list.ragged-q-h16", 16, {1, 3, 2, 4},
                             {256, 1024, 512, 2048}));
  cases.push_back(raggedCase("list.ragged-q-h128", 128, {2, 1, 5, 3},
                             {256, 1024, 512, 1024}));
  cases.push_back(raggedCase("list.ragged-q-empty", 16, {0, 3, 0, 4, 0},
                             {256, 0, 0, 2, 17}));
  cases.push_back(
      raggedCase("list.ragged-q-none", 16, {0, 0, 0}, {256, 0, 17}));
  cases.push_back(raggedCase("list.ragged-q-batch0", 16, {}, {}));
}

/// The grid of FlashMLA's dense tests: one kernel for each head count and mask.
static void addFlashMLAGrid(std::vector<Case> &cases) {
  for (int64_t numHeads : {1, 3, 9, 63, 64, 126, 128})
    for (const char *mask : {"causal", "none"}) {
      Case c = headsCase("flashmla.h" + std::to_string(numHeads) + "-" + mask,
                         numHeads, {});
      c.spec.mask = mask;
      for (int64_t batch : {1, 2, 6})
        for (int64_t sQ : {1, 2, 4})
          for (int64_t length : {20, 140}) {
            // Large ones only once: the oracle takes long.
            if (numHeads > 9 && batch == 6 && sQ > 1)
              continue;
            c.shapes.push_back((batch + sQ) % 2 ? uniform(batch, length, sQ)
                                                : varied(batch, length, sQ));
          }
      c.shapes.push_back(uniform(1, 4096));
      cases.push_back(c);
    }
}

//===----------------------------------------------------------------------===//
// Types and schedules
//===----------------------------------------------------------------------===//

static void addTypes(std::vector<Case> &cases) {
  constexpr DType kFloats[] = {DType::BF16, DType::F16, DType::F32};
  for (DType q : kFloats)
    for (DType kv : kFloats)
      for (DType out : kFloats) {
        Case c = headsCase("dtype." + std::string(toString(q)) + "-" +
                               std::string(toString(kv)) + "-" +
                               std::string(toString(out)),
                           16, {lengths({130, 0, 65}, 2)});
        c.spec.qDType = q;
        c.spec.kvDType = kv;
        c.spec.outDType = out;
        c.splits = {0, 1, 3};
        cases.push_back(c);
      }
  // Large queries, as trained models have them.
  for (DType dtype : kFloats) {
    Case c = headsCase("dtype." + std::string(toString(dtype)) + "-std100", 16,
                       {lengths({130, 0, 2000}, 2)});
    c.spec.qDType = c.spec.kvDType = dtype;
    c.shapes[0].qStd = 100;
    c.splits = {0, 1, 3};
    cases.push_back(c);
  }
}

static void addSchedules(std::vector<Case> &cases) {
  using Edits = std::vector<std::pair<std::string, std::string>>;
  // Register blocks that 16 vector registers hold.
  const Edits edits[] = {{{"block_n", "16"}},
                         {{"block_n", "32"}},
                         {{"block_n", "256"}},
                         {{"block_m", "4"}, {"qk", "4x2"}, {"pv", "2x4"}},
                         {{"block_m", "1"}, {"qk", "1x1"}, {"pv", "1x1"}},
                         {{"block_m", "48"}, {"qk", "8x1"}, {"pv", "6x2"}},
                         {{"block_m", "128"}, {"qk", "4x2"}, {"pv", "8x1"}},
                         {{"split", "whole"}},
                         {{"split", "row_local"}, {"split_tiles", "1"}},
                         {{"split", "row_local"}, {"split_tiles", "5"}},
                         {{"kv", "direct"}},
                         {{"kv", "staged"}},
                         {{"kv", "staged"},
                          {"block_n", "16"},
                          {"block_m", "2"},
                          {"qk", "2x2"},
                          {"pv", "2x3"}}};
  for (int64_t numHeads : {6, 33})
    for (auto [i, edit] : llvm::enumerate(edits)) {
      // Sizes that blocks do not divide.
      Case c = headsCase(
          "schedule." + std::to_string(i) + "-h" + std::to_string(numHeads),
          numHeads, {lengths({17, 0, 300, 64}), lengths({65, 130, 1}, 3)});
      c.spec.headDim = numHeads == 6 ? 576 : 200;
      c.spec.headDimV = numHeads == 6 ? 512 : 136;
      c.splits = {0, 1, 3, 64};
      c.scheduleEdits = edit;
      cases.push_back(c);
    }
}

void addShapeCases(std::vector<Case> &cases) {
  addDenseLists(cases);
  addPagedLists(cases);
  addFlashMLAGrid(cases);
  addTypes(cases);
  addSchedules(cases);
}

} // namespace mla_jit::verify
