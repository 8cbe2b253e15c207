//===- VerifyRun.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One case as it runs: problems, launches, comparison.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace mla_jit::verify {

Expected<Problem> CaseRun::makeProblem(const Spec &spec,
                                       const GenOptions &shape) {
  Problem problem;
  problem.spec = spec;
  auto inputs = generateInputs(spec, shape);
  if (!inputs)
    return inputs.takeError();
  problem.inputs = std::move(*inputs);
  problem.softmaxScale = testCase.scale;
  problem.maskParameters = testCase.maskParameters;
  // The spec may have the score code already, if it comes from another problem.
  auto score = addScoreMod(testCase.score, problem.spec, problem.inputs);
  if (!score)
    return score.takeError();
  problem.score = std::move(*score);
  if (testCase.edit)
    if (Error error = testCase.edit(problem))
      return std::move(error);
  return problem;
}

Expected<Results> CaseRun::launch(const Problem &problem,
                                  const LaunchOptions &options) {
  auto kernel = suite.kernel(problem.spec, testCase.cpu, options.numWorkers);
  if (!kernel)
    return kernel.takeError();
  auto execution = Execution::create(suite.engine, problem, *kernel);
  if (!execution)
    return execution.takeError();
  if (Error error = execution->checkInputs())
    return std::move(error);

  LaunchArgs arguments = execution->getArguments();
  Tensor q = arguments.tensor("q");
  Results results;
  results.memory.resize(2);
  results.out = makeOutput(problem.spec.outDType, q, problem.spec.headDimV,
                           options, results.memory[0]);
  results.lse = makeOutput(DType::F32, q, 0, options, results.memory[1]);
  Tensor out = results.out, lse = results.lse;
  if (!options.lse)
    results.lse.data = nullptr;
  if (Error error = arguments.set("out", results.out))
    return std::move(error);
  if (Error error = arguments.set("lse", results.lse))
    return std::move(error);
  if (options.bind)
    if (Error error = options.bind(arguments))
      return std::move(error);

  if (Error error = suite.onCuda() ? launchOnDevice(*kernel, arguments, results,
                                                    options.placement)
                                   : launchOnHost(**kernel, arguments))
    return std::move(error);
  for (auto [memory, name] :
       llvm::zip_equal(results.memory, llvm::ArrayRef{"out", "lse"}))
    if (!memory->intact())
      return failure("bytes around {0} were written", name);
  if (!gapsIntact(out, q.rank - 2, problem.spec.headDimV, options.outGap) ||
      !gapsIntact(lse, q.rank - 2, 1, options.outGap))
    return failure("bytes between the rows of out or lse were written");
  return results;
}

Error CaseRun::launchOnHost(const PublicKernel &kernel, LaunchArgs &arguments) {
  mla_args args = arguments.get();
  if (Error error = kernel.workspaceBytes(args).moveInto(args.workspace_bytes))
    return error;
  GuardedBuffer workspace(args.workspace_bytes);
  args.workspace = workspace.data();
  if (Error error = kernel.launch(args))
    return error;
  if (!workspace.intact())
    return failure("bytes around the workspace were written");
  return Error::success();
}

Error CaseRun::launchOnDevice(const KernelPtr &kernel,
                              const LaunchArgs &arguments,
                              const Results &results,
                              const PagePlacement *placement) {
  auto session = suite.session();
  if (!session)
    return session.takeError();
  llvm::SmallVector<llvm::MutableArrayRef<uint8_t>> outputs;
  for (const auto &memory : results.memory)
    outputs.push_back(memory->whole());
  auto launch =
      DeviceLaunch::create(*session, kernel, arguments, outputs, placement);
  if (!launch)
    return launch.takeError();
  if (Error error = launch->launch()) {
    if (!error.isA<NotSupportedError>())
      return error;
    suite.refusal = llvm::toString(std::move(error));
    return llvm::make_error<NotSupportedError>(suite.refusal);
  }
  return launch->finish();
}

oracle::Tolerance CaseRun::tolerance(DType outDType) const {
  return suite.onCuda()
             ? oracle::tensorCoreTolerance(outDType, testCase.spec.kvDType)
             : oracle::toleranceFor(outDType);
}

double CaseRun::weightRounding(int64_t row, int64_t head,
                               int64_t column) const {
  if (!suite.onCuda() || !expectedNow)
    return 0;
  int64_t element =
      (row * expectedNow->heads + head) * expectedNow->headDimV + column;
  return 2 * tolerance(testCase.spec.outDType).outMagnitude *
         expectedNow->outMagnitude[element];
}

Error CaseRun::compare(const oracle::Result &expected, const Results &results) {
  if (!expected.error.empty())
    return failure("the oracle refuses the problem: {0}", expected.error);
  // The rounding of a logit grows with q; an LSE may be near 0 all the same.
  oracle::Tolerance tolerance = this->tolerance(results.out.dtype);
  double deviation = 1;
  for (const GenOptions &shape : testCase.shapes)
    deviation = std::max(deviation, shape.qStd);
  tolerance.lseAbs *= deviation;
  oracle::Comparison comparison =
      oracle::compare(expected, results.out,
                      results.lse.data ? results.lse : Tensor(), tolerance);
  maxOutError = std::max(maxOutError, comparison.maxOutError);
  maxLseError = std::max(maxLseError, comparison.maxLseError);
  if (comparison.passed)
    return Error::success();
  return failure("{0} ({1} elements differ from the oracle)",
                 comparison.firstMismatch, comparison.mismatches);
}

Expected<oracle::Result> CaseRun::evaluate(const Problem &problem) const {
  auto reference = oracleProblem(problem);
  if (!reference)
    return reference.takeError();
  reference->wantsMagnitudes = suite.onCuda();
  return oracle::evaluate(*reference);
}

Error CaseRun::compare(const Problem &problem, const Results &results) {
  auto expected = evaluate(problem);
  if (!expected)
    return expected.takeError();
  return compare(*expected, results);
}

Expected<Results> CaseRun::runProblem(const Spec &spec, const GenOptions &shape,
                                      int64_t numSplits,
                                      const LaunchOptions &options) {
  auto problem = makeProblem(spec, shape);
  if (!problem)
    return problem.takeError();
  problem->numSplits = numSplits;
  auto results = launch(*problem, options);
  if (!results)
    return results.takeError();
  if (Error error = compare(*problem, *results))
    return std::move(error);
  return results;
}

Expected<Spec> CaseRun::editedSpec() {
  Spec spec = testCase.spec;
  if (testCase.scheduleEdits.empty())
    return spec;
  // The score code is not there yet, which does not matter here.
  auto base = kernel(spec);
  if (!base)
    return base.takeError();
  spec.schedule = (*base)->info().schedule;
  for (const auto &[field, value] : testCase.scheduleEdits) {
    llvm::Regex assignment(field + " = [a-z0-9_]+");
    if (!assignment.match(spec.schedule) && suite.onCuda()) {
      suite.refusal = formatv("schedule {0} of a GPU has no field '{1}'",
                              spec.schedule, field);
      return llvm::make_error<NotSupportedError>(suite.refusal);
    }
    if (!assignment.match(spec.schedule))
      return failure("schedule {0} has no field '{1}'", spec.schedule, field);
    spec.schedule =
        assignment.sub(formatv("{0} = {1}", field, value).str(), spec.schedule);
    if (field == "split" && value != "balanced") // which clusters require
      spec.schedule = llvm::Regex(", cluster = [0-9]+").sub("", spec.schedule);
  }
  return spec;
}

Error CaseRun::run() {
  auto spec = editedSpec();
  if (!spec)
    return spec.takeError();
  for (const GenOptions &shape : testCase.shapes) {
    auto problem = makeProblem(*spec, shape);
    if (!problem)
      return problem.takeError();
    auto expected = evaluate(*problem);
    if (!expected)
      return expected.takeError();
    expectedNow = &*expected;
    for (int64_t splits : testCase.splits) {
      problem->numSplits = splits;
      Error error = [&]() -> Error {
        auto results = launch(*problem);
        if (!results)
          return results.takeError();
        if (Error error = compare(*expected, *results))
          return error;
        return testCase.check ? testCase.check(*this, *problem, *results)
                              : Error::success();
      }();
      if (!error)
        continue;
      if (testCase.shapes.size() == 1 && testCase.splits.size() == 1)
        return error;
      Case one = testCase;
      one.shapes = {shape};
      one.splits = {splits};
      return failure("{0}: {1}", describe(one),
                     llvm::toString(std::move(error)));
    }
  }
  return Error::success();
}

} // namespace mla_jit::verify
