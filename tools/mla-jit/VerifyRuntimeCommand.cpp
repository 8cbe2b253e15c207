//===- VerifyRuntimeCommand.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit verify-runtime: the runtime on a GPU, through the C interface.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "Flags.h"
#include "ResultFile.h"
#include "RuntimeHost.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace llvm;

namespace mla_jit {

namespace {

class VerifyRuntimeCommand : public Command {
public:
  VerifyRuntimeCommand()
      : Command("verify-runtime",
                "checks on a GPU what launches and kernels do to streams, "
                "graphs, memory and processes\n\n"
                "Through the C interface. Prints a line a check; exits 1 on a "
                "miss.") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit verify-runtime --json runtime.json\n"
           "  mla-jit verify-runtime --filter C7,D8\n"
           "  mla-jit verify-runtime --list\n";
  }

  Error run() override {
    auto device = deviceFlag.number();
    if (!device)
      return device.takeError();
    if (!child.empty())
      return runRuntimeChild(child, *device);
    if (!json.empty())
      if (Error error = checkWritable("--json", json))
        return error;
    std::vector<RuntimeCase> cases = chooseCases();
    if (cases.empty())
      return usageError("--filter and --skip leave no check: --list prints "
                        "their names");
    if (list) {
      for (const RuntimeCase &one : cases)
        outs() << formatv("{0,-22}{1}\n", one.name, one.what);
      return Error::success();
    }
    auto host = RuntimeHost::open(*device);
    if (!host)
      return host.takeError();
    json::Array results;
    int wrong = 0, skipped = 0;
    for (const RuntimeCase &one : cases) {
      Check::Outcome outcome = runCase(one, **host, results);
      wrong += outcome == Check::Outcome::Wrong;
      skipped += outcome == Check::Outcome::Skipped;
    }
    outs() << formatv("{0} passed, {1} failed, {2} skipped\n",
                      cases.size() - wrong - skipped, wrong, skipped);
    if (!json.empty()) {
      const cuda::Device &on = (*host)->context()->device();
      json::Object all = describeBuild();
      all["device"] = on.name;
      all["chip"] = on.chip;
      all["driver"] = cuda::versionText((*host)->driver().version());
      all["checks"] = std::move(results);
      if (Error error = writeBytes(
              json, formatv("{0:2}\n", json::Value(std::move(all))).str()))
        return error;
    }
    return wrong ? createStringError("some checks failed") : Error::success();
  }

private:
  static bool matches(StringRef name, StringRef patterns) {
    SmallVector<StringRef> parts;
    patterns.split(parts, ',', -1, /*KeepEmpty=*/false);
    return any_of(parts,
                  [&](StringRef part) { return name.starts_with(part); });
  }

  std::vector<RuntimeCase> chooseCases() const {
    std::vector<RuntimeCase> chosen;
    for (ArrayRef<RuntimeCase> some :
         {runtimeGraphCases(), runtimeStreamCases(), runtimeWorkspaceCases(),
          runtimeMemoryCases(), runtimeContextCases(), runtimeProcessCases()})
      for (const RuntimeCase &one : some)
        if ((filter.empty() || matches(one.name, filter)) &&
            !matches(one.name, skip))
          chosen.push_back(one);
    return chosen;
  }

  static Check::Outcome runCase(const RuntimeCase &one, RuntimeHost &host,
                                json::Array &results) {
    Check check;
    auto start = std::chrono::steady_clock::now();
    one.run(check, host);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    Check::Outcome outcome = check.outcome();
    StringRef word = outcome == Check::Outcome::Wrong     ? "FAILED"
                     : outcome == Check::Outcome::Skipped ? "skipped"
                                                          : "ok";
    outs() << formatv("{0,-8}{1,-22}{2,7:F2} s  {3}\n", word, one.name, seconds,
                      check.text().empty() ? one.what : check.text());
    outs().flush();
    results.push_back(json::Object{{"name", one.name},
                                   {"what", one.what},
                                   {"outcome", word.lower()},
                                   {"seconds", seconds},
                                   {"text", check.text()}});
    return outcome;
  }

  cl::OptionCategory category{"Flags of verify-runtime"};
  cl::cat in{category};
  cl::sub of{sub};
  DeviceFlag deviceFlag{in, of};
  cl::opt<std::string> filter{
      "filter", cl::desc("Checks to run, by beginnings of names (default all)"),
      cl::value_desc("names"), in, of};
  cl::opt<std::string> skip{"skip", cl::desc("Checks to leave out, likewise"),
                            cl::value_desc("names"), in, of};
  cl::opt<bool> list{"list", cl::desc("Print the checks, run none"), in, of};
  cl::opt<std::string> json{"json", cl::desc("Write all results to this file"),
                            cl::value_desc("file"), in, of};
  cl::opt<std::string> child{"child",
                             cl::desc("Be a process of one of the checks"),
                             cl::ReallyHidden, in, of};
};

} // namespace

std::unique_ptr<Command> makeVerifyRuntimeCommand() {
  return std::make_unique<VerifyRuntimeCommand>();
}

} // namespace mla_jit
