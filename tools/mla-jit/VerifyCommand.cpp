//===- VerifyCommand.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit verify: the whole suite against the reference.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "Flags.h"
#include "Verify.h"

#include <thread>

using namespace llvm;

namespace mla_jit {

namespace {

class VerifyCommand : public Command {
public:
  VerifyCommand()
      : Command("verify",
                "runs a suite of decodes and compares each with the f64 "
                "reference\n\n"
                "A case is right if every output is within the tolerance, no "
                "memory around\n"
                "it was touched, and what must agree bit for bit does. Exits 1 "
                "on a miss.\nCases that a GPU has no kernel for are listed as "
                "not supported.") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit verify\n"
           "  mla-jit verify --list\n"
           "  mla-jit verify --filter A2,'*.rope*' --host-cpu x86-64-v3\n"
           "  mla-jit verify --filter random --seed 7 --random-cases 200\n"
           "  mla-jit verify --target cuda --quick --json verify.json\n"
           "  mla-jit verify --target sm_90a --compile\n";
  }

  Error run() override {
    if (randomCases < 0)
      return createStringError("--random-cases requires at least 0, but got " +
                               Twine(randomCases));
    VerifyOptions options;
    options.filter = filter;
    options.list = list;
    options.compile = compile;
    options.only = only;
    options.quick = quick;
    options.subset = subset;
    options.json = json;
    if (!json.empty())
      if (Error error = checkWritable("--json", json))
        return error;
    options.seed = seed;
    options.randomCases = randomCases;
    auto made = machine.makeEngine();
    if (!made)
      return made.takeError();
    PublicEngine &engine = **made;
    // A launch on a GPU leaves the cores to the compiler.
    if (engine.machine().onGPU)
      options.jobs = std::max(1u, std::thread::hardware_concurrency() / 2);
    auto passed = runVerify(engine, options, outs());
    if (!passed)
      return passed.takeError();
    return *passed ? Error::success() : createStringError("some cases failed");
  }

private:
  EngineFlags machine{sub};
  cl::OptionCategory category{"Flags of verify"};
  cl::cat in{category};
  cl::sub of{sub};
  cl::opt<std::string> filter{
      "filter",
      cl::desc("Cases to run: names, their beginnings up to a dot, or globs,\n"
               "separated by commas (default: all)"),
      cl::value_desc("names"), in, of};
  cl::opt<bool> list{"list", cl::desc("Print the cases, run none"), in, of};
  cl::opt<bool> compile{
      "compile",
      cl::desc("Compile the kernels of the cases, run none: needs no GPU"), in,
      of};
  cl::opt<bool> quick{"quick", cl::desc("Leave out cases that take long"), in,
                      of};
  cl::opt<bool> subset{
      "subset", cl::desc("A few small cases only, as for sanitizers"), in, of};
  cl::opt<std::string> only{"only",
                            cl::desc("Cases whose names have this part"),
                            cl::value_desc("text"), in, of};
  cl::opt<std::string> json{"json", cl::desc("Write all results to this file"),
                            cl::value_desc("file"), in, of};
  NumberFlag<uint64_t> seed{"seed",
                            cl::desc("Seed of the random cases (default 1)"),
                            cl::value_desc("N"),
                            cl::init(1),
                            in,
                            of};
  NumberFlag<int64_t> randomCases{
      "random-cases",
      cl::desc("How many random cases (default 32)"),
      cl::value_desc("N"),
      cl::init(32),
      in,
      of};
};

} // namespace

std::unique_ptr<Command> makeVerifyCommand() {
  return std::make_unique<VerifyCommand>();
}

} // namespace mla_jit
