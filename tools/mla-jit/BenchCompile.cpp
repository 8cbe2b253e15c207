//===- BenchCompile.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchCompile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace llvm;

namespace mla_jit {

namespace {
struct Run {
  double seconds; ///< on the clock, all stages together
  std::vector<mla_stage_time> stages;
  int kernels; ///< that a launch starts
};
} // namespace

/// Compiles and loads, and drops the kernel again: the engine would keep it.
static Expected<Run> compileOnce(PublicEngine &engine, int64_t heads) {
  Spec spec;
  spec.numHeads = heads;
  auto start = std::chrono::steady_clock::now();
  auto kernel = engine.prepare(spec);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!kernel)
    return kernel.takeError();
  Run run{elapsed.count(), (*kernel)->times().vec(),
          (*kernel)->info().num_entries};
  kernel->reset();
  if (Error error = engine.trim())
    return std::move(error);
  return run;
}

/// So that no compilation has to.
static Error openDevice(PublicEngine &engine) {
  auto start = std::chrono::steady_clock::now();
  auto device = engine.device();
  if (!device)
    return device.takeError();
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  outs() << formatv("{0}, {1}: opened in {2:F1} ms\n", device->name,
                    device->driver, elapsed.count() * 1e3);
  return Error::success();
}

static void describeThreads(const Run &run, int threads) {
  outs() << formatv("{0} kernels a launch; entries from optimize on {1}\n",
                    run.kernels,
                    threads == 1 ? "one after the other"
                                 : "side by side: the longest of each stage");
}

static void printHeader(const Run &run) {
  outs() << formatv("{0,-8}{1,-8}{2,8}", "heads", "run", "ms");
  for (const mla_stage_time &stage : run.stages)
    outs() << formatv("{0,11}", stage.stage);
  outs() << "\n";
}

static void print(int64_t heads, StringRef name, const Run &run) {
  outs() << formatv("{0,-8}{1,-8}{2,8:F1}", heads, name, run.seconds * 1e3);
  for (const mla_stage_time &stage : run.stages)
    outs() << formatv("{0,11:F1}", stage.seconds * 1e3);
  outs() << "\n";
  outs().flush();
}

Error benchCompile(PublicEngine &engine, const BenchCompileOptions &options) {
  if (engine.machine().onGPU)
    if (Error error = openDevice(engine))
      return error;
  bool first = true;
  for (int64_t heads : options.heads) {
    std::vector<Run> runs;
    for (int64_t i = 0; i < options.runs; ++i) {
      auto run = compileOnce(engine, heads);
      if (!run)
        return run.takeError();
      runs.push_back(std::move(*run));
    }
    if (std::exchange(first, false)) {
      if (engine.machine().onGPU)
        describeThreads(runs.front(), engine.machine().compileThreads);
      printHeader(runs.front());
    }
    llvm::sort(
        runs, [](const Run &a, const Run &b) { return a.seconds < b.seconds; });
    print(heads, "best", runs.front());
    print(heads, "median", runs[runs.size() / 2]);
    print(heads, "worst", runs.back());
  }
  return Error::success();
}

} // namespace mla_jit
