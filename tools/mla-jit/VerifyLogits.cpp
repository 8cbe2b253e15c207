//===- VerifyLogits.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Scales, large logits and causal rows, worked out by hand: A6, A7 and A10 of
// the case log. The figures are its right values.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <cmath>

using llvm::Error;

namespace mla_jit::verify {

//===----------------------------------------------------------------------===//
// A6: large logits and splits
//===----------------------------------------------------------------------===//

/// Two keys with V = e0 and e1 count, `distance` apart; those between weigh 0.
/// Their logits are in the first column past V: q is 1 there.
static Case logitsCase(std::string name, double first, double second,
                       int64_t distance, double scale) {
  Case c;
  c.name = std::move(name);
  c.spec = specOfHeads(16, "none");
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
  c.check = [=](CaseRun &run, const Problem &problem,
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
                           roundingOf(problem.spec.outDType, want[column]) +
                               run.weightRounding(0, head, column)))
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
      c.spec = specOfHeads(numHeads);
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
  for (Want want : {Want{std::pow(576, -0.5), 0.5825702, 0.8736389},
                    {std::pow(192, -0.5), 0.6404575, 1.0229228},
                    {0.1352338, 0.7468477, 1.3737642}}) {
    auto problem =
        run.makeProblem(run.testCase.spec, run.testCase.shapes.front());
    if (!problem)
      return problem.takeError();
    problem->softmaxScale = want.scale;
    auto same = run.kernel(problem->spec);
    if (!same)
      return same.takeError();
    if (*same != *kernel)
      return failure("changing the scale compiled a kernel");
    auto results = run.launch(*problem);
    if (!results)
      return results.takeError();
    if (Error error = run.compare(*problem, *results))
      return error;
    if (Error error =
            expectRow(*problem, *results, 0, want.out, want.lse, 1e-6))
      return error;
  }
  return Error::success();
}

static void addA7(std::vector<Case> &cases) {
  for (DType outDType : {DType::BF16, DType::F32}) {
    Case c;
    c.name = "A7.scale-" + std::string(toString(outDType));
    c.spec = specOfHeads(16);
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
    c.spec = specOfHeads(16);
    c.spec.outDType = outDType;
    c.shapes = {lengths({length}, sQ)};
    c.splits = {0, 1, 2, 3};
    c.slow = slow;
    c.edit = [](Problem &problem) {
      setQueries(problem, zeroQuery);
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

void addLogitCases(std::vector<Case> &cases) {
  addA6(cases);
  addA7(cases);
  addA10(cases);
}

} // namespace mla_jit::verify
