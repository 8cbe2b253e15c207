//===- RuntimeStreams.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Streams and threads: launches beside and behind each other.
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

static constexpr uint64_t kDelayNanoseconds = 20'000'000;

/// q is NaN until a copy behind the delay writes it.
static void enqueueBehindDelay(Check &check, RuntimeHost &host,
                               DecodeStep &step, cuda::DevicePtr q,
                               size_t bytes) {
  check.require(host.delay(step.stream(), kDelayNanoseconds));
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

/// produce(to, from, words of 8 bytes, nanoseconds): lets kernels behind it
/// begin at once, waits and copies.
static constexpr const char *kProducePTX = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry produce(.param .u64 to, .param .u64 from, .param .u64 words,
                        .param .u64 nanoseconds)
{
  .reg .u64 %rd<12>;
  .reg .u32 %r<3>;
  .reg .pred %p<3>;
  griddepcontrol.launch_dependents;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u64 %rd3, [words];
  ld.param.u64 %rd4, [nanoseconds];
  mov.u64 %rd5, %globaltimer;
again:
  mov.u64 %rd6, %globaltimer;
  sub.u64 %rd6, %rd6, %rd5;
  setp.lt.u64 %p1, %rd6, %rd4;
  @%p1 bra again;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  cvt.u64.u32 %rd7, %r1;
  cvt.u64.u32 %rd8, %r2;
next:
  setp.ge.u64 %p2, %rd7, %rd3;
  @%p2 bra done;
  shl.b64 %rd9, %rd7, 3;
  add.u64 %rd10, %rd2, %rd9;
  ld.global.u64 %rd11, [%rd10];
  add.u64 %rd10, %rd1, %rd9;
  st.global.u64 [%rd10], %rd11;
  add.u64 %rd7, %rd7, %rd8;
  bra next;
done:
  ret;
}
)";

/// Writes bytes of q, behind a delay, into the step's stream.
using WriteLate =
    function_ref<void(DecodeStep &step, cuda::DevicePtr q, size_t bytes)>;

static void backToBack(Check &check, RuntimeHost &host, uint32_t flags,
                       WriteLate writeLate) {
  constexpr int kLaunches = 10000;
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
  size_t bytes = host.inputs().storage("q").size();
  auto late = check.get(cuda::DeviceBuffer::allocate(host.context(), bytes));
  if (!check.ok())
    return;
  check.require(step.stream().fill(late.address(), 0xff, bytes));
  step.spoilOutputs();
  step.args.flags = flags;
  writeLate(step, late.address(), bytes);
  for (int i = 0; i < kLaunches; ++i) {
    step.setQuery(i % 2 ? host.query(1) : late.address());
    step.launch(i);
  }
  requireCopies(check, step, serial, kLaunches, "back to back");
  step.requireGuard("back to back");
  auto info = check.get(step.kernel.info(), "mla_kernel_get_info");
  check.note(Twine(info.num_entries) + " kernels a launch");
}

static void plainBackToBack(Check &check, RuntimeHost &host) {
  backToBack(check, host, 0,
             [&](DecodeStep &step, cuda::DevicePtr q, size_t bytes) {
               check.require(host.delay(step.stream(), kDelayNanoseconds));
               check.require(step.stream().copy(q, host.query(0), bytes));
             });
}

/// Each launch may begin before the one ahead has ended, and the first before
/// the kernel that writes its q has.
static void dependentBackToBack(Check &check, RuntimeHost &host) {
  if (host.context()->device().major < 9)
    return check.skip("requires dependent launch, of sm_90 or newer");
  auto library =
      check.get(cuda::Library::assemble(host.context(), kProducePTX));
  if (!check.ok())
    return;
  auto producer = check.get(cuda::Function::get(library, "produce"));
  if (!check.ok())
    return;
  backToBack(check, host, MLA_LAUNCH_PDL_WAIT | MLA_LAUNCH_PDL_TRIGGER,
             [&](DecodeStep &step, cuda::DevicePtr q, size_t bytes) {
               cuda::DevicePtr from = host.query(0);
               uint64_t words = bytes / 8, nanoseconds = kDelayNanoseconds;
               void *parameters[] = {&q, &from, &words, &nanoseconds};
               cuda::LaunchConfig config;
               config.block[0] = 256;
               config.stream = step.stream().handle();
               check.require(cuda::launch(*producer, config, parameters));
             });
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
      {"C7.behind-delay",
       "a launch behind a delay and a copy, eager and captured", behindDelay},
      {"C7.back-to-back",
       "10000 launches of 8 splits and their combination, behind a late q, "
       "agree with serial ones",
       plainBackToBack},
      {"C7.dependent",
       "the same where each may begin before what is ahead has ended",
       dependentBackToBack},
      {"repeated",
       "6 steps of 61 layers with other lengths each, eager and captured",
       repeatedLayers},
      {"threads", "8 threads launch one kernel in streams of their own",
       manyThreads},
  };
  return kCases;
}

} // namespace mla_jit
