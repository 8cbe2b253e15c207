//===- RuntimeProcesses.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What takes a process of its own: fork, a lost device, how a process ends.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHost.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace mla_jit {

//===----------------------------------------------------------------------===//
// Forked
//===----------------------------------------------------------------------===//

static void forked(Check &check, RuntimeHost &host) {
  mla::Engine engine = host.makeEngine();
  mla_spec spec = host.spec();
  DecodeStep step(check, host, engine,
                  check.get(engine.prepare(spec), "mla_prepare"));
  DecodeStep::Bytes expected = step.run(kLongLengths);
  if (!check.ok())
    return;
  pid_t child = ::fork();
  if (child == 0) {
    auto isForked = [](auto result) {
      return !result && result.status().code() == MLA_E_FORKED;
    };
    bool isRight =
        isForked(engine.prepare(spec)) &&
        isForked(engine.prepare(host.otherSpec(0))) &&
        isForked(engine.lookup(spec)) &&
        step.kernel.launch(step.args, step.stream().handle()).code() ==
            MLA_E_FORKED &&
        engine.trim();
    step.kernel = {};
    ::_exit(isRight ? 0 : 1);
  }
  int status = -1;
  check.require(::waitpid(child, &status, 0) == child && status == 0,
                "the child requires MLA_E_FORKED of each call, but ended with "
                "status " +
                    Twine(status));
  step.spoilOutputs();
  step.launch();
  step.requireResults(expected, "the parent goes on");
}

//===----------------------------------------------------------------------===//
// Children that begin anew
//===----------------------------------------------------------------------===//

namespace {
/// A kernel that is launched, and an engine that lives to the end.
struct Child {
  std::unique_ptr<RuntimeHost> host;
  std::optional<mla::Engine> engine;
  mla::Kernel kernel;
  std::optional<DecodeStep> step;
  Check check;

  Error start(int device) {
    auto opened = RuntimeHost::open(device);
    if (!opened)
      return opened.takeError();
    host = std::move(*opened);
    engine.emplace(host->makeEngine());
    kernel = check.get(engine->prepare(host->spec()), "mla_prepare");
    step.emplace(check, *host, *engine, kernel);
    step->launch();
    step->results();
    return state();
  }
  Error state() const {
    return check.ok() ? Error::success() : createStringError(check.text());
  }
};
} // namespace

static constexpr const char *kTrapPTX = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry stop()
{
  trap;
}
)";

/// After another kernel has failed, each call says that the device is lost.
static Error loseDevice(Child &child) {
  auto library = cuda::Library::assemble(child.host->context(), kTrapPTX);
  if (!library)
    return library.takeError();
  auto trap = cuda::Function::get(*library, "stop");
  if (!trap)
    return trap.takeError();
  cuda::LaunchConfig config;
  config.stream = child.step->stream().handle();
  if (Error error = cuda::launch(**trap, config, {}))
    return error;
  Error lost = child.step->stream().synchronize();
  if (!lost)
    return createStringError("the kernel that traps did not fail");
  consumeError(std::move(lost));
  Check &check = child.check;
  mla::Status launched =
      child.kernel.launch(child.step->args, child.step->stream().handle());
  check.requireCode(launched, MLA_E_DEVICE_LOST, "mla_launch");
  check.require(launched->driver_code != 0, "driver_code requires a number");
  auto prepared = child.engine->prepare(child.host->otherSpec(0));
  check.require(!prepared, "mla_prepare requires an error");
  if (!prepared)
    check.requireCode(prepared.status(), MLA_E_DEVICE_LOST, "mla_prepare");
  return child.state();
}

Error runRuntimeChild(StringRef name, int device) {
  // Ends after main, when the driver may be gone.
  static Child child;
  if (Error error = child.start(device))
    return error;
  if (name == "trap")
    return loseDevice(child);
  if (name == "exit-failed") {
    child.step->args.workspace_bytes = 0;
    (void)child.kernel.launch(child.step->args);
  }
  if (name == "exit-thread") {
    std::thread thread([] { std::exit(0); });
    thread.join();
  }
  return Error::success();
}

/// Runs this program once more; what it prints on standard error is wrong.
static void runChild(Check &check, RuntimeHost &host, StringRef name) {
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&runRuntimeChild));
  SmallString<128> output;
  if (std::error_code error =
          sys::fs::createTemporaryFile("mla-jit-child", "txt", output))
    return check.fail("a temporary file: " + error.message());
  FileRemover remove(output);
  std::string number = std::to_string(host.device()), message;
  StringRef arguments[] = {program, "verify-runtime", "--device",
                           number,  "--child",        name};
  int rc = sys::ExecuteAndWait(program, arguments, std::nullopt,
                               {StringRef(), StringRef(), StringRef(output)},
                               /*SecondsToWait=*/120, 0, &message);
  auto said = MemoryBuffer::getFile(output);
  StringRef text = said ? (*said)->getBuffer().trim() : "";
  check.require(rc == 0, name + ": ended with status " + Twine(rc) + " " +
                             message + ": " + text);
  check.require(text.empty(), name + ": printed " + text);
}

static void deviceLost(Check &check, RuntimeHost &host) {
  runChild(check, host, "trap");
}

static void exits(Check &check, RuntimeHost &host) {
  for (const char *name : {"exit", "exit-thread", "exit-failed"})
    runChild(check, host, name);
}

ArrayRef<RuntimeCase> runtimeProcessCases() {
  static constexpr RuntimeCase kCases[] = {
      {"process.fork", "a child of this process gets MLA_E_FORKED", forked},
      {"process.device-lost",
       "after another kernel's fault, calls are MLA_E_DEVICE_LOST", deviceLost},
      {"D8.exit",
       "a process that ends with live handles has status 0 and says nothing",
       exits},
  };
  return kCases;
}

} // namespace mla_jit
