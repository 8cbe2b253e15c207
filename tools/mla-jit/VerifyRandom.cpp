//===- VerifyRandom.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Random specs and shapes. Case N of a seed is the same however many there are.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <random>

namespace mla_jit::verify {

namespace {

class RandomCase {
public:
  RandomCase(uint64_t seed, int index) : engine(seed * 1000003 + index) {
    c.name = "random." + std::to_string(index);
    c.spec.queries = index % 3 == 2 ? 4 : 1;
  }

  Case make() {
    makeSpec();
    makeShapes();
    return std::move(c);
  }

private:
  /// Uniform in [low, high]; not by <random>'s distributions, which differ
  /// between libraries.
  int64_t number(int64_t low, int64_t high) {
    return low + engine() % (high - low + 1);
  }
  bool chance(int percent) { return number(0, 99) < percent; }
  template <typename T> T oneOf(std::initializer_list<T> values) {
    return values.begin()[number(0, values.size() - 1)];
  }

  void makeSpec();
  void makeShapes();

  std::mt19937_64 engine;
  Case c;
};

} // namespace

void RandomCase::makeSpec() {
  Spec &s = c.spec;
  auto floats = [&] {
    return oneOf({DType::BF16, DType::BF16, DType::F16, DType::F32});
  };
  s.qDType = floats();
  s.kvDType = chance(60) ? s.qDType : floats();
  s.outDType = chance(60) ? s.qDType : floats();

  s.numKVHeads = oneOf<int64_t>({1, 1, 1, 2, 3, 8});
  s.numHeads =
      s.numKVHeads * (s.numKVHeads > 1
                          ? number(1, 9)
                          : oneOf<int64_t>({1, 2, 5, 8, 16, 17, 40, 128}));
  bool isMLA = s.numKVHeads == 1 && chance(40);
  s.headDim = isMLA ? 576 : 8 * number(1, 32);
  s.ropeDim = isMLA        ? oneOf<int64_t>({0, 64})
              : chance(40) ? 8 * number(0, s.headDim / 8 - 1)
                           : 0;
  s.headDimV = isMLA ? 512 : 8 * number(1, (s.headDim - s.ropeDim) / 8);

  s.layout =
      oneOf({KVLayout::Dense, KVLayout::Paged, KVLayout::Paged, KVLayout::CSR});
  s.pageSize =
      oneOf<int64_t>({1, 2, 3, 7, 16, 17, 32, 61, 64, 64, 100, 128, 256});
  s.tableRows = s.layout != KVLayout::Dense && chance(30);
  s.tableDType = oneOf({DType::I32, DType::I64});
  s.lengthDType = oneOf({DType::I32, DType::I64});
  s.raggedQ = chance(40);

  s.mask = oneOf({"none", "causal", "causal", "sliding_window"});
  if (s.mask == "sliding_window")
    c.maskParameters = {
        {"window", static_cast<double>(oneOf({1, 2, 63, 64, 65, 200, 1000}))}};
  c.score = oneOf({"", "", "", "softcap:20", "alibi"});
  s.rowLocalSplits = chance(25);
  c.scale = oneOf({kScale, 0.05, 0.3});
  if (chance(30))
    c.scheduleEdits.emplace_back("block_n", oneOf({"16", "32", "96", "128"}));
  if (chance(20))
    c.scheduleEdits.emplace_back("split_tiles", oneOf({"1", "2", "7"}));
}

void RandomCase::makeShapes() {
  double deviation = oneOf({1.0, 1.0, 10.0});
  for (int i = 0; i < 3; ++i) {
    GenOptions shape = lengths({}, number(1, 5));
    shape.seed = engine();
    int64_t batch = chance(5) ? 0 : number(1, 7);
    for (int64_t b = 0; b < batch; ++b) {
      shape.seqLens.push_back(chance(10)   ? 0
                              : chance(20) ? 64 * number(1, 6)
                              : chance(10) ? number(500, 2000)
                                           : number(1, 300));
      if (c.spec.raggedQ)
        shape.qLens.push_back(chance(15) ? 0 : number(1, 6));
    }
    shape.qStd = deviation;
    shape.spareColumns = number(0, 3);
    shape.sparePages = number(0, 5);
    shape.spareKeys = number(0, 3);
    shape.spareQRows = number(0, 2);
    auto gap = [&](int64_t most) { return chance(30) ? number(1, most) : 0; };
    shape.tokenGap = gap(70);
    shape.pageGap = gap(9);
    shape.qGap = gap(20);
    shape.tableGap = gap(4);
    shape.headMajorQ = chance(25);
    c.shapes.resize(i + 1);
    c.shapes[i] = std::move(shape);
  }
  c.splits = {0, number(1, 4), oneOf<int64_t>({5, 16, 64})};
}

Case makeRandomCase(uint64_t seed, int index) {
  return RandomCase(seed, index).make();
}

} // namespace mla_jit::verify
