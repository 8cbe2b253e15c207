//===- RuntimeContexts.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The caller's context, devices other than the first, and the driver's
// assembler.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"
#include "llvm/Support/FormatVariadic.h"

#include <thread>

using namespace llvm;

namespace mla_jit {

/// Calls each function of the interface that may ask the driver, in a thread
/// whose current context is `current`.
static void callAll(Check &check, RuntimeHost &host,
                    cuda::ContextHandle current, const Twine &which) {
  const cuda::DriverTable &call = host.driver().call();
  if (current)
    call.ctxPushCurrent(current);
  auto requireSame = [&](const char *after) {
    cuda::ContextHandle now = nullptr;
    call.ctxGetCurrent(&now);
    check.require(now == current,
                  which + ": " + after + " left another context current");
  };
  {
    mla::Engine engine = host.makeEngine();
    requireSame("mla_engine_create");
    mla_spec spec = host.spec();
    check.require(engine.isSupported(spec), "mla_is_supported");
    requireSame("mla_is_supported");
    check.get(engine.sizes(spec), "mla_sizes_for");
    requireSame("mla_sizes_for");
    mla::Kernel kernel = check.get(engine.prepare(spec), "mla_prepare");
    requireSame("mla_prepare");
    check.get(engine.lookup(spec), "mla_lookup");
    requireSame("mla_lookup");
    check.get(kernel.info(), "mla_kernel_get_info");
    requireSame("mla_kernel_get_info");
    {
      DecodeStep step(check, host, engine, kernel);
      requireSame("an allocation");
      step.launch();
      requireSame("mla_launch");
      step.args.workspace_bytes = 0;
      (void)kernel.launch(step.args, step.stream().handle());
      requireSame("a refused mla_launch");
      step.results();
    }
    kernel = {};
    requireSame("mla_kernel_release");
    check.get(engine.trim(), "mla_engine_trim");
    requireSame("mla_engine_trim");
  }
  requireSame("mla_engine_destroy");
  cuda::ContextHandle popped = nullptr;
  if (current)
    call.ctxPopCurrent(&popped);
  check.require(popped == current, which + ": the stack of contexts changed");
}

static void currentContext(Check &check, RuntimeHost &host) {
  auto inThread = [&](cuda::ContextHandle current, const char *which) {
    std::thread([&] { callAll(check, host, current, which); }).join();
  };
  inThread(nullptr, "no context");
  inThread(host.context()->handle(), "the device's context");
  if (host.driver().deviceCount() < 2) {
    check.note("one device: no other's context");
    return;
  }
  auto other = cuda::Device::open(host.driver(), host.device() == 0 ? 1 : 0);
  if (!other) {
    check.require(other.takeError());
    return;
  }
  auto context = check.get(cuda::Context::retain(host.driver(), *other));
  if (check.ok())
    inThread(context->handle(), "another device's context");
}

static void secondDevice(Check &check, RuntimeHost &host) {
  if (host.driver().deviceCount() < 2)
    return check.skip("requires two devices, but got one");
  mla::Engine engine = host.makeEngine();
  DecodeStep here(check, host, engine,
                  check.get(engine.prepare(host.spec()), "mla_prepare"));
  DecodeStep::Bytes expected = here.run(kLongLengths);
  auto other = RuntimeHost::open(host.device() == 0 ? 1 : 0);
  if (!other) {
    check.require(other.takeError());
    return;
  }
  // The same bits where there are as many SMs.
  mla::Engine there = (*other)->makeEngine();
  DecodeStep step(check, **other, there,
                  check.get(there.prepare((*other)->spec()), "mla_prepare"));
  step.setLengths(kLongLengths);
  step.launch();
  step.requireResults(expected, "on the other device");
}

/// As where nobody has verified the assembler.
static void selfCheck(Check &check, RuntimeHost &host) {
  auto options = mla::make<mla_engine_options>();
  options.target = "cuda";
  options.device = host.device();
  options.cache_dir = "";
  options.self_check = MLA_SELF_CHECK_ALWAYS;
  std::string told;
  options.log_user = &told;
  options.log = [](void *user, const mla_log *event) {
    if (event->event == MLA_EVENT_SELF_CHECK)
      *static_cast<std::string *>(user) =
          llvm::formatv("{0}, in {1:F2} s", event->message, event->seconds);
  };
  auto engine = mla::Engine::create(options);
  if (!engine) {
    check.require(engine.status(), "mla_engine_create");
    return;
  }
  check.get(engine->prepare(host.spec()), "mla_prepare");
  check.require(!told.empty(), "a self-check was required, but not told of");
  check.note(told);
}

ArrayRef<RuntimeCase> runtimeContextCases() {
  static constexpr RuntimeCase kCases[] = {
      {"context.current", "no call changes the caller's current context",
       currentContext},
      {"context.device", "a second device computes the same", secondDevice},
      {"E8.self-check", "the driver's assembler makes right code", selfCheck},
  };
  return kCases;
}

} // namespace mla_jit
