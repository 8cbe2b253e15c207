//===- VerifyHeads.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Head counts and head sizes: B5 of the case log, grouped heads, and the pairs
// (d_qk, d_v) that vectors do not divide.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

using llvm::Error;

namespace mla_jit::verify {

/// Heads are independent, so each must equal a run that has it alone (within
/// rounding: another number of heads may get other register blocks).
static Error checkHeadsAlone(CaseRun &run, const Problem &problem,
                             const Results &results) {
  Spec spec = problem.spec;
  spec.numHeads = 1;
  auto alone = run.makeProblem(spec, run.testCase.shapes.front());
  if (!alone)
    return alone.takeError();
  alone->numSplits = problem.numSplits;
  Tensor q = problem.inputs.view("q"); // contiguous
  for (int64_t head = 0; head < problem.spec.numHeads; ++head) {
    setQueries(*alone, [&](int64_t row, int64_t, int64_t column) {
      return readElement(q.data, q.dtype,
                         row * q.stride[1] + head * q.stride[2] + column);
    });
    auto other = run.launch(*alone);
    if (!other)
      return other.takeError();
    std::string what = "head " + std::to_string(head) + " against alone";
    for (int64_t row = 0; row < results.numRows(); ++row) {
      for (int64_t column = 0; column < problem.spec.headDimV; ++column) {
        double want = other->outAt(row, 0, column);
        // Two roundings of nearly the same number.
        if (Error error =
                expectNear(what, results.outAt(row, head, column), want,
                           2 * roundingOf(problem.spec.outDType, want) + 1e-5 +
                               run.weightRounding(row, head, column)))
          return error;
      }
      if (Error error = expectNear(what + ", lse", results.lseAt(row, head),
                                   other->lseAt(row, 0), 1e-5))
        return error;
    }
  }
  return Error::success();
}

void addHeadCases(std::vector<Case> &cases) {
  for (int64_t numHeads :
       {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 48, 63, 64, 65, 96, 127, 128}) {
    Case c;
    c.name = "B5.h" + std::to_string(numHeads);
    c.spec.numHeads = numHeads;
    c.shapes = {lengths({17, 130, 65}, 2)};
    c.splits = {0};
    c.check = checkHeadsAlone;
    cases.push_back(c);
    c.name += "-splits";
    c.splits = {1, 2, 8};
    c.check = nullptr;
    cases.push_back(c);
  }

  // Grouped heads: every KV head has keys of its own.
  for (auto [numKVHeads, group] :
       {std::pair{2, 1}, {2, 8}, {8, 1}, {8, 3}, {8, 4}, {8, 8}, {3, 5}})
    for (auto [headDim, headDimV] : {std::pair{64, 64}, {128, 128}}) {
      Case c;
      c.name = "gqa." + std::to_string(numKVHeads * group) + "-" +
               std::to_string(numKVHeads) + "-d" + std::to_string(headDim);
      c.spec.numKVHeads = numKVHeads;
      c.spec.numHeads = numKVHeads * group;
      c.spec.headDim = headDim;
      c.spec.headDimV = headDimV;
      c.scale = 0.125;
      c.shapes = {lengths({29, 523, 0, 256}), lengths({11, 130}, 3)};
      c.splits = {0, 1, 2, 8};
      cases.push_back(c);
    }
  {
    Case c;
    c.name = "gqa.16-2-d576-rope";
    c.spec.numHeads = 16;
    c.spec.numKVHeads = 2;
    c.spec.ropeDim = 64;
    c.shapes = {lengths({29, 523, 0, 256}), lengths({11, 130}, 3)};
    c.splits = {0, 1, 2, 8};
    cases.push_back(c);
    c.name = "gqa.16-2-d128-dense-ragged";
    c.spec.layout = KVLayout::Dense;
    c.spec.raggedQ = true;
    c.spec.headDim = c.spec.headDimV = 128;
    c.spec.ropeDim = 0;
    cases.push_back(c);
  }

  // Head sizes, with and without a rope part.
  struct Sizes {
    int64_t headDim, headDimV, ropeDim;
  };
  for (Sizes s : {Sizes{512, 512, 0},
                  {320, 256, 0},
                  {320, 256, 64},
                  {192, 128, 0},
                  {192, 128, 64},
                  {64, 64, 0},
                  {72, 40, 0},
                  {72, 40, 8},
                  {72, 64, 8},
                  {8, 8, 0},
                  {16, 8, 8},
                  {128, 120, 0},
                  {136, 120, 16},
                  {256, 8, 0}})
    for (int64_t numHeads : {1, 16, 33}) {
      if (numHeads == 33 && s.ropeDim == 0 && s.headDim % 64 == 0)
        continue;
      Case c;
      c.name = "size." + std::to_string(s.headDim) + "-" +
               std::to_string(s.headDimV) +
               (s.ropeDim ? "-rope" + std::to_string(s.ropeDim) : "") + "-h" +
               std::to_string(numHeads);
      c.spec.numHeads = numHeads;
      c.spec.headDim = s.headDim;
      c.spec.headDimV = s.headDimV;
      c.spec.ropeDim = s.ropeDim;
      c.shapes = {lengths({17, 0, 300, 64}), lengths({65, 130, 1}, 2)};
      c.splits = {0, 1, 2, 8};
      cases.push_back(c);
    }
}

} // namespace mla_jit::verify
