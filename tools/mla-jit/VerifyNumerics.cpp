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
using llvm::Expected;

namespace mla_jit::verify {

static Spec headsSpec(int64_t numHeads, const char *mask = "causal") {
  Spec spec;
  spec.numHeads = numHeads;
  spec.mask = mask;
  return spec;
}

static Spec typedSpec(DType dtype, int64_t numHeads = 16) {
  Spec spec = headsSpec(numHeads, "none");
  spec.qDType = spec.kvDType = spec.outDType = dtype;
  return spec;
}

static constexpr DType kFloats[] = {DType::BF16, DType::F16, DType::F32};

static double zero(int64_t, int64_t, int64_t) { return 0; }

/// Requires every head of a row to have this first column of out and this LSE.
static Error expectRow(const Problem &problem, const Results &results,
                       int64_t row, double out, double lse,
                       double lseTolerance) {
  for (int64_t head = 0; head < results.numHeads(); ++head) {
    if (Error error = expectNear("out", results.outAt(row, head, 0), out,
                                 roundingOf(problem.spec.outDType, out)))
      return error;
    if (Error error =
            expectNear("lse", results.lseAt(row, head), lse, lseTolerance))
      return error;
  }
  return Error::success();
}

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
    c.spec = headsSpec(16, mask);
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
  c.spec = headsSpec(128);
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
      setQueries(problem, zero);
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
  setQueries(problem, zero);
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
      setQueries(problem, zero);
      setKeys(problem,
              [](int64_t, int64_t key, int64_t) { return key < 128 ? 1 : -1; });
      return Error::success();
    };
    c.check = checkMergedTiles;
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// A6: large logits and splits
//===----------------------------------------------------------------------===//

/// Two keys with V = e0 and e1 count, `distance` apart; those between weigh 0.
/// Their logits are in the first column past V: q is 1 there.
static Case logitsCase(std::string name, double first, double second,
                       int64_t distance, double scale) {
  Case c;
  c.name = std::move(name);
  c.spec = headsSpec(16, "none");
  c.shapes = {lengths({distance + 1})};
  c.splits = {0, 1, 2};
  c.scale = scale;
  c.edit = [=](Problem &problem) {
    setQueries(problem,
               [](int64_t, int64_t, int64_t column) { return column == 512; });
    setKeys(problem, [=](int64_t, int64_t key, int64_t column) -> double {
      bool isFirst = key == 0, isSecond = key == distance;
      if (column == 512)
        return isFirst ? first : isSecond ? second : -1e30;
      return (column == 0 && isFirst) || (column == 1 && isSecond);
    });
    return Error::success();
  };
  c.check = [=](CaseRun &, const Problem &problem,
                const Results &results) -> Error {
    double high = std::max(first, second) * scale;
    double sum =
        std::exp(first * scale - high) + std::exp(second * scale - high);
    double want[] = {std::exp(first * scale - high) / sum,
                     std::exp(second * scale - high) / sum};
    double lse = high + std::log(sum);
    for (int64_t head = 0; head < 16; ++head) {
      for (int column : {0, 1})
        if (Error error =
                expectNear("out", results.outAt(0, head, column), want[column],
                           roundingOf(problem.spec.outDType, want[column])))
          return error;
      if (Error error = expectNear("lse", results.lseAt(0, head), lse,
                                   1e-6 + std::fabs(lse) * 1e-7))
        return error;
    }
    return Error::success();
  };
  return c;
}

static void addA6(std::vector<Case> &cases) {
  // out = [0.7310586, 0.2689414], LSE = 200.3132617; and with the sign changed.
  struct Logits {
    const char *name;
    double first, second, scale;
  };
  for (Logits l : {Logits{"200", 200, 199, 1},
                   {"minus200", -200, -199, 1},
                   {"1e4", 1, -1, 1e4},
                   {"minus1e4", -1, 1, 1e4}})
    for (int64_t distance : {1, 64, 130}) {
      Case c = logitsCase(std::string("A6.") + l.name + "-apart" +
                              std::to_string(distance),
                          l.first, l.second, distance, l.scale);
      cases.push_back(c);
      if (distance != 64)
        continue;
      c.name += "-rowlocal";
      c.spec.rowLocalSplits = true;
      cases.push_back(c);
    }
  for (double deviation : {1.0, 100.0})
    for (int64_t numHeads : {16, 128}) {
      Case c;
      c.name = "A6.std" + std::to_string(static_cast<int>(deviation)) + "-h" +
               std::to_string(numHeads);
      c.spec = headsSpec(numHeads);
      c.shapes = {lengths({4096, 17, 300})};
      c.shapes[0].qStd = deviation;
      c.splits = {0, 1, 2, 8};
      cases.push_back(c);
    }
}

//===----------------------------------------------------------------------===//
// A7: the softmax scale
//===----------------------------------------------------------------------===//

/// One kernel for all scales: the scale is an argument of the launch.
static Error checkScales(CaseRun &run, const Problem &, const Results &) {
  struct Want {
    double scale, out, lse;
  };
  auto kernel = run.kernel(run.testCase.spec);
  if (!kernel)
    return kernel.takeError();
  int numKernels = run.suite.numKernels();
  for (Want want : {Want{std::pow(576, -0.5), 0.5825702, 0.8736389},
                    {std::pow(192, -0.5), 0.6404575, 1.0229228},
                    {0.1352338, 0.7468477, 1.3737642}}) {
    auto problem =
        run.makeProblem(run.testCase.spec, run.testCase.shapes.front());
    if (!problem)
      return problem.takeError();
    problem->softmaxScale = want.scale;
    auto results = run.launch(*problem);
    if (!results)
      return results.takeError();
    if (Error error = run.compare(*problem, *results))
      return error;
    if (Error error =
            expectRow(*problem, *results, 0, want.out, want.lse, 1e-6))
      return error;
  }
  if (run.suite.numKernels() != numKernels)
    return failure("changing the scale compiled a kernel");
  return Error::success();
}

static void addA7(std::vector<Case> &cases) {
  for (DType outDType : {DType::BF16, DType::F32}) {
    Case c;
    c.name = "A7.scale-" + std::string(toString(outDType));
    c.spec = headsSpec(16);
    c.spec.outDType = outDType;
    c.shapes = {lengths({2})};
    c.edit = [](Problem &problem) {
      setQueries(problem, [](int64_t, int64_t, int64_t column) {
        return column == 0 ? 8 : 0;
      });
      setKeys(problem, [](int64_t, int64_t key, int64_t column) {
        return key == 0 && column == 0;
      });
      return Error::success();
    };
    c.check = checkScales;
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// A10: causal with several queries
//===----------------------------------------------------------------------===//

/// q = 0 and V row j = j: a row that sees n keys gives (n - 1) / 2 and ln n.
static void addA10(std::vector<Case> &cases) {
  auto add = [&](const char *name, int64_t sQ, int64_t length, DType outDType,
                 bool slow = false) {
    Case c;
    c.name =
        std::string("A10.") + name + (outDType == DType::F32 ? "-f32" : "");
    c.spec = headsSpec(16);
    c.spec.outDType = outDType;
    c.shapes = {lengths({length}, sQ)};
    c.splits = {0, 1, 2, 3};
    c.slow = slow;
    c.edit = [](Problem &problem) {
      setQueries(problem, zero);
      setKeys(problem, [](int64_t, int64_t key, int64_t) { return key; });
      return Error::success();
    };
    c.check = [=](CaseRun &, const Problem &problem,
                  const Results &results) -> Error {
      for (int64_t i = 0; i < sQ; ++i) {
        int64_t seen = length - sQ + i + 1;
        for (int64_t head = 0; seen <= 0 && head < results.numHeads(); ++head)
          if (Error error = expectEmpty(results, i, head))
            return error;
        if (seen > 0)
          if (Error error = expectRow(problem, results, i, (seen - 1) / 2.0,
                                      std::log(seen), 1e-6))
            return error;
      }
      return Error::success();
    };
    cases.push_back(std::move(c));
  };
  for (DType outDType : {DType::BF16, DType::F32}) {
    add("q4-k4", 4, 4, outDType);
    add("q4-k2", 4, 2, outDType);
    add("q8-k65", 8, 65, outDType);
  }
  add("q1024-k256", 1024, 256, DType::BF16, /*slow=*/true);
}

void addNumericsCases(std::vector<Case> &cases) {
  addA1(cases);
  addA2(cases);
  addA5(cases);
  addA6(cases);
  addA7(cases);
  addA10(cases);
}

} // namespace mla_jit::verify
