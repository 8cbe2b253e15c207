//===- VerifyNumerics.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Numbers that can be worked out by hand: A1, A2, A5, A6, A7 and A10 of the
// case log. The figures are its right values.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <cmath>

using llvm::Error;

namespace mla_jit::verify {

static Spec typedSpec(DType dtype, int64_t numHeads = 16) {
  Spec spec = specOfHeads(numHeads, "none");
  spec.qDType = spec.kvDType = spec.outDType = dtype;
  return spec;
}

static constexpr DType kFloats[] = {DType::BF16, DType::F16, DType::F32};

//===----------------------------------------------------------------------===//
// A1: requests without keys
//===----------------------------------------------------------------------===//

/// Empty requests give (+0, -inf); the others what they give alone.
static Error checkEmptyRequests(CaseRun &run, const Problem &problem,
                                const Results &results) {
  int64_t batch = problem.inputs.view("seq_lens").shape[0];
  int64_t queries = results.numRows() / batch;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t length = integerAt(problem, "seq_lens", b);
    if (length == 0) {
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t head = 0; head < results.numHeads(); ++head)
          if (Error error = expectEmpty(results, b * queries + i, head))
            return error;
      continue;
    }
    GenOptions shape = lengths({length}, queries);
    shape.requestIds = {static_cast<uint64_t>(b)};
    shape.qStd = run.testCase.shapes.front().qStd;
    auto alone = run.runProblem(problem.spec, shape, problem.numSplits);
    if (!alone)
      return alone.takeError();
    for (int64_t i = 0; i < queries; ++i)
      if (Error error = expectSameRow("alone against in a batch", results,
                                      b * queries + i, *alone, i))
        return error;
  }
  return Error::success();
}

static void addA1(std::vector<Case> &cases) {
  auto add = [&](const char *name, std::vector<int64_t> seqLens, int64_t sQ,
                 const char *mask, double qStd = 1) {
    Case c;
    c.name = std::string("A1.") + name;
    c.spec = specOfHeads(16, mask);
    c.shapes = {lengths(std::move(seqLens), sQ)};
    c.shapes[0].qStd = qStd;
    c.splits = {0, 1, 4};
    c.check = checkEmptyRequests;
    cases.push_back(std::move(c));
  };
  add("0-17", {0, 17}, 1, "causal");
  add("0-17-std100", {0, 17}, 1, "causal", 100);
  add("0-17-nomask", {0, 17}, 1, "none");
  add("0", {0}, 1, "causal");
  add("5-0-64", {5, 0, 64}, 1, "causal");
  add("5-0-64-nomask-mtp", {5, 0, 64}, 2, "none");
  add("all-zero", {0, 0, 0, 0, 0, 0, 0, 0}, 1, "causal");
  add("all-zero-nomask-mtp", {0, 0, 0, 0, 0, 0, 0, 0}, 3, "none");
}

//===----------------------------------------------------------------------===//
// A2: garbage past the end
//===----------------------------------------------------------------------===//

/// Makes every NaN of k and k_rope, which are all of the unused slots, `value`.
static void replaceUnused(Problem &problem, double value) {
  for (const char *name : {"k", "k_rope"}) {
    Tensor k = problem.inputs.view(name);
    if (!k.given())
      continue;
    int64_t count = problem.inputs.storage(name).size() / byteSize(k.dtype);
    for (int64_t i = 0; i < count; ++i)
      if (std::isnan(readElement(k.data, k.dtype, i)))
        writeElement(k.data, k.dtype, i, value);
  }
}

/// The bits are those of a run with zeros, or infinities, in unused memory.
static Error checkTail(CaseRun &run, const Problem &problem,
                       const Results &results) {
  for (double value : {0.0, HUGE_VAL}) {
    auto other = run.makeProblem(problem.spec, run.testCase.shapes.front());
    if (!other)
      return other.takeError();
    replaceUnused(*other, value);
    other->numSplits = problem.numSplits;
    auto otherResults = run.launch(*other);
    if (!otherResults)
      return otherResults.takeError();
    if (Error error =
            expectSameBits(value == 0 ? "NaN against zeros past the end"
                                      : "NaN against inf past the end",
                           results, *otherResults))
      return error;
  }
  return Error::success();
}

/// Values of V with an exact mean in every type.
static double pattern(int64_t, int64_t key, int64_t column) {
  return (key * 31 + column * 17) % 64 / 16.0 - 2;
}

/// Zero queries see all keys alike: the logarithm of their number, and V's
/// mean.
static Error checkMean(CaseRun &, const Problem &problem,
                       const Results &results) {
  int64_t numKeys = integerAt(problem, "seq_lens", 0);
  for (int64_t head = 0; head < results.numHeads(); ++head) {
    for (int64_t column = 0; column < problem.spec.headDimV; ++column) {
      double sum = 0;
      for (int64_t key = 0; key < numKeys; ++key)
        sum += pattern(0, key, column);
      double mean = sum / numKeys;
      if (Error error =
              expectNear("mean of V", results.outAt(0, head, column), mean,
                         roundingOf(problem.spec.outDType, mean)))
        return error;
    }
    if (Error error =
            expectNear("lse", results.lseAt(0, head), std::log(numKeys), 1e-6))
      return error;
  }
  return Error::success();
}

static void addA2(std::vector<Case> &cases) {
  for (DType dtype : kFloats)
    for (bool rope : {false, true}) {
      Case c;
      c.name = std::string("A2.tail-") + std::string(toString(dtype)) +
               (rope ? "-rope" : "");
      c.spec = typedSpec(dtype);
      c.spec.mask = "causal";
      c.spec.ropeDim = rope ? 64 : 0;
      c.shapes = {lengths({17})};
      c.splits = {1, 4};
      c.check = checkTail;
      cases.push_back(c);
    }
  Case c;
  c.name = "A2.tail-long";
  c.spec = specOfHeads(128);
  c.shapes = {lengths({17, 65, 130}, 2)};
  c.splits = {0, 1, 4};
  c.check = checkTail;
  cases.push_back(c);
  c.name = "A2.tail-dense";
  c.spec.layout = KVLayout::Dense;
  cases.push_back(c);

  // LSE = ln 65 = 4.1743873.
  for (DType dtype : kFloats) {
    Case c;
    c.name = "A2.mean65-" + std::string(toString(dtype));
    c.spec = typedSpec(dtype);
    c.shapes = {lengths({65})};
    c.splits = {0, 1, 4};
    c.edit = [](Problem &problem) {
      setQueries(problem, zeroQuery);
      setKeys(problem, pattern);
      return Error::success();
    };
    c.check = checkMean;
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// A5: the base of the LSE
//===----------------------------------------------------------------------===//

/// V of the first request is 1, of the second -1; q is zero.
static Error zeroLogits(Problem &problem) {
  setQueries(problem, zeroQuery);
  setKeys(problem,
          [](int64_t request, int64_t, int64_t) { return request ? -1 : 1; });
  return Error::success();
}

/// Two shards of 2 and 8 keys, merged by natural logarithms: -0.6 and ln 10.
static Error checkShards(CaseRun &, const Problem &problem,
                         const Results &results) {
  for (int64_t head = 0; head < results.numHeads(); ++head) {
    double lse[] = {results.lseAt(0, head), results.lseAt(1, head)};
    double weights[] = {std::exp(lse[0]), std::exp(lse[1])};
    double total = weights[0] + weights[1];
    double out = (weights[0] * results.outAt(0, head, 0) +
                  weights[1] * results.outAt(1, head, 0)) /
                 total;
    if (Error error = expectNear("merged out", out, -0.6, 1e-6))
      return error;
    if (Error error =
            expectNear("merged lse", std::log(total), std::log(10), 1e-6))
      return error;
    if (Error error = expectNear("lse of 8", lse[1], 2.0794415, 1e-6))
      return error;
  }
  return Error::success();
}

/// The same within the kernel: 2 tiles of V = 1, 8 of V = -1.
static Error checkMergedTiles(CaseRun &, const Problem &problem,
                              const Results &results) {
  return expectRow(problem, results, 0, -0.6, std::log(640),
                   1e-6 * std::log(640));
}

static void addA5(std::vector<Case> &cases) {
  for (DType dtype : kFloats) {
    Case c;
    c.name = "A5.shards-" + std::string(toString(dtype));
    c.spec = typedSpec(dtype);
    c.shapes = {lengths({2, 8})};
    c.splits = {0, 1, 2};
    c.edit = zeroLogits;
    c.check = checkShards;
    cases.push_back(c);

    c.name = "A5.merge-" + std::string(toString(dtype));
    c.shapes = {lengths({640})};
    c.splits = {0, 1, 2, 5, 10};
    c.edit = [](Problem &problem) {
      setQueries(problem, zeroQuery);
      setKeys(problem,
              [](int64_t, int64_t key, int64_t) { return key < 128 ? 1 : -1; });
      return Error::success();
    };
    c.check = checkMergedTiles;
    cases.push_back(c);
  }
}

void addNumericsCases(std::vector<Case> &cases) {
  addA1(cases);
  addA2(cases);
  addA5(cases);
}

} // namespace mla_jit::verify
