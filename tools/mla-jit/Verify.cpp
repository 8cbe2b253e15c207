//===- Verify.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"
#include "Files.h"
#include "ResultFile.h"
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

/// What --subset runs: each kind of work, mask and layout once, in little time
/// under a sanitizer.
static constexpr const char *kSubset[] = {"A1.5-0-64",
                                          "A2.tail-long",
                                          "A10.q8-k65",
                                          "B2.exact",
                                          "B2.tail-max-page16",
                                          "B3.odd",
                                          "B4.page1",
                                          "B4.page32-h128",
                                          "B5.h16",
                                          "B5.h128-splits",
                                          "C1.more",
                                          "E2.keys65",
                                          "flashmla.h64-causal",
                                          "list.q1-8-h16",
                                          "score.alibi-causal",
                                          "layout.csr-ragged-rope"};

static std::vector<Case> makeCases(PublicEngine &engine,
                                   const VerifyOptions &options,
                                   const Filter &filter) {
  std::vector<Case> cases;
  addNumericsCases(cases);
  addLogitCases(cases);
  addLayoutCases(cases);
  addAlignmentCases(cases, engine.machine());
  addHeadCases(cases);
  addSplitCases(cases);
  addMaskCases(cases);
  addShapeCases(cases);
  addTargetCases(cases, engine);
  addDeviceCases(cases, engine.machine());
  int numRandom = std::max(options.randomCases, filter.randomCasesNamed());
  for (int i = 0; i < numRandom; ++i)
    cases.push_back(makeRandomCase(options.seed, i));
  // Gaps that are no multiple of 16 bytes are for kernels that do not rely on
  // it.
  for (Case &testCase : cases)
    testCase.spec.alignedStrides =
        llvm::all_of(testCase.shapes, [](const GenOptions &shape) {
          return shape.tokenGap % 8 == 0 && shape.pageGap % 8 == 0 &&
                 shape.qGap % 8 == 0;
        });
  llvm::erase_if(cases, [&](const Case &testCase) {
    llvm::StringRef name = testCase.name;
    return !filter.accepts(name) || !name.contains(options.only) ||
           (options.quick && testCase.slow) ||
           (options.subset && !llvm::is_contained(kSubset, name));
  });
  return cases;
}

namespace {
enum class Outcome { Passed, Failed, NotSupported };

/// A case that is done.
struct Row {
  const Case *testCase;
  Outcome outcome;
  std::string reason; ///< unless it passed
  double maxOutError, maxLseError, seconds;
};
} // namespace

static const char *toString(Outcome outcome) {
  switch (outcome) {
  case Outcome::Passed:
    return "ok";
  case Outcome::Failed:
    return "FAILED";
  case Outcome::NotSupported:
    return "not supported";
  }
  return "";
}

static Row runCase(Suite &suite, const Case &testCase) {
  suite.refusal.clear();
  auto start = std::chrono::steady_clock::now();
  CaseRun run(suite, testCase);
  Error error = run.run();
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  Row row{&testCase,       Outcome::Passed, "",
          run.maxOutError, run.maxLseError, elapsed.count()};
  if (!error)
    return row;
  row.outcome = suite.refusal.empty() ? Outcome::Failed : Outcome::NotSupported;
  row.reason = llvm::toString(std::move(error));
  return row;
}

/// An error if nothing more can run on the device.
static Error checkDevice(Suite &suite) {
  if (!suite.onCuda())
    return Error::success();
  auto session = suite.session();
  if (!session)
    return session.takeError();
  return (*session)->stream().synchronize();
}

/// The reasons of the cases that are not supported, with their names.
static void printUnsupported(llvm::raw_ostream &table,
                             llvm::ArrayRef<Row> rows) {
  std::map<std::string, std::vector<llvm::StringRef>> reasons;
  for (const Row &row : rows)
    if (row.outcome == Outcome::NotSupported)
      reasons[row.reason].push_back(row.testCase->name);
  for (const auto &[reason, names] : reasons)
    table << formatv("not supported ({0}): {1}\n  {2}\n", names.size(), reason,
                     llvm::join(names, " "));
}

static Error writeJSON(Suite &suite, const VerifyOptions &options,
                       llvm::ArrayRef<Row> rows) {
  llvm::json::Array cases;
  for (const Row &row : rows)
    cases.push_back(
        llvm::json::Object{{"name", row.testCase->name},
                           {"problem", describe(*row.testCase)},
                           {"result", toString(row.outcome)},
                           {"reason", row.reason},
                           {"max_out_error", finiteOrNull(row.maxOutError)},
                           {"max_lse_error", finiteOrNull(row.maxLseError)},
                           {"seconds", row.seconds}});
  llvm::json::Object document = describeRun(suite.engine);
  document["seed"] = options.seed;
  document["cases"] = std::move(cases);
  return writeBytes(
      options.json,
      formatv("{0:2}\n", llvm::json::Value(std::move(document))).str());
}

static void printSummary(llvm::raw_ostream &table, const Suite &suite,
                         const VerifyOptions &options, llvm::ArrayRef<Row> rows,
                         double seconds) {
  auto count = [&](Outcome outcome) {
    return llvm::count_if(
        rows, [&](const Row &row) { return row.outcome == outcome; });
  };
  printUnsupported(table, rows);
  table << formatv(
      "seed {0}, {1} kernels compiled in {2:f1} s, {3:f1} s in all\n",
      options.seed, suite.numKernels(), suite.compileSeconds(), seconds);
  table << formatv("{0} passed, {1} failed", count(Outcome::Passed),
                   count(Outcome::Failed));
  if (auto refused = count(Outcome::NotSupported))
    table << formatv(", {0} not supported", refused);
  table << "\n";
  table.flush();
}

Expected<bool> runVerify(PublicEngine &engine, const VerifyOptions &options,
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
  if (options.compile)
    return compileCases(engine, cases, table);

  auto start = std::chrono::steady_clock::now();
  table << formatv("{0,-28} {1,-84} {2,9} {3,9}  result\n", "case", "problem",
                   "max out", "max lse");
  Suite suite(engine);
  suite.compileAhead(cases, options.jobs);
  std::vector<Row> rows;
  Error lost = Error::success();
  for (const Case &testCase : cases) {
    // The name first: whoever watches sees what takes long, or crashed.
    table << formatv("{0,-28} {1,-84} ", testCase.name, describe(testCase));
    table.flush();
    Row row = runCase(suite, testCase);
    table << formatv("{0,9:e1} {1,9:e1}  {2}\n", row.maxOutError,
                     row.maxLseError, toString(row.outcome));
    rows.push_back(row);
    if (row.outcome != Outcome::Failed)
      continue;
    table << "  " << row.reason << "\n  repeat with: --filter " << testCase.name
          << " --seed " << options.seed << "\n";
    lost = checkDevice(suite);
    if (lost)
      break;
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  printSummary(table, suite, options, rows, elapsed.count());
  if (!options.json.empty())
    if (Error error = writeJSON(suite, options, rows))
      return joinErrors(std::move(lost), std::move(error));
  if (lost)
    return failure("{0} of {1} cases were not run: {2}",
                   cases.size() - rows.size(), cases.size(),
                   llvm::toString(std::move(lost)));
  return llvm::none_of(
      rows, [](const Row &row) { return row.outcome == Outcome::Failed; });
}

} // namespace mla_jit
