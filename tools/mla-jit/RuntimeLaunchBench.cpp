//===- RuntimeLaunchBench.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a launch call takes the host on a GPU.
//
//===----------------------------------------------------------------------===//

#include "RuntimeBench.h"
#include "RuntimeHost.h"
#include "RuntimeTimes.h"
#include "llvm/Support/FormatVariadic.h"

#include <memory>

using namespace llvm;

namespace mla_jit {

namespace {
/// Seconds that a launch takes the host where the GPU has nothing to wait for.
class DeviceLaunchTimer {
public:
  DeviceLaunchTimer(Check &check, DecodeStep &step)
      : check(check), step(step), keys(static_cast<char *>(step.args.k.data)) {
    // Pools begin within the first page.
    --step.args.k.shape[0];
  }

  /// Of a model's layers in turn, each with a KV pool of its own.
  double timeLayers(uint32_t flags = 0) {
    step.args.flags = flags;
    return time([&] { launch(next()); });
  }
  /// The same as the host would have it without: a graph for each layer, which
  /// it captured.
  double timeCaptured() {
    if (graphs.empty())
      capture();
    return time([&] { graphs[next()]->replay(); });
  }
  /// Of a KV pool each time that no launch had before.
  double timeNew() {
    step.args.flags = 0;
    return time([&] { launch(++newest); });
  }

  static constexpr int kCalls = 100; // fewer than the driver queues
  static constexpr int kLayers = 61;

private:
  int next() { return layer = (layer + 1) % kLayers; }
  void launch(int pool) {
    step.args.k.data = keys + pool * kPoolDistance;
    mla_launch(step.kernel.get(), step.stream().handle(), &step.args, nullptr);
  }
  void capture() {
    step.args.flags = 0;
    for (int pool = 0; pool < kLayers; ++pool)
      graphs.push_back(std::make_unique<CapturedGraph>(
          check, step.stream(), cuda::CaptureMode::ThreadLocal,
          [&] { launch(pool); }));
  }
  double time(function_ref<void()> call) {
    double seconds = secondsACall(1, kCalls, call);
    step.results(); // waits
    return seconds;
  }

  static constexpr int kPoolDistance = 16; // bytes
  Check &check;
  DecodeStep &step;
  char *keys;
  int layer = 0, newest = kLayers;
  std::vector<std::unique_ptr<CapturedGraph>> graphs; ///< by layer
};
} // namespace

Error timeDeviceLaunch(int device, std::vector<RuntimeFigure> &figures) {
  constexpr int kRounds = 21;
  auto host = RuntimeHost::open(device);
  if (!host)
    return host.takeError();
  Check check;
  mla::Engine engine = (*host)->makeEngine();
  DecodeStep step(check, **host, engine,
                  check.get(engine.prepare((*host)->spec()), "mla_prepare"));
  step.run(kShortLengths);
  if (!check.ok())
    return createStringError(check.text());
  auto scope = (*host)->context()->enter();
  if (!scope)
    return scope.takeError();
  DeviceLaunchTimer timer(check, step);
  std::vector<double> layers, captured, others, dependent, driver;
  for (int round = 0; round < kRounds; ++round) {
    layers.push_back(timer.timeLayers());
    captured.push_back(timer.timeCaptured());
    dependent.push_back(timer.timeLayers(MLA_LAUNCH_PDL_WAIT));
    driver.push_back(secondsACall(1, DeviceLaunchTimer::kCalls, [&] {
      check.require((*host)->delay(step.stream(), /*nanoseconds=*/0));
    }));
    step.results();
  }
  // Last, as what they had is remembered instead of the layers.
  for (int round = 0; round < kRounds; ++round)
    others.push_back(timer.timeNew());
  auto info = check.get(step.kernel.info(), "mla_kernel_get_info");
  if (!check.ok())
    return createStringError(check.text());
  auto add = [&](const char *name, ArrayRef<double> seconds, double goal,
                 const Twine &what) {
    figures.push_back({name, medianOf(seconds), goal,
                       formatv("best {0:F2} us; {1}",
                               *llvm::min_element(seconds) * 1e6, what)});
  };
  add("launch", layers, 3e-6,
      formatv("of {0} kernels; 61 layers in turn, a KV pool each",
              info.num_entries));
  add("launch of a captured graph", captured, 0,
      "the same, by the driver alone");
  add("launch, new arguments", others, 3e-6, "a KV pool that no launch had");
  add("launch, dependent", dependent, 0,
      "one that overlaps the kernel ahead: no graph");
  add("launch of one kernel", driver, 0,
      "with a single parameter, by the driver alone");
  return Error::success();
}

} // namespace mla_jit
