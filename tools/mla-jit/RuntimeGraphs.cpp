//===- RuntimeGraphs.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Captured graphs: replayed with other contents, and what may go on while a
// stream is being captured.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "RuntimeHost.h"
#include "mla/Oracle/Oracle.h"

#include <cstring>
#include <thread>

using namespace llvm;

namespace mla_jit {

static mla::Kernel prepare(Check &check, mla::Engine &engine,
                           const mla_spec &spec) {
  return check.get(engine.prepare(spec), "mla_prepare");
}

/// What all results are compared with, of kLongLengths.
static oracle::Result makeReference(Check &check, RuntimeHost &host) {
  Lengths lengths = kLongLengths;
  oracle::Problem problem;
  problem.q = host.inputs().view("q");
  problem.k = host.inputs().view("k");
  problem.table = host.inputs().view("table");
  problem.seqLens = Tensor(lengths.data(), DType::I32, {kStepBatch});
  problem.scale = host.scale();
  problem.headDimV = host.spec().d_v;
  problem.mask = *oracle::makeMask("causal");
  problem.wantsMagnitudes = true;
  oracle::Result reference = oracle::evaluate(problem);
  check.require(reference.error.empty(), reference.error);
  return reference;
}

static void requireRight(Check &check, RuntimeHost &host,
                         const oracle::Result &reference, DecodeStep::Bytes got,
                         const Twine &which) {
  if (!check.ok())
    return;
  Tensor out(got.data(), DType::BF16,
             {kStepBatch, 1, kStepHeads, host.spec().d_v});
  Tensor lse(got.data() + out.numElements() * 2, DType::F32,
             {kStepBatch, 1, kStepHeads});
  oracle::Comparison compared =
      oracle::compare(reference, out, lse,
                      oracle::tensorCoreTolerance(DType::BF16, DType::BF16));
  check.require(compared.passed, which + compared.firstMismatch);
}

static void eagerIsRight(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  requireRight(check, host, makeReference(check, host), step.run(kLongLengths),
               "");
}

static void fewerCTAs(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  oracle::Result reference = makeReference(check, host);
  for (int32_t most : {1, 7, 0}) {
    step.args.max_ctas = most;
    requireRight(check, host, reference, step.run(kLongLengths),
                 "max_ctas = " + Twine(most) + ": ");
    step.requireGuard("max_ctas = " + Twine(most));
  }
}

static void capturedShort(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  DecodeStep::Bytes shortly = step.run(kShortLengths),
                    longly = step.run(kLongLengths);

  // A view of the first column, and nothing else in the table.
  int64_t columns = step.args.table.shape[1];
  step.setLengths(kShortLengths);
  step.fillTable(1);
  step.args.table.shape[1] = 1;
  CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global,
                      [&] { step.launch(); });
  for (int round = 0; round < 3; ++round)
    for (bool isLong : {false, true}) {
      step.setLengths(isLong ? kLongLengths : kShortLengths);
      step.fillTable(isLong ? static_cast<int>(columns) : 1);
      step.spoilOutputs();
      graph.replay();
      step.requireResults(isLong ? longly : shortly,
                          Twine(isLong ? "long" : "short") +
                              " lengths, round " + Twine(round));
    }
}

static void coldKeyInCapture(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  DecodeStep::Bytes eager = step.run(kLongLengths);
  step.spoilOutputs();
  CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global, [&] {
    auto cold = engine.prepare(host.otherSpec(0));
    if (!cold)
      check.requireCode(cold.status(), MLA_E_CAPTURING, "mla_prepare");
    check.note(cold ? "prepared, the capture went on" : "refused");
    step.launch();
  });
  graph.replay();
  step.requireResults(eager, "the graph");
}

static void firstLaunchInCapture(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global,
                      [&] { step.launch(); });
  graph.replay();
  DecodeStep::Bytes replayed = step.results();
  step.spoilOutputs();
  step.launch();
  step.requireResults(replayed, "a launch after the graph");
}

static void captureMeanwhile(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine(), others = host.makeEngine(1);
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  DecodeStep::Bytes eager = step.run(kLongLengths);
  step.spoilOutputs();
  CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global, [&] {
    step.launch();
    // Each evicts the one before.
    std::thread other([&] {
      for (int number : {0, 1, 2})
        prepare(check, others, host.otherSpec(number));
      check.get(others.trim(), "mla_engine_trim");
    });
    other.join();
    step.launch();
  });
  graph.replay();
  step.requireResults(eager, "the graph");
  auto counters = check.get(others.counters(), "mla_engine_counters");
  check.require(counters.compiles == 3 && counters.evictions >= 2 &&
                    counters.kernels_in_memory == 0,
                "requires 3 compilations, 2 evictions and an empty memory, but "
                "got " +
                    Twine(counters.compiles) + ", " +
                    Twine(counters.evictions) + " and " +
                    Twine(counters.kernels_in_memory) + " kernels");
}

/// The graph's owner holds a handle, and that alone keeps the kernel.
static void heldForGraph(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine(/*memoryEntries=*/1);
  DecodeStep step(check, host, engine, prepare(check, engine, host.spec()));
  DecodeStep::Bytes eager = step.run(kLongLengths);
  step.spoilOutputs();
  auto requireLeft = [&](uint64_t evicted, uint64_t left) {
    check.get(engine.trim(), "mla_engine_trim");
    auto counters = check.get(engine.counters(), "mla_engine_counters");
    check.require(
        counters.evictions == evicted && counters.kernels_in_memory == left,
        "requires " + Twine(evicted) + " kernels to be evicted and " +
            Twine(left) + " to be left, but got " + Twine(counters.evictions) +
            " and " + Twine(counters.kernels_in_memory));
  };
  {
    CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global,
                        [&] { step.launch(); });
    for (int number : {0, 1, 2})
      prepare(check, engine, host.otherSpec(number));
    requireLeft(3, 1);
    graph.replay();
    step.requireResults(eager, "the graph");
    step.spoilOutputs();
    step.launch();
    step.requireResults(eager, "a launch");
  }
  step.kernel = mla::Kernel();
  requireLeft(4, 0);
}

ArrayRef<RuntimeCase> runtimeGraphCases() {
  static constexpr RuntimeCase kCases[] = {
      {"eager", "a launch agrees with the f64 reference", eagerIsRight},
      {"max-ctas", "so does one on 1, on 7 and on all SMs", fewerCTAs},
      {"C2.captured-short",
       "a graph captured with 1 key a request and a table of 1 column, "
       "replayed "
       "with 8192 keys",
       capturedShort},
      {"D6.cold-key", "mla_prepare of a new kernel leaves a capture valid",
       coldKeyInCapture},
      {"D6.first-launch", "the first launch of a kernel is captured",
       firstLaunchInCapture},
      {"D6.meanwhile",
       "another thread compiles, loads, evicts and trims during a capture",
       captureMeanwhile},
      {"D8.in-graph",
       "the kernel of a graph outlives all others in a memory of one while its "
       "handle is held, and not longer",
       heldForGraph},
  };
  return kCases;
}

} // namespace mla_jit
