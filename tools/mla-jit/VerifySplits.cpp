//===- VerifySplits.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Splits and repeatability: C1 and C4 of the case log.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <cmath>

using llvm::Error;

namespace mla_jit::verify {

//===----------------------------------------------------------------------===//
// C1: more splits than work
//===----------------------------------------------------------------------===//

/// Results are finite, near those of one split, and the same without LSE.
static Error checkSplits(CaseRun &run, const Problem &problem,
                         const Results &results) {
  LaunchOptions noLse;
  noLse.lse = false;
  auto other = run.launch(problem, noLse);
  if (!other)
    return other.takeError();
  if (Error error = expectSameBits("without LSE against with", *other, results))
    return error;

  auto single = run.makeProblem(problem.spec, run.testCase.shapes.front());
  if (!single)
    return single.takeError();
  single->numSplits = 1;
  auto whole = run.launch(*single);
  if (!whole)
    return whole.takeError();
  for (int64_t row = 0; row < results.numRows(); ++row)
    for (int64_t head = 0; head < results.numHeads(); ++head) {
      for (int64_t column = 0; column < problem.spec.headDimV; ++column) {
        double got = results.outAt(row, head, column),
               want = whole->outAt(row, head, column);
        if (!std::isfinite(got))
          return failure("out of row {0}, head {1} is {2}", row, head, got);
        if (Error error =
                expectNear("against one split", got, want,
                           2 * roundingOf(problem.spec.outDType, want) + 1e-5 +
                               run.weightRounding(row, head, column)))
          return error;
      }
      double got = results.lseAt(row, head), want = whole->lseAt(row, head);
      if (Error error = expectNear("lse against one split", got, want,
                                   1e-5 + 1e-5 * std::fabs(want)))
        return error;
    }
  return Error::success();
}

static void addC1(std::vector<Case> &cases) {
  for (int64_t numHeads : {16, 128})
    for (bool rowLocal : {false, true})
      for (double deviation : {1.0, 100.0}) {
        if (deviation == 100 && (numHeads == 128 || rowLocal))
          continue;
        Case c;
        c.name = "C1.h" + std::to_string(numHeads) +
                 (rowLocal ? "-rowlocal" : "") +
                 (deviation == 100 ? "-std100" : "");
        c.spec.numHeads = numHeads;
        c.spec.rowLocalSplits = rowLocal;
        c.shapes = {lengths({1, 65, 8192})};
        c.shapes[0].qStd = deviation;
        c.splits = {0, 1, 2, 8, 64};
        c.slow = numHeads == 128;
        c.check = checkSplits;
        cases.push_back(c);
      }
  // One split more than there are tiles, and many more than there are workers.
  Case c;
  c.name = "C1.more";
  c.spec.numHeads = 3;
  c.shapes = {lengths({0, 1, 64, 128, 129, 1000}, 2)};
  c.splits = {3, 4, 5, 15, 16, 17, 1000};
  c.check = checkSplits;
  cases.push_back(c);
}

//===----------------------------------------------------------------------===//
// C4: repeats, batch mates and workers
//===----------------------------------------------------------------------===//

static constexpr int kRepeats = 50, kManyRepeats = 200;
/// The request that is looked for in every batch: 4097 keys, seed 0.
static constexpr int64_t kRowLength = 4097;

/// Further runs give the same bits.
static Error repeat(int times, CaseRun &run, const Problem &problem,
                    const Results &results) {
  for (int i = 0; i < times; ++i) {
    auto again = run.launch(problem);
    if (!again)
      return again.takeError();
    if (Error error =
            expectSameBits("repeat " + std::to_string(i), *again, results))
      return error;
  }
  return Error::success();
}

static Error checkRepeats(CaseRun &run, const Problem &problem,
                          const Results &results) {
  return repeat(kRepeats, run, problem, results);
}

/// A batch with the request at place `place` among others of all lengths.
static GenOptions batchWith(int64_t batch, int64_t place, int64_t sQ) {
  GenOptions shape = lengths({}, sQ);
  for (int64_t b = 0; b < batch; ++b) {
    shape.seqLens.push_back(b == place   ? kRowLength
                            : b % 4 == 3 ? 0
                                         : (b * 263 + 100) % 1500);
    shape.requestIds.push_back(b == place ? 0 : 100 + b);
  }
  return shape;
}

/// Deterministic splits: the request's bits do not depend on the others, its
/// place, the table's width, or the number of workers.
static Error checkRowLocal(CaseRun &run, const Problem &problem,
                           const Results &results) {
  if (Error error = checkRepeats(run, problem, results))
    return error;
  int64_t sQ = run.testCase.shapes.front().sQ;
  auto compareIn = [&](const GenOptions &shape, int64_t place,
                       llvm::ArrayRef<int> workers) -> Error {
    auto other = run.makeProblem(problem.spec, shape);
    if (!other)
      return other.takeError();
    other->numSplits = problem.numSplits;
    for (int numWorkers : workers) {
      LaunchOptions options;
      options.numWorkers = numWorkers;
      auto otherResults = run.launch(*other, options);
      if (!otherResults)
        return otherResults.takeError();
      std::string what =
          llvm::formatv("place {0} of {1}, {2} workers (0: the engine's)",
                        place, shape.seqLens.size(), numWorkers);
      for (int64_t i = 0; i < sQ; ++i)
        if (Error error =
                expectSameRow(what, *otherResults, place * sQ + i, results, i))
          return error;
    }
    return Error::success();
  };

  // Workspaces of the tall kind are large, so it has fewer.
  if (sQ > 1) {
    for (auto [batch, place] : {std::pair{2, 1}, {33, 17}})
      if (Error error = compareIn(batchWith(batch, place, sQ), place, {1, 3}))
        return error;
    return Error::success();
  }
  for (auto [batch, place] :
       {std::pair{1, 0}, {2, 0}, {2, 1}, {33, 0}, {33, 17}, {33, 32}})
    if (Error error =
            compareIn(batchWith(batch, place, sQ), place, {0, 1, 2, 3, 5}))
      return error;
  // The hint of a maximum length, which some engines size splits by, is the
  // width of the table here.
  GenOptions wide = batchWith(1, 0, sQ);
  wide.spareColumns = 1024 - 65;
  return compareIn(wide, 0, {0, 3});
}

static void addC4(std::vector<Case> &cases) {
  struct Kind {
    const char *name;
    int64_t numHeads, sQ;
    bool slow;
  };
  for (Kind kind : {Kind{"h16", 16, 1, false}, {"h40-mtp", 40, 2, true}}) {
    Case c;
    c.name = std::string("C4.rowlocal-") + kind.name;
    c.spec.numHeads = kind.numHeads;
    c.spec.rowLocalSplits = true;
    c.shapes = {batchWith(1, 0, kind.sQ)};
    c.slow = kind.slow;
    c.check = checkRowLocal;
    cases.push_back(c);

    c.name = std::string("C4.default-") + kind.name;
    c.spec.rowLocalSplits = false;
    c.shapes = {batchWith(1, 0, kind.sQ), batchWith(5, 2, kind.sQ)};
    c.splits = {0, 4};
    c.check = checkRepeats;
    cases.push_back(c);
  }

  // As many requests as a GPU of 132 SMs does by pairs of CTAs: halves with and
  // without keys for all queries, and requests of one piece, or none.
  for (auto [numHeads, sQ] :
       {std::pair<int64_t, int64_t>{5, 1}, {16, 1}, {16, 2}, {6, 4}}) {
    Case c;
    c.name = "C4.pairs-h" + std::to_string(numHeads) + "q" + std::to_string(sQ);
    c.spec.numHeads = numHeads;
    GenOptions shape = lengths({}, sQ);
    for (int64_t b = 0; b < 60; ++b)
      shape.seqLens.push_back(b % 10 == 7   ? 0
                              : b % 10 == 3 ? 1 + b
                                            : 257 + b * 37 % 256);
    c.shapes = {shape};
    c.check = checkRepeats;
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// E2: races around short lengths
//===----------------------------------------------------------------------===//

static void addE2(std::vector<Case> &cases) {
  for (int64_t length : {64, 65, 128}) {
    Case c;
    c.name = "E2.keys" + std::to_string(length);
    c.spec.numHeads = 16;
    c.spec.headDim = 320;
    c.spec.headDimV = 256;
    c.shapes = {lengths({length})};
    c.check = [](CaseRun &run, const Problem &problem, const Results &results) {
      return repeat(kManyRepeats, run, problem, results);
    };
    cases.push_back(c);
  }
}

void addSplitCases(std::vector<Case> &cases) {
  addC1(cases);
  addC4(cases);
  addE2(cases);
}

} // namespace mla_jit::verify
