//===- RuntimeMemory.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Device memory: what kernels take of it, and give back.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"

using namespace llvm;

namespace mla_jit {

/// What the driver takes or keeps by itself.
static constexpr int64_t kSlack = int64_t(8) << 20;

static void manySpecs(Check &check, RuntimeHost &host) {
  constexpr int kRounds = 4, kSpecs = 16;
  mla::Engine engine = host.makeEngine(/*memoryEntries=*/4);
  int64_t first = 0, last = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<mla_spec> specs;
    for (int i = 0; i < kSpecs; ++i)
      specs.push_back(host.otherSpec(round * kSpecs + i));
    check.get(engine.prepare(specs), "mla_prepare_many");
    // A new kernel drops those beyond the capacity that nobody holds any more.
    check.get(engine.prepare(host.spec()), "mla_prepare");
    auto counters = check.get(engine.counters(), "mla_engine_counters");
    check.require(counters.kernels_in_memory <= 4,
                  "memory requires at most 4 kernels, but got " +
                      Twine(counters.kernels_in_memory));
    last = check.get(host.context()->freeMemory());
    if (round == 0)
      first = last;
    if (!check.ok())
      return;
  }
  check.require(first - last < kSlack,
                Twine(first - last) + " bytes were lost over " +
                    Twine((kRounds - 1) * kSpecs) + " kernels");
  auto unloaded = check.get(engine.trim(), "mla_engine_trim");
  check.require(unloaded == 4,
                "mla_engine_trim requires 4 kernels to unload, but got " +
                    Twine(unloaded));
  int64_t trimmed = check.get(host.context()->freeMemory());
  check.require(trimmed >= last, "mla_engine_trim took memory");
  check.note(Twine(kRounds * kSpecs) + " kernels, " +
             Twine((first - last) >> 10) + " KiB more in use");
}

static void noMemory(Check &check, RuntimeHost &host) {
  constexpr size_t kSmallest = 64 << 10, kMostCopies = 2048;
  mla::Engine engine = host.makeEngine();
  mla_spec spec = host.otherSpec(0);
  {
    // A pool of KV that takes all there is.
    std::vector<cuda::DeviceBuffer> pool;
    uint64_t taken = 0;
    size_t bytes = check.get(host.context()->freeMemory());
    while (bytes >= kSmallest &&
           taken <= host.context()->device().memoryBytes) {
      auto buffer = cuda::DeviceBuffer::allocate(host.context(), bytes);
      if (buffer) {
        taken += bytes;
        pool.push_back(std::move(*buffer));
        continue;
      }
      consumeError(buffer.takeError());
      bytes /= 2;
    }
    // Code also fits into what the driver holds already.
    std::vector<std::shared_ptr<const cuda::Function>> codes;
    while (codes.size() < kMostCopies) {
      auto code = host.loadDelay();
      if (!code) {
        consumeError(code.takeError());
        break;
      }
      codes.push_back(std::move(*code));
    }
    auto refused = engine.prepare(spec);
    if (refused)
      return check.skip("a kernel fitted beside " + Twine(taken >> 20) +
                        " MiB of buffers and " + Twine(codes.size()) +
                        " modules");
    check.requireCode(refused.status(), MLA_E_OOM, "mla_prepare");
    check.note(Twine(taken >> 20) + " MiB taken");
  }
  check.get(engine.prepare(spec), "mla_prepare after memory was freed");
}

ArrayRef<RuntimeCase> runtimeMemoryCases() {
  static constexpr RuntimeCase kCases[] = {
      {"D8.plateau",
       "device memory does not grow over 64 kernels of which 4 are kept",
       manySpecs},
      {"memory.exhausted",
       "mla_prepare without memory is MLA_E_OOM, and works once there is some",
       noMemory},
  };
  return kCases;
}

} // namespace mla_jit
