//===- Verify.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"
#include "VerifySuite.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

#include <chrono>

using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using namespace mla_jit::verify;

namespace mla_jit {

namespace {

/// The filter of VerifyOptions.
class Filter {
public:
  static Expected<Filter> parse(llvm::StringRef text) {
    Filter filter;
    for (llvm::StringRef part : llvm::split(text, ',')) {
      part = part.trim();
      if (part.empty())
        continue;
      auto glob = llvm::GlobPattern::create(part);
      if (!glob)
        return failure("--filter: '{0}' is no pattern: {1}", part,
                       llvm::toString(glob.takeError()));
      filter.parts.emplace_back(part.str(), std::move(*glob));
    }
    return filter;
  }

  bool accepts(llvm::StringRef name) const {
    if (parts.empty())
      return true;
    return llvm::any_of(parts, [&](const auto &part) {
      llvm::StringRef rest = name;
      if (rest.consume_front(part.first) &&
          (rest.empty() || rest.starts_with(".")))
        return true;
      return part.second.match(name);
    });
  }

  /// One more than the largest N of a "random.N" in the filter.
  int randomCasesNamed() const {
    int count = 0;
    for (const auto &part : parts) {
      llvm::StringRef rest = part.first;
      int index;
      if (rest.consume_front("random.") && !rest.getAsInteger(10, index) &&
          index >= 0)
        count = std::max(count, index + 1);
    }
    return count;
  }

private:
  std::vector<std::pair<std::string, llvm::GlobPattern>> parts;
};

} // namespace

static std::vector<Case> makeCases(Engine &engine, const VerifyOptions &options,
                                   const Filter &filter) {
  std::vector<Case> cases;
  addNumericsCases(cases);
  addLogitCases(cases);
  addLayoutCases(cases);
  addHeadCases(cases);
  addSplitCases(cases);
  addMaskCases(cases);
  addShapeCases(cases);
  addTargetCases(cases, engine);
  int numRandom = std::max(options.randomCases, filter.randomCasesNamed());
  for (int i = 0; i < numRandom; ++i)
    cases.push_back(makeRandomCase(options.seed, i));
  llvm::erase_if(cases, [&](const Case &testCase) {
    return !filter.accepts(testCase.name) || (options.quick && testCase.slow);
  });
  return cases;
}

Expected<bool> runVerify(Engine &engine, const VerifyOptions &options,
                         llvm::raw_ostream &table) {
  auto filter = Filter::parse(options.filter);
  if (!filter)
    return filter.takeError();
  std::vector<Case> cases = makeCases(engine, options, *filter);
  if (cases.empty())
    return failure("--filter: '{0}' fits no case; --list names them",
                   options.filter);
  if (options.list) {
    for (const Case &testCase : cases)
      table << formatv("{0,-28} {1}{2}\n", testCase.name, describe(testCase),
                       testCase.slow ? " (slow)" : "");
    return true;
  }

  auto start = std::chrono::steady_clock::now();
  table << formatv("{0,-28} {1,-84} {2,9} {3,9}  result\n", "case", "problem",
                   "max out", "max lse");
  Suite suite(engine);
  int passed = 0;
  for (const Case &testCase : cases) {
    // The name first: whoever watches sees what takes long, or crashed.
    table << formatv("{0,-28} {1,-84} ", testCase.name, describe(testCase));
    table.flush();
    CaseRun run(suite, testCase);
    Error error = run.run();
    table << formatv("{0,9:e1} {1,9:e1}  {2}\n", run.maxOutError,
                     run.maxLseError, error ? "FAILED" : "ok");
    if (!error) {
      ++passed;
      continue;
    }
    table << "  " << llvm::toString(std::move(error))
          << "\n  repeat with: --filter " << testCase.name << " --seed "
          << options.seed << "\n";
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  table << formatv(
      "seed {0}, {1} kernels compiled in {2:f1} s, {3:f1} s in all\n",
      options.seed, suite.numKernels(), suite.compileSeconds(),
      elapsed.count());
  table << formatv("{0} passed, {1} failed\n", passed, cases.size() - passed);
  table.flush();
  return passed == static_cast<int>(cases.size());
}

} // namespace mla_jit
