//===- OracleTest.cpp - Tests of the oracle against values worked out by hand
//===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The cases A1, A5, A6, A7 and A10 are those of CASES.md. Tensors here are f32
// unless a test is about formats: the values are exact in every one of them.
//
//===----------------------------------------------------------------------===//

#include "mla/Oracle/Oracle.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

using namespace mla_jit;
using namespace mla_jit::oracle;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kTiny = 1e-12;

/// A dense problem in f32 with 8 columns, of which the first dV are the value.
struct Dense {
  std::vector<float> q, k;
  std::vector<int32_t> lengths;
  Problem problem;

  Dense(int64_t sQ, int64_t heads, int64_t slots, std::vector<int32_t> lengths,
        int64_t dV = 8)
      : lengths(std::move(lengths)) {
    int64_t b = this->lengths.size();
    q.assign(b * sQ * heads * 8, 0);
    k.assign(b * slots * 8, kNaN);
    for (int64_t i = 0; i < b; ++i)
      std::fill_n(k.begin() + i * slots * 8,
                  std::min<int64_t>(this->lengths[i], slots) * 8, 0.0f);
    problem.q = Tensor(q.data(), DType::F32, {b, sQ, heads, 8});
    problem.k = Tensor(k.data(), DType::F32, {b, slots, 1, 8});
    problem.seqLens = Tensor(this->lengths.data(), DType::I32, {b});
    problem.headDimV = dV;
    problem.scale = 1;
    problem.mask = *makeMask("causal");
  }
  Dense(const Dense &) = delete;
};

Result evaluated(const Problem &problem) {
  Result result = evaluate(problem);
  EXPECT_EQ(result.error, "");
  return result;
}
} // namespace

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

TEST(OracleTest, A1_EmptyRowsAreZeroAndMinusInfinity) {
  Dense d(/*sQ=*/1, /*heads=*/16, /*slots=*/20, {0, 17});
  for (int k = 0; k < 17; ++k)
    d.k[(20 + k) * 8] = 3;
  Result result = evaluated(d.problem);
  for (int h = 0; h < 16; ++h) {
    EXPECT_EQ(result.lse[h], -kInf);
    EXPECT_NEAR(result.lse[16 + h], std::log(17), kTiny);
    EXPECT_NEAR(result.out[(16 + h) * 8], 3, kTiny);
    for (int c = 0; c < 8; ++c) {
      EXPECT_EQ(result.out[h * 8 + c], 0);
      EXPECT_FALSE(std::signbit(result.out[h * 8 + c]));
    }
  }
  Dense empty(1, 2, 4, std::vector<int32_t>(8, 0));
  for (double lse : evaluated(empty.problem).lse)
    EXPECT_EQ(lse, -kInf);
  Dense none(1, 2, 4, {});
  EXPECT_EQ(evaluated(none.problem).rows, 0);
}

TEST(OracleTest, A5_LSEIsNaturalLogarithm) {
  Dense d(1, 1, 8, {8});
  EXPECT_NEAR(evaluated(d.problem).lse[0], 2.0794415, 1e-7);
  // 2 keys of value 1 and 8 of value -1 make -0.6.
  Dense merged(1, 1, 10, {10});
  for (int k = 0; k < 10; ++k)
    merged.k[k * 8] = k < 2 ? 1 : -1;
  Result result = evaluated(merged.problem);
  EXPECT_NEAR(result.out[0], -0.6, kTiny);
  EXPECT_NEAR(result.lse[0], std::log(10), kTiny);
}

TEST(OracleTest, A6_LargeLogits) {
  // The key is (logit, 1, 0, ...) and (logit, 0, 1, ...); q takes the first
  // column, and columns 1 and 2 of the output show the weights.
  auto run = [](float first, float second) {
    Dense d(1, 1, 2, {2});
    d.q[0] = 1;
    d.k[0] = first, d.k[1] = 1;
    d.k[8] = second, d.k[10] = 1;
    return evaluated(d.problem);
  };
  for (float sign : {1.0f, -1.0f}) {
    Result result = run(sign * 200, sign * 199);
    EXPECT_NEAR(result.out[sign > 0 ? 1 : 2], 0.7310586, 1e-7);
    EXPECT_NEAR(result.out[sign > 0 ? 2 : 1], 0.2689414, 1e-7);
    EXPECT_NEAR(result.lse[0], sign > 0 ? 200.3132617 : -198.6867383, 1e-7);
  }
  Result result = run(1e4, -1e4);
  EXPECT_EQ(result.out[1], 1);
  EXPECT_EQ(result.out[2], 0);
  EXPECT_EQ(result.lse[0], 1e4);
}

TEST(OracleTest, A7_SoftmaxScaleIsTakenAsGiven) {
  struct {
    double scale, out, lse;
  } cases[] = {
      {std::pow(576, -0.5), 0.5825702, 0.8736389},
      {std::pow(192, -0.5), 0.6404575, 1.0229228},
      {std::pow(192, -0.5) * 1.3688879 * 1.3688879, 0.7468477, 1.3737642}};
  for (auto c : cases) {
    Dense d(1, 1, 2, {2});
    d.q[0] = 8;
    d.k[0] = 1; // also the value: V0 = 1, V1 = 0
    d.problem.scale = c.scale;
    Result result = evaluated(d.problem);
    EXPECT_NEAR(result.out[0], c.out, 1e-7);
    EXPECT_NEAR(result.lse[0], c.lse, 1e-7);
  }
}

TEST(OracleTest, A10_CausalIsBottomRightAligned) {
  auto run = [](int64_t sQ, int32_t length) {
    Dense d(sQ, 1, length, {length});
    for (int k = 0; k < length; ++k)
      d.k[k * 8] = k;
    return evaluated(d.problem);
  };
  Result square = run(4, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(square.out[i * 8], i / 2.0, kTiny);
    EXPECT_NEAR(square.lse[i], std::log(i + 1), kTiny);
  }
  Result tall = run(4, 2);
  EXPECT_EQ(tall.lse[0], -kInf);
  EXPECT_EQ(tall.lse[1], -kInf);
  EXPECT_EQ(tall.out[8], 0);
  EXPECT_EQ(tall.lse[2], 0);
  EXPECT_EQ(tall.out[2 * 8], 0); // V0
  EXPECT_NEAR(tall.out[3 * 8], 0.5, kTiny);
  EXPECT_NEAR(tall.lse[3], std::log(2), kTiny);
  Result wide = run(8, 65);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NEAR(wide.out[i * 8], (57 + i) / 2.0, 1e-9);
    EXPECT_NEAR(wide.lse[i], std::log(58 + i), kTiny);
  }
  Result veryTall = run(1024, 256);
  EXPECT_EQ(veryTall.lse[767], -kInf);
  EXPECT_NEAR(veryTall.lse[1023], std::log(256), kTiny);
}

//===----------------------------------------------------------------------===//
// Masks and score modifications
//===----------------------------------------------------------------------===//

TEST(OracleTest, MasksByName) {
  EXPECT_TRUE((*makeMask("none"))(0, 5));
  EXPECT_TRUE((*makeMask("causal"))(5, 5));
  EXPECT_FALSE((*makeMask("causal"))(5, 6));
  EXPECT_FALSE((*makeMask("causal"))(-1, 0));
  Mask window = *makeMask("sliding_window", {3});
  for (int k = 0; k < 10; ++k)
    EXPECT_EQ(window(5, k), k >= 3 && k <= 5) << k;
  EXPECT_FALSE(makeMask("sliding_window"));
  EXPECT_FALSE(makeMask("causal", {1}));
  EXPECT_FALSE(makeMask("windmill"));
}

TEST(OracleTest, SlidingWindowIgnoresKeysOutside) {
  // Two queries at positions 8 and 9 see keys 6..8 and 7..9. The others are NaN
  // and must not be read.
  Dense d(/*sQ=*/2, 1, 10, {10});
  for (int k = 0; k < 10; ++k)
    std::fill_n(d.k.begin() + k * 8, 8, k < 6 ? kNaN : float(k));
  d.problem.mask = *makeMask("sliding_window", {3});
  Result result = evaluated(d.problem);
  EXPECT_NEAR(result.out[0], 7, kTiny);
  EXPECT_NEAR(result.out[8], 8, kTiny);
  EXPECT_NEAR(result.lse[0], std::log(3), kTiny);
}

TEST(OracleTest, ScoreModSeesPositionsAndMayHideKeys) {
  Dense d(/*sQ=*/2, /*heads=*/2, 4, {4, 3});
  for (int n = 0; n < 8; ++n)
    d.k[n * 8] = n % 4;
  d.problem.scoreMod = [](int64_t b, int64_t h, int64_t q, int64_t k,
                          double score) {
    EXPECT_EQ(score, 0);
    if (b == 1)
      return h == 0 ? -kInf : 0.0;
    return h == 0 ? (k == q ? 0.0 : -kInf) : double(q - k);
  };
  Result result = evaluated(d.problem);
  auto row = [](int b, int i, int h) { return (b * 2 + i) * 2 + h; };
  EXPECT_EQ(result.out[row(0, 0, 0) * 8], 2); // the query's own key
  EXPECT_EQ(result.out[row(0, 1, 0) * 8], 3);
  EXPECT_EQ(result.lse[row(1, 0, 0)], -kInf);
  EXPECT_EQ(result.out[row(1, 0, 0) * 8], 0);
  EXPECT_NEAR(result.lse[row(1, 1, 1)], std::log(3), kTiny);
  // exp(3 - k) over k = 0..3.
  double sum = 1 + std::exp(1) + std::exp(2) + std::exp(3);
  EXPECT_NEAR(result.lse[row(0, 1, 1)], std::log(sum), kTiny);
}

//===----------------------------------------------------------------------===//
// Layouts and formats
//===----------------------------------------------------------------------===//

TEST(OracleTest, HeadsShareTheKVHeadOfTheirGroup) {
  Dense d(1, /*heads=*/6, 2, {1});
  d.problem.k = Tensor(d.k.data(), DType::F32, {1, 1, 2, 8});
  d.k[0] = 5, d.k[8] = 7;
  std::fill_n(d.k.begin() + 9, 7, 0.0f);
  Result result = evaluated(d.problem);
  for (int h = 0; h < 6; ++h)
    EXPECT_EQ(result.out[h * 8], h < 3 ? 5 : 7);
}

TEST(OracleTest, LatentAndRopeTensorsMakeOneRow) {
  // Scores: latent 2 * 1, rope 3 * 5; the value has a column of the rope part.
  Dense d(1, 1, 1, {1}, /*dV=*/9);
  std::vector<float> qRope(8, 0.0f), kRope(8, 0.0f);
  d.q[0] = 2, d.k[0] = 1;
  qRope[0] = 3, kRope[0] = 5;
  d.problem.qRope = Tensor(qRope.data(), DType::F32, {1, 1, 1, 8});
  d.problem.kRope = Tensor(kRope.data(), DType::F32, {1, 1, 1, 8});
  Result result = evaluated(d.problem);
  EXPECT_EQ(result.lse[0], 17);
  EXPECT_EQ(result.out[0], 1);
  EXPECT_EQ(result.out[8], 5);
}

TEST(OracleTest, RaggedQueriesLeaveOtherRowsUntouched) {
  Dense d(1, 1, 4, {4, 2, 4});
  for (int n = 0; n < 12; ++n)
    d.k[n * 8] = n % 4;
  std::vector<float> q(7 * 8, 0.0f);
  std::vector<int64_t> offsets = {1, 3, 3, 6}; // rows 0 and 6 belong to nobody
  d.problem.q = Tensor(q.data(), DType::F32, {7, 1, 8});
  d.problem.qOffsets = Tensor(offsets.data(), DType::I64, {4});
  Result result = evaluated(d.problem);
  EXPECT_EQ(result.rows, 7);
  EXPECT_EQ(result.written, (std::vector<uint8_t>{0, 1, 1, 1, 1, 1, 0}));
  EXPECT_TRUE(std::isnan(result.out[0]));
  EXPECT_TRUE(std::isnan(result.lse[6]));
  EXPECT_NEAR(result.out[1 * 8], 1, kTiny);   // keys 0..2
  EXPECT_NEAR(result.out[2 * 8], 1.5, kTiny); // keys 0..3
  EXPECT_NEAR(result.out[3 * 8], 0.5, kTiny); // keys 0..1
  EXPECT_NEAR(result.lse[5], std::log(4), kTiny);
}

namespace {
/// Five keys of values 0..4 in pages 3, 0, 4 of a pool of five NaN pages of two
/// keys, with gaps between tokens and pages.
struct Paged : Dense {
  static constexpr int kToken = 10, kPage = 25;
  std::vector<float> pool = std::vector<float>(5 * kPage, kNaN);
  std::vector<int32_t> table;
  std::vector<int64_t> rows;

  Paged() : Dense(1, 1, 5, {5}) {
    const int pages[] = {3, 0, 4};
    for (int k = 0; k < 5; ++k) {
      float *row = &pool[pages[k / 2] * kPage + k % 2 * kToken];
      std::fill_n(row, 8, 0.0f);
      row[0] = k;
    }
    problem.k = Tensor(pool.data(), DType::F32, {5, 2, 1, 8});
    problem.k.stride = {kPage, kToken, 8, 1};
  }
};
} // namespace

TEST(OracleTest, PagesAreFoundThroughTheTable) {
  Paged p;
  // The spare column is not a page, and row 0 is nobody's.
  p.table = {-1, -1, -1, -1, 3, 0, 4, 0x7FFFFFFF};
  p.rows = {1};
  p.problem.table = Tensor(p.table.data(), DType::I32, {2, 4});
  p.problem.tableRows = Tensor(p.rows.data(), DType::I64, {1});
  EXPECT_NEAR(evaluated(p.problem).out[0], 2, kTiny);
}

TEST(OracleTest, PagesAreFoundThroughCSR) {
  Paged p;
  p.table = {9, 9, 3, 0, 4};
  p.rows = {2, 5};
  p.problem.kvIndptr = Tensor(p.rows.data(), DType::I64, {2});
  p.problem.kvIndices = Tensor(p.table.data(), DType::I32, {5});
  EXPECT_NEAR(evaluated(p.problem).out[0], 2, kTiny);
}

TEST(OracleTest, EntriesOfInvisiblePagesAreNotDereferenced) {
  Paged p;
  p.table = {0x7FFFFFFF, -1, 4};
  p.problem.table = Tensor(p.table.data(), DType::I32, {1, 3});
  p.problem.mask = *makeMask("sliding_window", {1});
  EXPECT_EQ(evaluated(p.problem).out[0], 4);
}

TEST(OracleTest, MalformedProblemsAreRefused) {
  Paged p;
  p.table = {3, 5, 4};
  p.problem.table = Tensor(p.table.data(), DType::I32, {1, 3});
  EXPECT_EQ(evaluate(p.problem).error,
            "page 1 of request 0: requires one of 5 pages, but got page id 5");
  p.problem.table = Tensor(p.table.data(), DType::I32, {1, 1});
  EXPECT_EQ(evaluate(p.problem).error,
            "table row of request 0: requires 2 pages, but got 1");
  p.problem.table = Tensor(p.table.data(), DType::F32, {1, 3});
  EXPECT_EQ(evaluate(p.problem).error,
            "tensor 'table': requires integers of rank 2, but got f32[1, 3]");
  Dense d(1, 1, 4, {5});
  EXPECT_EQ(evaluate(d.problem).error,
            "tensor 'k': requires 5 slots for request 0, but got 4");
}

TEST(OracleTest, ReadsEveryFormat) {
  const uint16_t bf16[8] = {0x3F80, 0xC000, 0x0001, 0x8000,
                            0x7F7F, 0x0080, 0x4049, 0};
  const double bf16Values[8] = {
      1, -2, 0x1p-133, -0.0, std::ldexp(255, 120), 0x1p-126, 3.140625, 0};
  const uint16_t f16[8] = {0x3C00, 0xC000, 0x0001, 0x8000,
                           0x7BFF, 0x0400, 0x4248, 0x03FF};
  const double f16Values[8] = {1,       -2,      0x1p-24,  -0.0,
                               65504.0, 0x1p-14, 3.140625, 1023 * 0x1p-24};
  for (DType dtype : {DType::BF16, DType::F16}) {
    Dense d(1, 1, 1, {1});
    const uint16_t *bits = dtype == DType::F16 ? f16 : bf16;
    const double *values = dtype == DType::F16 ? f16Values : bf16Values;
    d.problem.k = Tensor(const_cast<uint16_t *>(bits), dtype, {1, 1, 1, 8});
    Result result = evaluated(d.problem); // q = 0: one key of weight 1
    for (int c = 0; c < 8; ++c)
      EXPECT_EQ(result.out[c], values[c]) << c;
  }
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
/// Two ragged rows, the first not written, of one head and two columns.
struct Checked {
  Result expected;
  std::vector<float> out = std::vector<float>(4), lse = std::vector<float>(2);
  Tensor outTensor{out.data(), DType::F32, {2, 1, 2}};
  Tensor lseTensor{lse.data(), DType::F32, {2, 1}};

  Checked() {
    expected.rows = 2, expected.heads = 1, expected.headDimV = 2;
    expected.out = {kNaN, kNaN, 1, -2};
    expected.lse = {kNaN, 3};
    expected.written = {0, 1};
    prefill(outTensor);
    prefill(lseTensor);
    out[2] = 1, out[3] = -2, lse[1] = 3;
  }
  Comparison check() const { return compare(expected, outTensor, lseTensor); }
};
} // namespace

TEST(CompareTest, EqualPasses) {
  Comparison comparison = Checked().check();
  EXPECT_TRUE(comparison.passed) << comparison.firstMismatch;
  EXPECT_EQ(comparison.maxOutError, 0);
  EXPECT_EQ(comparison.cosineDifference, 0);
  EXPECT_EQ(comparison.firstMismatch, "");
}

TEST(CompareTest, ReportsTheFirstMismatch) {
  Checked c;
  c.out[3] = -2.5;
  c.lse[1] = 4;
  Comparison comparison = c.check();
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.maxOutError, 0.5);
  EXPECT_EQ(comparison.maxLseError, 1);
  EXPECT_GT(comparison.cosineDifference, 0.01);
  EXPECT_EQ(comparison.mismatches, 3); // out, cosine and lse
  EXPECT_EQ(comparison.firstMismatch,
            "out[1, 0, 1]: expected -2, but got -2.5, off by 0.5 (allowed "
            "0.000344)");
}

TEST(CompareTest, MissingAndForbiddenWritesFail) {
  Checked missing;
  prefill(missing.lseTensor);
  EXPECT_EQ(missing.check().firstMismatch,
            "lse[1, 0]: expected 3, but got nan, the pre-fill: not written");
  Checked forbidden;
  forbidden.out[0] = 0;
  EXPECT_EQ(forbidden.check().firstMismatch,
            "out[0, 0, 0]: is outside q_offsets and must not be written");
}

TEST(CompareTest, InfinitiesMustMatch) {
  Checked c;
  c.expected.lse[1] = -kInf;
  c.lse[1] = -kInf;
  EXPECT_TRUE(c.check().passed);
  c.lse[1] = -1e30f;
  EXPECT_FALSE(c.check().passed);
  c.lse[1] = kInf;
  EXPECT_FALSE(c.check().passed);
  c.lse[1] = kNaN;
  EXPECT_FALSE(c.check().passed);
  c.expected.lse[1] = 3;
  c.lse[1] = -kInf;
  EXPECT_FALSE(c.check().passed);
}

TEST(CompareTest, LSEIsOptionalAndShapesAreChecked) {
  Checked c;
  EXPECT_TRUE(compare(c.expected, c.outTensor, Tensor()).passed);
  EXPECT_FALSE(compare(c.expected, c.lseTensor, Tensor()).passed);
  EXPECT_FALSE(compare(c.expected, c.outTensor, c.outTensor).passed);
  c.expected.error = "no such page";
  EXPECT_EQ(c.check().firstMismatch,
            "the oracle refused the problem: no such page");
}

TEST(CompareTest, ToleranceDependsOnTheFormat) {
  EXPECT_DOUBLE_EQ(toleranceFor(DType::BF16).outRel, 2.01 / 128);
  EXPECT_DOUBLE_EQ(toleranceFor(DType::F16).outRel, 2.01 / 1024);
  EXPECT_DOUBLE_EQ(toleranceFor(DType::F32).outRel, 8.01 / 65536);
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

static double roundToBF16(double value) {
  auto single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
  std::memcpy(&single, &bits, sizeof(bits));
  return single;
}

/// Requests of two keys with random rows, which often cancel each other.
struct Cancelling : Dense {
  static constexpr int kRequests = 4000;

  Cancelling() : Dense(1, 1, 2, std::vector<int32_t>(kRequests, 2)) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (auto *values : {&q, &k})
      for (float &value : *values)
        value = normal(engine);
    problem.wantsMagnitudes = true;
  }

  /// What a kernel makes of it whose weights are off by `error(weight)`.
  std::vector<float>
  outWith(const std::function<double(double)> &rounded) const {
    std::vector<float> out;
    for (int b = 0; b < kRequests; ++b) {
      double scores[2] = {};
      for (int n = 0; n < 2; ++n)
        for (int c = 0; c < 8; ++c)
          scores[n] += double(q[b * 8 + c]) * k[(2 * b + n) * 8 + c];
      double most = std::max(scores[0], scores[1]);
      double weights[] = {std::exp(scores[0] - most),
                          std::exp(scores[1] - most)};
      for (int c = 0; c < 8; ++c)
        out.push_back((rounded(weights[0]) * k[2 * b * 8 + c] +
                       rounded(weights[1]) * k[(2 * b + 1) * 8 + c]) /
                      (weights[0] + weights[1]));
    }
    return out;
  }

  Comparison check(std::vector<float> out, bool tensorCores) const {
    Tensor tensor(out.data(), DType::F32, {kRequests, 1, 1, 8});
    return compare(evaluated(problem), tensor, Tensor(),
                   tensorCores ? tensorCoreTolerance(DType::BF16, DType::BF16)
                               : toleranceFor(DType::BF16));
  }
};

TEST(CompareTest, RoundedWeightsAreWithinTheToleranceOfTensorCores) {
  Cancelling c;
  // Without its share of the magnitudes, cancellation would not pass.
  EXPECT_FALSE(c.check(c.outWith(roundToBF16), false).passed);
  Comparison rounded = c.check(c.outWith(roundToBF16), true);
  EXPECT_TRUE(rounded.passed) << rounded.firstMismatch;
  // Three times the error is too much.
  auto worse = [](double weight) {
    return weight + 3 * (roundToBF16(weight) - weight);
  };
  EXPECT_FALSE(c.check(c.outWith(worse), true).passed);
}

TEST(OracleTest, Magnitudes) {
  Dense d(1, 1, 2, {2}, /*dV=*/2);
  d.q[2] = 3;
  d.k[0] = 1, d.k[1] = 4, d.k[8] = -1, d.k[10] = -2;
  d.problem.scale = 0.5;
  d.problem.wantsMagnitudes = true;
  Result result = evaluated(d.problem);
  double weight = std::exp(-3.0); // of the second key
  EXPECT_NEAR(result.out[0], (1 - weight) / (1 + weight), kTiny);
  EXPECT_NEAR(result.outMagnitude[0], 1, kTiny);
  EXPECT_NEAR(result.outMagnitude[1], 4 / (1 + weight), kTiny);
  EXPECT_NEAR(result.logitMagnitude[0], 0.5 * 3 * std::sqrt(17), kTiny);
}
