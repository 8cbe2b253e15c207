//===- GenerateTest.cpp - Tests of the input generator --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Generate.h"
#include "mla/Inputs/Models.h"

#include "llvm/Support/xxhash.h"

#include "gtest/gtest.h"

#include <cmath>
#include <set>

using namespace mla_jit;
using llvm::cantFail;
using llvm::StringRef;

namespace {
/// Few and short rows, so that everything can be looked at.
Spec smallSpec() {
  Spec spec;
  spec.numHeads = 4;
  spec.headDim = 40;
  spec.headDimV = 32;
  spec.pageSize = 16;
  return spec;
}

GenOptions smallOptions() {
  GenOptions options;
  options.seqLens = {37, 0, 16};
  options.sQ = 2;
  return options;
}

/// A tensor of integers or floats, by index.
double at(const Tensor &t, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  int dim = 0;
  for (int64_t i : index)
    offset += i * t.stride[dim++];
  return readElement(t.data, t.dtype, offset);
}

uint64_t hashOf(const TensorSet &set) {
  uint64_t hash = 0;
  for (const auto &[name, tensor] : set.entries())
    hash = hash * 31 + llvm::xxh3_64bits(set.storage(name));
  return hash;
}

/// Elements of the storage that are not NaN.
int64_t numFinite(const TensorSet &set, StringRef name) {
  Tensor t = set.view(name);
  int64_t count = 0, size = set.storage(name).size() / byteSize(t.dtype);
  for (int64_t i = 0; i < size; ++i)
    count += !std::isnan(readElement(t.data, t.dtype, i));
  return count;
}

std::string errorOf(const Spec &spec, const GenOptions &options) {
  llvm::Expected<TensorSet> set = generateInputs(spec, options);
  return set ? "" : llvm::toString(set.takeError());
}
} // namespace

TEST(GenerateTest, TheSameSeedGivesTheSameBytes) {
  Spec spec = smallSpec();
  GenOptions options = smallOptions();
  TensorSet set = cantFail(generateInputs(spec, options));
  EXPECT_EQ(hashOf(set), hashOf(cantFail(generateInputs(spec, options))));
  // On any machine: a change here changes every recorded result.
  EXPECT_EQ(hashOf(set), 0x17C44482DB9A4CAEu);
  options.seed = 1;
  EXPECT_NE(hashOf(set), hashOf(cantFail(generateInputs(spec, options))));
}

TEST(GenerateTest, ShapesAndMetadata) {
  TensorSet set = cantFail(generateInputs(smallSpec(), smallOptions()));
  EXPECT_EQ(set.view("q").describe(), "bf16[3, 2, 4, 40]");
  EXPECT_EQ(set.view("k").describe(), "bf16[9, 16, 1, 40]"); // 3 + 0 + 1 + 5
  EXPECT_EQ(set.view("table").describe(), "i32[3, 5]");
  EXPECT_EQ(set.view("seq_lens").describe(), "i32[3]");
  EXPECT_EQ(set.size(), 4u);
  EXPECT_EQ(set.metadata["softmax_scale"], "0.135233779");
  EXPECT_EQ(set.metadata["layout"], "paged");
  EXPECT_EQ(set.metadata["mask"], "causal");
}

TEST(GenerateTest, LatentHasUnitRMSAndRopeIsNormal) {
  Spec spec;
  spec.kvDType = DType::F32;
  GenOptions options;
  options.seqLens = {200};
  options.qStd = 3;
  TensorSet set = cantFail(generateInputs(spec, options));
  Tensor q = set.view("q"), k = set.view("k"), table = set.view("table");
  double ropeSquares = 0, querySquares = 0;
  for (int64_t n = 0; n < 200; ++n) {
    int64_t page = at(table, {0, n / 64});
    double squares = 0;
    for (int64_t c = 0; c < 512; ++c)
      squares += std::pow(at(k, {page, n % 64, 0, c}), 2);
    EXPECT_NEAR(std::sqrt(squares / 512), 1, 1e-6);
    for (int64_t c = 512; c < 576; ++c)
      ropeSquares += std::pow(at(k, {page, n % 64, 0, c}), 2);
  }
  EXPECT_NEAR(std::sqrt(ropeSquares / (200 * 64)), 1, 0.03);
  for (int64_t h = 0; h < 128; ++h)
    for (int64_t c = 0; c < 576; ++c)
      querySquares += std::pow(at(q, {0, 0, h, c}), 2);
  EXPECT_NEAR(std::sqrt(querySquares / (128 * 576)), 3, 0.05);
}

TEST(GenerateTest, RopeTurnsWithThePosition) {
  // The query of a request with more keys is the same one, further turned: pair
  // j by theta^(-2j/64) a position. The latent part does not change.
  Spec spec;
  spec.qDType = DType::F32;
  spec.numHeads = 1;
  auto query = [&](int64_t length) {
    GenOptions options;
    options.seqLens = {length};
    TensorSet set = cantFail(generateInputs(spec, options));
    std::vector<double> row;
    for (int64_t c = 0; c < 576; ++c)
      row.push_back(at(set.view("q"), {0, 0, 0, c}));
    return row;
  };
  std::vector<double> a = query(10), b = query(13);
  for (int64_t c = 0; c < 512; ++c)
    EXPECT_EQ(a[c], b[c]);
  for (int64_t c = 512; c < 576; c += 2) {
    double turned = std::atan2(b[c + 1], b[c]) - std::atan2(a[c + 1], a[c]);
    double angle = 3 * std::pow(10000, -double(c - 512) / 64);
    EXPECT_NEAR(std::remainder(turned - angle, 2 * M_PI), 0, 1e-5) << c;
  }
}

TEST(GenerateTest, UnusedPagedSlotsAreNaN) {
  Spec spec = smallSpec();
  spec.ropeDim = 8;
  GenOptions options = smallOptions();
  options.tokenGap = 3;
  options.pageGap = 2;
  TensorSet set = cantFail(generateInputs(spec, options));
  Tensor k = set.view("k"), rope = set.view("k_rope");
  EXPECT_EQ(k.describe(), "bf16[9, 16, 1, 32]");
  EXPECT_EQ(rope.describe(), "bf16[9, 16, 1, 8]");
  EXPECT_EQ(k.stride[1], 35);
  EXPECT_EQ(k.stride[0], 18 * 35);
  EXPECT_EQ(numFinite(set, "k"), 53 * 32);
  EXPECT_EQ(numFinite(set, "k_rope"), 53 * 8);
  Tensor table = set.view("table");
  int64_t last = at(table, {0, 2}); // 37 keys: 5 in the third page
  for (int64_t slot = 0; slot < 16; ++slot)
    for (int64_t c = 0; c < 32; ++c)
      EXPECT_EQ(std::isnan(at(k, {last, slot, 0, c})), slot >= 5);
}

TEST(GenerateTest, UnusedTableEntriesAreInvalid) {
  Spec spec = smallSpec();
  spec.tableRows = true;
  spec.tableDType = DType::I64;
  GenOptions options = smallOptions();
  options.tableGap = 3;
  TensorSet set = cantFail(generateInputs(spec, options));
  Tensor table = set.view("table"), rows = set.view("table_rows");
  EXPECT_EQ(table.describe(), "i64[6, 5]");
  EXPECT_EQ(table.stride[0], 8);
  std::set<int64_t> pages, used;
  const int64_t numPages[] = {3, 0, 1};
  for (int64_t b = 0; b < 3; ++b) {
    int64_t row = at(rows, {b});
    EXPECT_TRUE(used.insert(row).second);
    for (int64_t c = 0; c < 5; ++c) {
      int64_t id = at(table, {row, c});
      if (c < numPages[b])
        EXPECT_TRUE(id >= 0 && id < 9 && pages.insert(id).second) << id;
      else
        EXPECT_TRUE(id == -1 || id == 0x7FFFFFFF) << id;
    }
  }
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t c = 0; c < 5; ++c)
      if (!used.count(row))
        EXPECT_TRUE(at(table, {row, c}) == -1 ||
                    at(table, {row, c}) == 0x7FFFFFFF);
}

TEST(GenerateTest, LayoutsHoldTheSameKeys) {
  Spec paged = smallSpec(), dense = smallSpec(), csr = smallSpec();
  dense.layout = KVLayout::Dense;
  csr.layout = KVLayout::CSR;
  csr.pageSize = 1;
  csr.tableRows = true;
  GenOptions options = smallOptions();
  TensorSet p = cantFail(generateInputs(paged, options));
  TensorSet d = cantFail(generateInputs(dense, options));
  TensorSet c = cantFail(generateInputs(csr, options));
  EXPECT_EQ(d.view("k").describe(), "bf16[3, 40, 1, 40]");
  EXPECT_EQ(numFinite(d, "k"), 53 * 40);
  EXPECT_FALSE(d.view("table").given());
  EXPECT_EQ(c.view("kv_indptr").describe(), "i32[7]");
  EXPECT_EQ(c.view("kv_indices").describe(), "i32[65]"); // 53 + 6 * 2
  EXPECT_EQ(p.storage("q"), c.storage("q"));
  for (int64_t b : {0, 2})
    for (int64_t n = 0; n < options.seqLens[b]; ++n)
      for (int64_t column : {0, 39}) {
        double key = at(d.view("k"), {b, n, 0, column});
        EXPECT_FALSE(std::isnan(key));
        int64_t page = at(p.view("table"), {b, n / 16});
        EXPECT_EQ(at(p.view("k"), {page, n % 16, 0, column}), key);
        int64_t row = at(c.view("table_rows"), {b});
        int64_t first = at(c.view("kv_indptr"), {row});
        page = at(c.view("kv_indices"), {first + n});
        EXPECT_EQ(at(c.view("k"), {page, 0, 0, column}), key);
      }
}

TEST(GenerateTest, RequestsDependOnTheirIdOnly) {
  Spec spec = smallSpec();
  spec.layout = KVLayout::Dense;
  GenOptions alone, batch;
  alone.seqLens = {20};
  alone.requestIds = {7};
  batch.seqLens = {5, 9, 20};
  batch.requestIds = {1, 2, 7};
  TensorSet a = cantFail(generateInputs(spec, alone));
  TensorSet b = cantFail(generateInputs(spec, batch));
  for (int64_t c = 0; c < 40; ++c) {
    EXPECT_EQ(at(a.view("q"), {0, 0, 3, c}), at(b.view("q"), {2, 0, 3, c}));
    EXPECT_EQ(at(a.view("k"), {0, 19, 0, c}), at(b.view("k"), {2, 19, 0, c}));
  }
}

TEST(GenerateTest, RaggedQueries) {
  Spec spec = smallSpec();
  spec.raggedQ = true;
  spec.ropeDim = 8;
  spec.lengthDType = DType::I64;
  GenOptions options = smallOptions();
  options.qLens = {1, 0, 4};
  options.headMajorQ = true;
  options.qGap = 8;
  TensorSet set = cantFail(generateInputs(spec, options));
  Tensor q = set.view("q");
  EXPECT_EQ(q.describe(), "bf16[9, 4, 32]");
  EXPECT_EQ(q.stride[0], 40);
  EXPECT_EQ(q.stride[1], 9 * 40);
  EXPECT_EQ(set.view("q_rope").stride[1], 9 * 16);
  const double offsets[] = {2, 3, 3, 7};
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(at(set.view("q_offsets"), {i}), offsets[i]);
  EXPECT_EQ(numFinite(set, "q"), 5 * 4 * 32);
  EXPECT_EQ(numFinite(set, "q_rope"), 5 * 4 * 8);
  for (int64_t row = 0; row < 9; ++row)
    EXPECT_EQ(std::isnan(at(q, {row, 1, 0})), row < 2 || row >= 7);
}

TEST(GenerateTest, EmptyBatch) {
  GenOptions options;
  options.seqLens = {};
  options.sparePages = 0;
  TensorSet set = cantFail(generateInputs(smallSpec(), options));
  EXPECT_EQ(set.view("q").describe(), "bf16[0, 1, 4, 40]");
  EXPECT_EQ(set.view("k").describe(), "bf16[0, 16, 1, 40]");
  EXPECT_EQ(set.view("k").data, nullptr);
}

TEST(GenerateTest, RefusesBadArguments) {
  Spec spec = smallSpec();
  GenOptions options = smallOptions();
  spec.headDimV = 48;
  EXPECT_EQ(errorOf(spec, options), "head dim v: requires 1 to 40, but got 48");
  spec = smallSpec();
  spec.numKVHeads = 3;
  EXPECT_EQ(errorOf(spec, options),
            "kv heads: requires a divisor of the 4 heads, but got 3");
  spec = smallSpec();
  spec.kvDType = DType::I32;
  EXPECT_EQ(errorOf(spec, options),
            "kv dtype: requires bf16, f16 or f32, but got i32");
  spec = smallSpec();
  options.seqLens = {4, -1};
  EXPECT_EQ(errorOf(spec, options),
            "length: requires 0 to 2147483647, but got -1");
  options.seqLens = {4, 4};
  options.qLens = {1, 1};
  EXPECT_EQ(errorOf(spec, options),
            "query lengths: requires a spec with ragged q");
  spec.raggedQ = true;
  options.qLens = {1};
  EXPECT_EQ(errorOf(spec, options),
            "query lengths: requires 2, one a request, but got 1");
  options.qLens = {};
  options.requestIds = {1, 2, 3};
  EXPECT_EQ(errorOf(spec, options),
            "request ids: requires 2, one a request, but got 3");
  options = smallOptions();
  options.pageGap = -1;
  EXPECT_EQ(errorOf(spec, options),
            "page gap: requires 0 to 1048576, but got -1");
}

TEST(ModelsTest, Scales) {
  EXPECT_NEAR(findModel("deepseek-v3")->softmaxScale(), 0.1352338, 1e-7);
  EXPECT_NEAR(findModel("deepseek-v3")->softmaxScale(),
              std::pow(192, -0.5) * 1.3688879 * 1.3688879, 1e-7);
  EXPECT_NEAR(findModel("deepseek-v2-lite")->softmaxScale(),
              std::pow(192, -0.5) * 1.2608037 * 1.2608037, 1e-7);
  EXPECT_NEAR(findModel("kimi-k2")->softmaxScale(),
              std::pow(192, -0.5) * 1.3465736 * 1.3465736, 1e-7);
  EXPECT_EQ(findModel("deepseek-v4"), nullptr);
  EXPECT_EQ(models().size(), 3u);
  for (const ModelPreset &model : models())
    EXPECT_EQ(model.headDim, model.headDimV + model.ropeDim);
}
