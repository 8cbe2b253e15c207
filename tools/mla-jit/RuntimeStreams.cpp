//===- RuntimeStreams.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Streams, threads and workspaces: launches beside and behind each other.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"

#include <chrono>
#include <thread>

using namespace llvm;

namespace mla_jit {

static mla::Kernel prepare(Check &check, RuntimeHost &host,
                           mla::Engine &engine) {
  return check.get(engine.prepare(host.spec()), "mla_prepare");
}

/// Each copy of the outputs is what one launch wrote.
static void requireCopies(Check &check, DecodeStep &step,
                          ArrayRef<DecodeStep::Bytes> expected, int copies,
                          const Twine &who) {
  for (int i = 0; i < copies && check.ok(); ++i)
    step.requireResults(expected[i % expected.size()],
                        who + ", launch " + Twine(i), i);
}

static void dirtyWorkspaces(Check &check, RuntimeHost &host) {
  constexpr int kLaunches = 1000;
  mla::Engine engine = host.makeEngine();
  mla::Kernel kernel = prepare(check, host, engine);
  DecodeStep::Bytes expected =
      DecodeStep(check, host, engine, kernel).run(kLongLengths);
  DecodeStep first(check, host, engine, kernel, {0, kLaunches}),
      second(check, host, engine, kernel, {0, kLaunches});
  for (DecodeStep *step : {&first, &second}) {
    step->launch();
    step->results();
  }
  size_t before = check.get(host.context()->freeMemory());
  for (int i = 0; i < kLaunches; ++i) {
    first.launch(i);
    second.launch(i);
  }
  first.results();
  second.results();
  size_t after = check.get(host.context()->freeMemory());
  check.require(before == after, "launches took " +
                                     Twine(int64_t(before) - int64_t(after)) +
                                     " bytes of device memory");
  requireCopies(check, first, expected, kLaunches, "first stream");
  requireCopies(check, second, expected, kLaunches, "second stream");
}

static void shortWorkspace(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  for (int splits : {0, 8}) {
    DecodeStep step(check, host, engine, prepare(check, host, engine),
                    {splits, 1});
    step.launch();
    step.spoilOutputs();
    DecodeStep::Bytes untouched = step.results();
    if (!check.ok())
      return;
    --step.args.workspace_bytes;
    check.requireCode(step.kernel.launch(step.args, step.stream().handle()),
                      MLA_E_WORKSPACE, "a byte less");
    step.requireResults(untouched, "after the refusal");
  }
}

/// q is NaN until a copy behind the delay writes it.
static void enqueueBehindDelay(Check &check, RuntimeHost &host,
                               DecodeStep &step, cuda::DevicePtr q,
                               size_t bytes) {
  check.require(host.delay(step.stream(), 20'000'000));
  check.require(step.stream().copy(q, host.query(0), bytes));
  step.launch();
}

static void behindDelay(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, host, engine));
  DecodeStep::Bytes expected = step.run(kLongLengths);
  size_t bytes = host.inputs().storage("q").size();
  auto late = check.get(cuda::DeviceBuffer::allocate(host.context(), bytes));
  step.setQuery(late.address());
  auto spoil = [&] {
    if (check.ok())
      check.require(step.stream().fill(late.address(), 0xff, bytes));
    step.spoilOutputs();
    step.results(); // waits
  };
  spoil();
  auto start = std::chrono::steady_clock::now();
  enqueueBehindDelay(check, host, step, late.address(), bytes);
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  check.require(took.count() < 15, "the launch took " +
                                       std::to_string(took.count()) +
                                       " ms: it waited for the stream");
  step.requireResults(expected, "eager");

  CapturedGraph graph(check, step.stream(), cuda::CaptureMode::Global, [&] {
    enqueueBehindDelay(check, host, step, late.address(), bytes);
  });
  spoil();
  graph.replay();
  step.requireResults(expected, "captured");
}

static void backToBack(Check &check, RuntimeHost &host) {
  constexpr int kLaunches = 4000;
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, host, engine),
                  {/*splits=*/8, kLaunches});
  std::vector<DecodeStep::Bytes> serial;
  for (int which : {0, 1}) {
    step.setQuery(host.query(which));
    serial.push_back(step.run(kLongLengths));
  }
  check.require(serial[0] != serial[1],
                "two queries require results of their own, but got the same");
  step.spoilOutputs();
  for (int i = 0; i < kLaunches; ++i) {
    step.setQuery(host.query(i % 2));
    step.launch(i);
  }
  requireCopies(check, step, serial, kLaunches, "back to back");
  auto info = check.get(step.kernel.info(), "mla_kernel_get_info");
  check.note(Twine(info.num_entries) + " kernels a launch");
}

/// Launches that come again are not looked at anew: what they read is.
static void repeatedLayers(Check &check, RuntimeHost &host) {
  constexpr int kLayers = 61, kSteps = 6;
  mla::Engine engine = host.makeEngine();
  DecodeStep step(check, host, engine, prepare(check, host, engine),
                  {/*splits=*/0, kLayers});
  auto launchLayers = [&] {
    for (int layer = 0; layer < kLayers; ++layer) {
      step.setQuery(host.query(layer % 2));
      step.launch(layer);
    }
  };
  std::optional<CapturedGraph> graph;
  for (int i = 0; i < kSteps; ++i) {
    const Lengths &lengths = i % 2 ? kLongLengths : Lengths{100, 8000, 3, 0};
    std::vector<DecodeStep::Bytes> expected;
    for (int which : {0, 1}) {
      step.setQuery(host.query(which));
      expected.push_back(step.run(lengths));
    }
    step.spoilOutputs();
    if (i == kSteps / 2)
      graph.emplace(check, step.stream(), cuda::CaptureMode::Global,
                    launchLayers);
    if (graph && i % 2)
      graph->replay();
    else
      launchLayers();
    requireCopies(check, step, expected, kLayers, "step " + Twine(i));
  }
}

static void manyThreads(Check &check, RuntimeHost &host) {
  constexpr int kThreads = 8, kLaunches = 200;
  mla::Engine engine = host.makeEngine();
  mla::Kernel kernel = prepare(check, host, engine);
  DecodeStep::Bytes expected =
      DecodeStep(check, host, engine, kernel).run(kLongLengths);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      DecodeStep step(check, host, engine, kernel, {0, kLaunches});
      for (int i = 0; i < kLaunches; ++i)
        step.launch(i);
      requireCopies(check, step, expected, kLaunches, "thread " + Twine(t));
    });
  for (std::thread &thread : threads)
    thread.join();
}

ArrayRef<RuntimeCase> runtimeStreamCases() {
  static constexpr RuntimeCase kCases[] = {
      {"C5.dirty",
       "1000 launches in each of two streams, workspaces full of 0xff; no "
       "allocation",
       dirtyWorkspaces},
      {"C5.short", "a workspace a byte short is refused, nothing is launched",
       shortWorkspace},
      {"C7.behind-delay",
       "a launch behind a delay and a copy, eager and captured", behindDelay},
      {"C7.back-to-back",
       "4000 launches of 8 splits and their combination agree with serial ones",
       backToBack},
      {"repeated",
       "6 steps of 61 layers with other lengths each, eager and captured",
       repeatedLayers},
      {"threads", "8 threads launch one kernel in streams of their own",
       manyThreads},
  };
  return kCases;
}

} // namespace mla_jit
