//===- RunCommand.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit run: one decode, from a problem to numbers.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "Files.h"
#include "ProblemFlags.h"
#include "RunReport.h"
#include "mla/Inputs/Safetensors.h"

using namespace llvm;

namespace mla_jit {

namespace {

class RunCommand : public Command {
public:
  RunCommand()
      : Command("run", R"(compiles a decode, runs it on this machine and reports

The problem comes from flags, from the tensors of a .safetensors file (what
gen wrote needs no flag), or from an .mlir file at the problem or tile level,
whose arguments are bound by name. Without --tensors, inputs are generated.
Lengths and tables are checked before the launch.)") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit run --check\n"
           "  mla-jit run --batch 4 --s-q 2 --h-q 16 --dtype f16 --check\n"
           "  mla-jit gen --seq-lens 100,0,4096 --out in.safetensors\n"
           "  mla-jit run --tensors in.safetensors --out out.safetensors\n"
           "  mla-jit compile --emit tile -o t.mlir && mla-jit run t.mlir "
           "--tensors in.safetensors\n";
  }

  Error run() override;

private:
  using KernelPtr = std::shared_ptr<const PublicKernel>;
  Expected<KernelPtr> prepareFile(PublicEngine &engine) const;
  Error addArguments(Problem &problem) const;
  Error writeOutputs(const TensorSet &outputs) const;
  Error measure(Execution &execution, RunReport &report) const;

  ProblemFlags flags{sub};
  EngineFlags machine{sub};
  cl::OptionCategory category{"Flags of run"};
  cl::opt<std::string> file{cl::Positional, cl::desc("[file.mlir]"),
                            cl::sub(sub)};
  cl::opt<std::string> tensors{
      "tensors", cl::desc("Inputs: a .safetensors file"),
      cl::value_desc("file"), cl::cat(category), cl::sub(sub)};
  cl::opt<std::string> out{
      "out", cl::desc("Write out and lse to this .safetensors file"),
      cl::value_desc("file"), cl::cat(category), cl::sub(sub)};
  cl::opt<bool> check{
      "check", cl::desc("Compare with the f64 reference; exit 1 on a miss"),
      cl::cat(category), cl::sub(sub)};
  NumberFlag<int64_t> repeat{
      "repeat",
      cl::desc("Timed launches, after a first one that is not (default 5)"),
      cl::value_desc("N"),
      cl::init(5),
      cl::cat(category),
      cl::sub(sub)};
  cl::list<std::string> args{
      "arg", cl::desc("A scalar argument of the kernel; may be repeated"),
      cl::value_desc("name=x"), cl::cat(category), cl::sub(sub)};
};

} // namespace

Expected<RunCommand::KernelPtr>
RunCommand::prepareFile(PublicEngine &engine) const {
  auto text = readText(file);
  if (!text)
    return text.takeError();
  Progress progress("compiling");
  return engine.prepare(*text, file);
}

/// Scalars that the problem knows go there, so that the reference sees them
/// too.
Error RunCommand::addArguments(Problem &problem) const {
  for (const std::string &text : args) {
    auto assignment = parseAssignment("--arg", text);
    if (!assignment)
      return assignment.takeError();
    auto [name, value] = *assignment;
    if (name == "softmax_scale")
      problem.softmaxScale = value;
    if (name == "num_splits")
      problem.numSplits = static_cast<int64_t>(value);
    auto known = llvm::find_if(problem.maskParameters, [&](const auto &given) {
      return given.first == name;
    });
    if (known != problem.maskParameters.end())
      known->second = value;
    problem.scalars.emplace_back(name, value);
  }
  return Error::success();
}

Error RunCommand::writeOutputs(const TensorSet &outputs) const {
  TensorSet written;
  for (StringRef name : {"out", "lse"}) {
    Tensor tensor = outputs.view(name);
    if (!tensor.given())
      continue;
    auto copy = written.add(name, tensor.dtype,
                            ArrayRef(tensor.shape.data(), tensor.rank));
    if (!copy)
      return copy.takeError();
    llvm::copy(outputs.storage(name), written.storage(name).begin());
  }
  return writeSafetensors(out, written);
}

Error RunCommand::measure(Execution &execution, RunReport &report) const {
  Progress progress("timing launches");
  for (int i = 0; i < repeat; ++i) {
    auto seconds = execution.timeLaunch();
    if (!seconds)
      return seconds.takeError();
    report.launchTimes.push_back(*seconds);
  }
  return Error::success();
}

Error RunCommand::run() {
  bool hasTensors = tensors.getNumOccurrences(),
       hasFile = file.getNumOccurrences();
  if (Error error = flags.checkUnused(hasFile, hasTensors))
    return error;
  if (repeat < 0)
    return usageError("--repeat requires at least 0, but got " + Twine(repeat));
  if (!out.empty())
    if (Error error = checkWritable("--out", out))
      return error;
  auto made = machine.makeEngine();
  if (!made)
    return made.takeError();
  PublicEngine &engine = **made;
  std::optional<TensorSet> inputs;
  if (hasTensors) {
    Progress progress("reading " + tensors);
    auto read = readSafetensors(tensors);
    if (!read)
      return read.takeError();
    inputs = std::move(*read);
  }

  KernelPtr kernel;
  if (hasFile) {
    auto prepared = prepareFile(engine);
    if (!prepared)
      return prepared.takeError();
    kernel = std::move(*prepared);
  }
  auto problem = flags.makeProblem(kernel.get(), std::move(inputs));
  if (!problem)
    return problem.takeError();
  if (Error error = addArguments(*problem))
    return error;
  if (!kernel) {
    Progress progress("compiling");
    auto prepared = engine.prepare(problem->spec);
    if (!prepared)
      return flags.explain(prepared.takeError());
    kernel = std::move(*prepared);
  }
  auto execution = Execution::create(engine, *problem, kernel);
  if (!execution)
    return execution.takeError();
  if (Error error = execution->checkInputs())
    return error;
  if (Error error = execution->launch())
    return error;

  RunReport report(*problem, *execution);
  if (check) {
    Progress progress("computing the reference");
    auto comparison = execution->compare();
    if (!comparison)
      return comparison.takeError();
    report.comparison = *comparison;
  }
  if (Error error = measure(*execution, report))
    return error;
  report.print(outs());
  if (report.comparison && !report.comparison->passed)
    return createStringError("the result misses the reference: " +
                             report.comparison->firstMismatch);
  return out.empty() ? Error::success() : writeOutputs(execution->getOutputs());
}

std::unique_ptr<Command> makeRunCommand() {
  return std::make_unique<RunCommand>();
}

} // namespace mla_jit
