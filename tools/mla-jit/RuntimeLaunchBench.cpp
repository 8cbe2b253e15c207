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

using namespace llvm;

namespace mla_jit {

namespace {
/// Seconds that a launch takes the host where the GPU has nothing to wait for.
class DeviceLaunchTimer {
public:
  explicit DeviceLaunchTimer(DecodeStep &step)
      : step(step), keys(static_cast<char *>(step.args.k.data)) {
    // Pools begin within the first page.
    --step.args.k.shape[0];
  }

  /// Of a model's layers in turn, each with a KV pool of its own.
  double timeLayers(uint32_t flags = 0) {
    return time(flags, [this] { return layer = (layer + 1) % kLayers; });
  }
  /// Of a KV pool each time that no launch had before.
  double timeNew() {
    return time(/*flags=*/0, [this] { return ++newest; });
  }

  static constexpr int kCalls = 100; // fewer than the driver queues
  static constexpr int kLayers = 61;

private:
  double time(uint32_t flags, function_ref<int()> choosePool) {
    mla_args args = step.args;
    args.flags = flags;
    double seconds = secondsACall(1, kCalls, [&] {
      args.k.data = keys + choosePool() * kPoolDistance;
      mla_launch(step.kernel.get(), step.stream().handle(), &args, nullptr);
    });
    step.results(); // waits
    return seconds;
  }

  static constexpr int kPoolDistance = 16; // bytes
  DecodeStep &step;
  char *keys;
  int layer = 0, newest = kLayers;
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
  DeviceLaunchTimer timer(step);
  std::vector<double> layers, others, dependent, driver;
  for (int round = 0; round < kRounds; ++round) {
    layers.push_back(timer.timeLayers());
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
  auto describe = [&](const char *of) {
    return formatv("the call, of {0} kernels; {1}", info.num_entries, of).str();
  };
  figures.push_back({"launch", medianOf(layers), 3e-6,
                     describe("61 layers in turn, a KV pool each")});
  figures.push_back({"launch, new arguments", medianOf(others), 3e-6,
                     describe("a KV pool that no launch had before")});
  figures.push_back({"launch, dependent", medianOf(dependent), 0,
                     "one that overlaps the kernel ahead: no graph"});
  figures.push_back({"launch of one kernel", medianOf(driver), 0,
                     "with a single parameter: the driver's part"});
  return Error::success();
}

} // namespace mla_jit
