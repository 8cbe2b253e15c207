//===- VerifyMasks.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Masks and score code.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <cmath>

using llvm::Error;

namespace mla_jit::verify {

namespace {
/// A mask as a case names it.
struct MaskKind {
  std::string name; ///< of the case
  std::string mask;
  std::vector<std::pair<std::string, double>> parameters;
};
} // namespace

static std::vector<MaskKind> maskKinds() {
  std::vector<MaskKind> kinds = {{"none", "none", {}},
                                 {"causal", "causal", {}}};
  for (int window : {0, 1, 77, 89, 512, 100000})
    kinds.push_back({"window" + std::to_string(window),
                     "sliding_window",
                     {{"window", static_cast<double>(window)}}});
  return kinds;
}

/// Lengths around tiles, pages and windows.
static std::vector<GenOptions> maskShapes() {
  return {lengths({11, 29, 156, 208, 256}), lengths({512, 523, 600, 1208}),
          lengths({2008}, 2), lengths({0, 1, 2, 3, 64, 65}, 3),
          lengths({77, 78, 89, 140, 1000}, 8)};
}

static void addMasks(std::vector<Case> &cases) {
  for (const MaskKind &kind : maskKinds()) {
    Case c;
    c.name = "mask." + kind.name;
    c.spec.numHeads = 16;
    c.spec.mask = kind.mask;
    c.maskParameters = kind.parameters;
    c.shapes = maskShapes();
    c.splits = {0, 1, 4};
    cases.push_back(c);

    // Rows of one block see different keys when few heads share many queries.
    c.name += "-h3";
    c.spec.numHeads = 3;
    c.shapes.push_back(lengths({300, 20}, 65));
    cases.push_back(c);
    c.name = "mask." + kind.name + "-ragged";
    c.spec.raggedQ = true;
    GenOptions ragged = lengths({256, 1024, 0, 512, 33, 2});
    ragged.qLens = {1, 3, 2, 0, 40, 5};
    c.shapes = {ragged};
    cases.push_back(c);
    c.name = "mask." + kind.name + "-rowlocal";
    c.spec.raggedQ = false;
    c.spec.rowLocalSplits = true;
    c.shapes = {lengths({11, 2008, 0, 1208}, 3), lengths({5000})};
    cases.push_back(c);
  }
}

/// Keys that no query of the request sees any more are NaN: some share a tile
/// with the first one of the window. Pages of such keys are nowhere.
static void addKeysBeforeWindow(std::vector<Case> &cases) {
  static constexpr int64_t kQueries = 2, kWindow = 77;
  struct Kind {
    int64_t heads, pageSize;
  };
  for (Kind kind : {Kind{16, 64}, {64, 64}, {16, 16}, {64, 16}, {128, 32}}) {
    Case c;
    c.name = llvm::formatv("mask.nan-before-window-h{0}", kind.heads);
    if (kind.pageSize != 64)
      c.name += llvm::formatv("-page{0}", kind.pageSize);
    c.spec = specOfHeads(kind.heads, "sliding_window");
    c.spec.pageSize = kind.pageSize;
    c.maskParameters = {{"window", kWindow}};
    c.shapes = {lengths({300, 512, 64}, kQueries)};
    c.splits = {0, 2};
    c.edit = [](Problem &problem) {
      auto firstSeen = [&](int64_t b) {
        return integerAt(problem, "seq_lens", b) - kQueries - kWindow + 1;
      };
      setKeys(problem, [&](int64_t b, int64_t key, int64_t column) {
        if (key < firstSeen(b))
          return std::numeric_limits<double>::quiet_NaN();
        return (key * 31 + column * 17) % 64 / 16.0 - 2;
      });
      Tensor table = problem.inputs.view("table");
      for (int64_t b = 0; b < table.shape[0]; ++b)
        for (int64_t page = 0;
             (page + 1) * problem.spec.pageSize <= firstSeen(b); ++page)
          writeElement(table.data, table.dtype, b * table.stride[0] + page,
                       std::numeric_limits<int32_t>::max());
      return Error::success();
    };
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// Score code
//===----------------------------------------------------------------------===//

static void addScores(std::vector<Case> &cases) {
  for (const char *score : {"softcap:30", "softcap:0.5", "alibi"})
    for (const char *mask : {"none", "causal", "sliding_window"}) {
      Case c;
      llvm::StringRef kind = llvm::StringRef(score).split(':').first;
      c.name = ("score." + kind +
                (score == llvm::StringRef("softcap:0.5") ? "-low" : "") + "-" +
                llvm::StringRef(mask).take_until([](char ch) {
                  return ch == '_';
                })).str();
      c.spec.numHeads = 16;
      c.spec.mask = mask;
      if (c.spec.mask == "sliding_window")
        c.maskParameters = {{"window", 77}};
      c.score = score;
      c.shapes = {lengths({17, 0, 523, 64}), lengths({130, 1, 300}, 5)};
      c.splits = {0, 1, 3};
      cases.push_back(c);
    }
  for (const char *score : {"softcap:30", "alibi"}) {
    Case c;
    c.name =
        "score." + llvm::StringRef(score).split(':').first.str() + "-gqa-f32";
    c.spec.numHeads = 12;
    c.spec.numKVHeads = 4;
    c.spec.headDim = c.spec.headDimV = 128;
    c.spec.qDType = c.spec.kvDType = c.spec.outDType = DType::F32;
    c.spec.raggedQ = true;
    c.score = score;
    c.shapes = {lengths({17, 0, 523, 64}), lengths({130, 1, 300}, 5)};
    c.splits = {0, 1, 3};
    cases.push_back(c);
  }
}

/// Score code that is not in ScoreMods: every index it is given, and -inf.
static Case customScore(const char *name, const std::string &body,
                        const oracle::ScoreMod &reference) {
  Case c;
  c.name = std::string("score.") + name;
  c.spec.numHeads = 6;
  c.spec.numKVHeads = 2;
  c.spec.headDim = 192;
  c.spec.headDimV = 128;
  c.shapes = {lengths({17, 0, 523, 64}), lengths({130, 1, 300}, 5)};
  c.splits = {0, 1, 3};
  c.note = "score code of its own";
  c.spec.scoreBody = body;
  c.edit = [=](Problem &problem) {
    problem.score.reference = reference;
    return Error::success();
  };
  return c;
}

static void addCustomScores(std::vector<Case> &cases) {
  cases.push_back(
      customScore("positions",
                  "      %c3 = arith.constant 3 : i32\n"
                  "      %c7 = arith.constant 7 : i32\n"
                  "      %bh = arith.addi %b, %h : i32\n"
                  "      %bh3 = arith.muli %bh, %c3 : i32\n"
                  "      %distance = arith.subi %qpos, %kpos : i32\n"
                  "      %sum = arith.addi %bh3, %distance : i32\n"
                  "      %bits = arith.andi %sum, %c7 : i32\n"
                  "      %bias = arith.sitofp %bits : i32 to f32\n"
                  "      %biased = arith.addf %score, %bias : f32\n"
                  "      mla.yield %biased : f32",
                  [](int64_t b, int64_t h, int64_t q, int64_t k, double score) {
                    return score + (((b + h) * 3 + q - k) & 7);
                  }));
  // -inf hides a key: every third one, and of head 1 all.
  cases.push_back(
      customScore("hide",
                  "      %c0 = arith.constant 0 : i32\n"
                  "      %c1 = arith.constant 1 : i32\n"
                  "      %c3 = arith.constant 3 : i32\n"
                  "      %inf = arith.constant 0xFF800000 : f32\n"
                  "      %rest = arith.remsi %kpos, %c3 : i32\n"
                  "      %third = arith.cmpi eq, %rest, %c0 : i32\n"
                  "      %head = arith.cmpi eq, %h, %c1 : i32\n"
                  "      %hidden = arith.ori %third, %head : i1\n"
                  "      %kept = arith.select %hidden, %inf, %score : f32\n"
                  "      mla.yield %kept : f32",
                  [](int64_t, int64_t h, int64_t, int64_t k, double score) {
                    return k % 3 == 0 || h == 1 ? -HUGE_VAL : score;
                  }));
  // Hides the first 200 keys: whole pieces of a split see nothing.
  cases.push_back(
      customScore("hide-first",
                  "      %first = arith.constant 200 : i32\n"
                  "      %inf = arith.constant 0xFF800000 : f32\n"
                  "      %hidden = arith.cmpi slt, %kpos, %first : i32\n"
                  "      %kept = arith.select %hidden, %inf, %score : f32\n"
                  "      mla.yield %kept : f32",
                  [](int64_t, int64_t, int64_t, int64_t k, double score) {
                    return k < 200 ? -HUGE_VAL : score;
                  }));
  cases.push_back(
      customScore("temperature",
                  "      %c = arith.constant 0.5 : f32\n"
                  "      %scaled = arith.mulf %score, %c : f32\n"
                  "      %sine = math.sin %scaled : f32\n"
                  "      mla.yield %sine : f32",
                  [](int64_t, int64_t, int64_t, int64_t, double score) {
                    return std::sin(score / 2);
                  }));
  cases.push_back(customScore(
      "constant",
      "      %c = arith.constant 2.5 : f32\n"
      "      mla.yield %c : f32",
      [](int64_t, int64_t, int64_t, int64_t, double) { return 2.5; }));
  // The index is also a constant outside of the code. What it does not name is
  // NaN.
  Case named =
      customScore("constant-index",
                  "      %c0 = arith.constant 0 : index\n"
                  "      %factor = memref.load %factors[%c0] : memref<?xf32>\n"
                  "      %scaled = arith.mulf %score, %factor : f32\n"
                  "      mla.yield %scaled : f32",
                  [](int64_t, int64_t, int64_t, int64_t, double score) {
                    return score * 0.75;
                  });
  named.spec.scoreArguments = {{"factors", "memref<?xf32>"}};
  named.edit = [setReference = named.edit](Problem &problem) -> Error {
    auto factors = problem.inputs.add("factors", DType::F32, {2});
    if (!factors)
      return factors.takeError();
    static_cast<float *>(factors->data)[0] = 0.75f;
    static_cast<float *>(factors->data)[1] = NAN;
    return setReference(problem);
  };
  cases.push_back(named);
}

void addMaskCases(std::vector<Case> &cases) {
  addMasks(cases);
  addKeysBeforeWindow(cases);
  addScores(cases);
  addCustomScores(cases);
}

} // namespace mla_jit::verify
