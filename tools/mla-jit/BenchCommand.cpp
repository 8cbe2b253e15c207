//===- BenchCommand.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit bench: times of decodes against what the machine can do, of
// compilations, and of the runtime.
//
//===----------------------------------------------------------------------===//

#include "BenchCompile.h"
#include "BenchPeers.h"
#include "BenchShapes.h"
#include "DriverCache.h"
#include "Files.h"
#include "Flags.h"
#include "RuntimeReport.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mla_jit {

namespace {

class BenchCommand : public Command {
public:
  BenchCommand()
      : Command(
            "bench",
            "times decode shapes against the machine's own peaks\n\n"
            "The peaks are measured first, by code from the same JIT: "
            "independent\n"
            "vector.fma for arithmetic, reads of 1 GiB for memory. Times are\n"
            "medians of whole launches on random data, all workers "
            "together.\n\n"
            "On a GPU (--target cuda): the configurations of a file of others' "
            "times,\n"
            "each as a graph of launches that go through more KV than the L2 "
            "holds,\n"
            "against reads and products that are measured first.\n\n"
            "With --compile: how long it takes to make a kernel, by stage, "
            "without the\n"
            "driver's cache.\n\n"
            "With --runtime: what a host application pays beside the kernels, "
            "through the C\n"
            "interface: kernels that are in memory, on disk or nowhere, launch "
            "calls, the\n"
            "library. A goal that is missed is marked.") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit bench\n"
           "  mla-jit bench --shapes b1q1h16s65536 --json bench.json\n"
           "  mla-jit bench --host-cpus native,x86-64-v3 --workers 1\n"
           "  mla-jit bench --target cuda --configs bench/peers.json --only "
           "h128\n"
           "  mla-jit bench --target cuda --compile\n"
           "  mla-jit bench --target cuda --runtime --json runtime.json\n";
  }

  Error run() override {
    if (!load.empty())
      return timeLibraryLoad(load);
    if (!json.empty())
      if (Error error = checkWritable("--json", json))
        return error;
    auto options = machine.options();
    if (!options)
      return options.takeError();
    if (compile)
      return runCompile(*options);
    if (runtime)
      return runRuntime(*options);
    if (options->onGPU)
      return runPeers();
    return runShapes(*options);
  }

private:
  Error runCompile(Machine options) {
    BenchCompileOptions asked{{16, 64, 128}, runs};
    if (!heads.empty())
      asked.heads.assign(heads.begin(), heads.end());
    if (runs < 1)
      return usageError("--runs requires a number from 1 on, but got " +
                        Twine(runs));
    disableDriverCache();
    options.compileThreads = static_cast<int>(compileThreads);
    auto engine = PublicEngine::create(options);
    if (!engine)
      return engine.takeError();
    return benchCompile(**engine, asked);
  }

  Error runPeers() {
    if (configs.empty())
      return usageError("--configs is required with --target cuda: a file as "
                        "bench/peers.json");
    if (sustained < 0)
      return usageError("--sustained requires 0 or more seconds, but got " +
                        formatv("{0}", sustained.getValue()));
    auto engine = machine.makeEngine();
    if (!engine)
      return engine.takeError();
    return benchPeers(**engine, {configs, only, json, sustained});
  }

  Error runShapes(const Machine &options) {
    for (const cl::Option *option :
         {static_cast<cl::Option *>(&configs), static_cast<cl::Option *>(&only),
          static_cast<cl::Option *>(&sustained)})
      if (option->getNumOccurrences())
        return usageError("--" + option->ArgStr +
                          " requires --target cuda, but got host");
    return benchShapes(options, {shapes, hostCPUs, dtype, seconds, json});
  }

  Error runRuntime(const Machine &options) {
    if (!options.chip.empty())
      return usageError("--runtime requires --target host or cuda, but got "
                        "the chip " +
                        options.chip);
    if (specs < 1 || specs > 4096)
      return usageError("--specs requires 1 to 4096, but got " + Twine(specs));
    return reportRuntime(
        {options.onGPU, options.device, static_cast<int>(specs), library},
        json);
  }

  EngineFlags machine{sub};
  cl::OptionCategory category{"Measurement"};
  cl::opt<std::string> configs{
      "configs",
      cl::desc("GPU: the configurations, a file as bench/peers.json"),
      cl::value_desc("file"), cl::cat(category), cl::sub(sub)};
  cl::opt<std::string> only{
      "only", cl::desc("GPU: configurations whose names have this part"),
      cl::value_desc("text"), cl::cat(category), cl::sub(sub)};
  cl::opt<double> sustained{
      "sustained",
      cl::desc("GPU: repeat each also for this time, until power bounds the "
               "clock (default 0: not)"),
      cl::value_desc("s"),
      cl::init(0),
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<bool> compile{"compile", cl::desc("Time compilation alone"),
                        cl::cat(category), cl::sub(sub)};
  NumberListFlag<int64_t> heads{
      "heads",
      cl::desc("Of the kernels that --compile makes (default 16,64,128)"),
      cl::value_desc("16,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  NumberFlag<int64_t> runs{"runs",
                           cl::desc("Of --compile (default 5)"),
                           cl::value_desc("N"),
                           cl::init(5),
                           cl::cat(category),
                           cl::sub(sub)};
  NumberFlag<int64_t> compileThreads{
      "compile-threads",
      cl::desc("GPU: entries that --compile does at once; 0: one for each\n"
               "core (default 0)"),
      cl::value_desc("N"),
      cl::init(0),
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<bool> runtime{"runtime", cl::desc("Time the runtime alone"),
                        cl::cat(category), cl::sub(sub)};
  NumberFlag<int64_t> specs{
      "specs",
      cl::desc("Kernels that threads of --runtime ask for in turn; each is\n"
               "compiled once (default 1000)"),
      cl::value_desc("N"),
      cl::init(1000),
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<std::string> library{
      "library",
      cl::desc("libmla_jit.so, whose loading --runtime times (default: this\n"
               "build's)"),
      cl::value_desc("file"), cl::cat(category), cl::sub(sub)};
  cl::opt<std::string> load{"load",
                            cl::desc("Load this library, print the seconds"),
                            cl::ReallyHidden, cl::cat(category), cl::sub(sub)};
  cl::list<std::string> shapes{
      "shapes",
      cl::desc("Shapes of DeepSeek-V3's decode, requests, queries, heads, keys "
               "(default "
               "b4q1h16s4096 and four more)"),
      cl::value_desc("b4q1h16s4096,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  cl::list<std::string> hostCPUs{
      "host-cpus",
      cl::desc("CPUs to compile for, one after another (default native)"),
      cl::value_desc("name,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<std::string> dtype{"dtype",
                             cl::desc("Type of q, k and out: bf16, f16 or f32"),
                             cl::value_desc("type"),
                             cl::init("bf16"),
                             cl::cat(category),
                             cl::sub(sub)};
  cl::opt<double> seconds{
      "seconds",           cl::desc("Time spent on each shape (default 1)"),
      cl::value_desc("s"), cl::init(1),
      cl::cat(category),   cl::sub(sub)};
  cl::opt<std::string> json{"json", cl::desc("Write all figures to this file"),
                            cl::value_desc("file"), cl::cat(category),
                            cl::sub(sub)};
};

} // namespace

std::unique_ptr<Command> makeBenchCommand() {
  return std::make_unique<BenchCommand>();
}

} // namespace mla_jit
