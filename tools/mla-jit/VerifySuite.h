//===- VerifySuite.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the cases of `mla-jit verify` are made of. A case is data (a spec,
// shapes, split counts) and, where agreement with the oracle is not all, a
// checker. No case knows how an engine runs its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_VERIFYSUITE_H
#define MLA_JIT_TOOLS_VERIFYSUITE_H

#include "Execution.h"
#include "VerifyResults.h"
#include "llvm/Support/FormatVariadic.h"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mla_jit::verify {

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

class CaseRun;
using KernelPtr = std::shared_ptr<const PublicKernel>;

/// DeepSeek-V3's softmax scale.
constexpr double kScale = 0.1352338;

/// A case. Each shape is run with each number of splits; every result is
/// compared with the oracle, outputs and workspace are filled with NaN before,
/// and memory around them must stay as it was.
struct Case {
  std::string name; ///< "A2.tail": the theme first
  Spec spec;
  std::vector<GenOptions> shapes = {GenOptions()};
  std::vector<int64_t> splits = {0}; ///< num_splits; 0: automatic
  double scale = kScale;
  std::string score; ///< as for --score
  std::vector<std::pair<std::string, double>> maskParameters;
  std::string cpu; ///< compiled for this one; empty: the engine's
  /// Fields of the schedule that differ from what the cost model chooses:
  /// {"block_n", "128"}.
  std::vector<std::pair<std::string, std::string>> scheduleEdits;
  bool slow = false; ///< left out by --quick
  std::string note;  ///< more of the problem than the spec says

  /// Changes the generated inputs.
  std::function<llvm::Error(Problem &)> edit;
  /// Checks what the oracle does not; may run more problems.
  std::function<llvm::Error(CaseRun &, const Problem &, const Results &)> check;
};

/// "h=16 576/512 bf16 paged64 causal, b=2 q=1 keys<=17".
std::string describe(const Case &testCase);

/// The case "random.`index`" of a seed.
Case makeRandomCase(uint64_t seed, int index);

// The themes, a file each.
void addNumericsCases(std::vector<Case> &cases);
void addLogitCases(std::vector<Case> &cases);
void addLayoutCases(std::vector<Case> &cases);
void addAlignmentCases(std::vector<Case> &cases, const Machine &machine);
void addHeadCases(std::vector<Case> &cases);
void addSplitCases(std::vector<Case> &cases);
void addMaskCases(std::vector<Case> &cases);
void addShapeCases(std::vector<Case> &cases);
void addTargetCases(std::vector<Case> &cases, PublicEngine &engine);
void addDeviceCases(std::vector<Case> &cases, const Machine &machine);

//===----------------------------------------------------------------------===//
// Running a case
//===----------------------------------------------------------------------===//

/// How a launch departs from the plain one.
struct LaunchOptions {
  bool lse = true;
  int numWorkers = 0;        ///< 0: the engine's
  int64_t outGap = 0;        ///< elements after each row of out and lse
  size_t outShift = 0;       ///< bytes that out begins behind its memory
  bool headMajorOut = false; ///< heads outermost in the memory of out and lse
  /// On a GPU: where the pages of the pool go.
  const PagePlacement *placement = nullptr;
  /// Called last before the launch.
  std::function<llvm::Error(LaunchArgs &)> bind;
};

/// Engines and kernels, shared by all cases.
class Suite {
public:
  explicit Suite(PublicEngine &engine) : engine(engine) {}
  ~Suite();

  /// The kernel of a spec, compiled at first use. An empty `cpu` and 0 workers
  /// are the engine's own. Thread-safe.
  llvm::Expected<KernelPtr>
  kernel(const Spec &spec, const std::string &cpu = "", int numWorkers = 0);
  /// Starts to compile the kernels of the cases, on threads of its own.
  void compileAhead(llvm::ArrayRef<Case> cases, int numThreads);
  int numKernels() const { return numCompiled; }
  double compileSeconds() const { return seconds; }

  bool onCuda() const { return engine.machine().onGPU; }
  llvm::Expected<std::shared_ptr<DeviceSession>> session();

  /// Why a kernel that a case asked for is not one that the target has; the
  /// last one. Empty: there was none.
  std::string refusal;

  PublicEngine &engine;

private:
  /// A kernel that is there or being made.
  struct Compiled {
    KernelPtr kernel;
    std::string error;
    bool refused = false;
  };

  llvm::Expected<PublicEngine *> engineOf(const std::string &cpu,
                                          int numWorkers);
  Compiled compile(const Spec &spec, const std::string &cpu, int numWorkers);
  std::shared_future<Compiled> find(const Spec &spec, const std::string &cpu,
                                    int numWorkers);

  std::mutex mutex; // of what follows
  std::map<std::pair<std::string, int>, std::unique_ptr<PublicEngine>> engines;
  std::map<std::string, std::shared_future<Compiled>> kernels;
  std::shared_ptr<DeviceSession> device;
  std::atomic<int> numCompiled = 0;
  double seconds = 0;

  std::vector<Spec> ahead;
  std::atomic<size_t> nextAhead = 0;
  std::vector<std::thread> compilers;
};

/// One case as it runs.
class CaseRun {
public:
  CaseRun(Suite &suite, const Case &testCase)
      : suite(suite), testCase(testCase) {}

  /// All of the case.
  llvm::Error run();

  /// The case's problem with another spec or shape.
  llvm::Expected<Problem> makeProblem(const Spec &spec,
                                      const GenOptions &shape);
  /// Launches; checks that memory around the results is untouched.
  llvm::Expected<Results> launch(const Problem &problem,
                                 const LaunchOptions &options = {});
  /// Compares with the oracle.
  llvm::Error compare(const Problem &problem, const Results &results);
  /// Makes a problem, launches and compares.
  llvm::Expected<Results> runProblem(const Spec &spec, const GenOptions &shape,
                                     int64_t numSplits,
                                     const LaunchOptions &options = {});

  llvm::Expected<KernelPtr> kernel(const Spec &spec) {
    return suite.kernel(spec, testCase.cpu);
  }

  /// How far two right results may be apart at an element of the problem that
  /// was compared last, beyond the rounding of out: on a GPU, by the rounding
  /// of the weights in both.
  double weightRounding(int64_t row, int64_t head, int64_t column) const;

  Suite &suite;
  const Case &testCase;
  double maxOutError = 0, maxLseError = 0;

private:
  llvm::Error compare(const oracle::Result &expected, const Results &results);
  llvm::Expected<oracle::Result> evaluate(const Problem &problem) const;
  oracle::Tolerance tolerance(DType outDType) const;
  llvm::Error launchOnHost(const PublicKernel &kernel, LaunchArgs &arguments);
  llvm::Error launchOnDevice(const KernelPtr &kernel,
                             const LaunchArgs &arguments,
                             const Results &results,
                             const PagePlacement *placement);

  const oracle::Result *expectedNow = nullptr; ///< of the shape that runs
  /// The case's spec, with the schedule edits.
  llvm::Expected<Spec> editedSpec();
};

/// Compiles each kernel that the cases ask for (but for edits of schedules),
/// and prints a row for each as it ends. Returns whether none failed; on a GPU,
/// what costs speed is a failure where there is an assembler that says so.
llvm::Expected<bool> compileCases(PublicEngine &engine,
                                  llvm::ArrayRef<Case> cases,
                                  llvm::raw_ostream &table);

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

template <typename... Ts>
llvm::Error failure(const char *format, Ts &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(values)...).str());
}

/// Requires |got - want| <= tolerance, or equal infinities.
llvm::Error expectNear(llvm::StringRef what, double got, double want,
                       double tolerance);

/// Requires out and, where both have it, lse to agree bit by bit.
llvm::Error expectSameBits(llvm::StringRef what, const Results &got,
                           const Results &want);
/// The same for row `gotRow` of one and `wantRow` of the other.
llvm::Error expectSameRow(llvm::StringRef what, const Results &got,
                          int64_t gotRow, const Results &want, int64_t wantRow);
/// Requires a row and head to be +0 with an LSE of -inf.
llvm::Error expectEmpty(const Results &results, int64_t row, int64_t head);

/// Requires every head of a row to have this first column of out and this LSE.
llvm::Error expectRow(const Problem &problem, const Results &results,
                      int64_t row, double out, double lse, double lseTolerance);

/// Largest difference that rounding to the output type can make at `value`.
double roundingOf(DType outDType, double value);

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Sets every element of q: value(row, head, column).
void setQueries(
    Problem &problem,
    llvm::function_ref<double(int64_t row, int64_t head, int64_t column)>
        value);
/// Sets the keys of each request, all KV heads alike: value(request, key,
/// column). For paged layouts without table_rows, and dense.
void setKeys(
    Problem &problem,
    llvm::function_ref<double(int64_t request, int64_t key, int64_t column)>
        value);
/// The integer at `index` of a rank 1 tensor.
int64_t integerAt(const Problem &problem, llvm::StringRef name, int64_t index);

/// For setQueries: q = 0, so that all keys weigh the same.
inline double zeroQuery(int64_t, int64_t, int64_t) { return 0; }

/// DeepSeek-V3 with this many heads.
Spec specOfHeads(int64_t numHeads, const char *mask = "causal");

/// Shapes with these lengths, and nothing else of note.
GenOptions lengths(std::vector<int64_t> seqLens, int64_t sQ = 1);

} // namespace mla_jit::verify

#endif // MLA_JIT_TOOLS_VERIFYSUITE_H
