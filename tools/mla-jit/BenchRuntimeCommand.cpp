//===- BenchRuntimeCommand.cpp --------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit bench-runtime: what the runtime itself costs, through the C
// interface.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "Flags.h"
#include "RuntimeBench.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

/// libmla_jit.so of this build or of the place of installation, or nothing.
static std::string findLibrary() {
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findLibrary));
  StringRef root = sys::path::parent_path(sys::path::parent_path(program));
  for (const char *directory : {"runtime", "lib"}) {
    SmallString<128> path(root);
    sys::path::append(path, directory, "libmla_jit.so");
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

namespace {

class BenchRuntimeCommand : public Command {
public:
  BenchRuntimeCommand()
      : Command("bench-runtime",
                "times what a host application pays beside the kernels\n\n"
                "Through the C interface: kernels that are in memory, on disk "
                "or nowhere,\nlaunch calls, the library. Times are medians; a "
                "goal that is missed is marked.") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit bench-runtime\n"
           "  mla-jit bench-runtime --target cuda --json runtime.json\n";
  }

  Error run() override {
    if (!load.empty())
      return timeLibraryLoad(load);
    if (!json.empty())
      if (Error error = checkWritable("--json", json))
        return error;
    if (target != "host" && target != "cuda")
      return usageError("--target requires host or cuda, but got '" + target +
                        "'");
    if (specs < 1 || specs > 4096)
      return usageError("--specs requires 1 to 4096, but got " + Twine(specs));
    RuntimeBenchOptions options;
    options.onGPU = target == "cuda";
    options.device = static_cast<int>(device);
    options.specs = static_cast<int>(specs);
    options.library = library.empty() ? findLibrary() : library;
    auto figures = benchRuntime(options);
    if (!figures)
      return figures.takeError();
    outs() << formatv("{0,-24}{1,12}{2,12}\n", "", "median", "goal");
    json::Array rows;
    for (const RuntimeFigure &figure : *figures) {
      std::string goal =
          figure.goal ? "< " + timeText(figure.goal, 0) : std::string();
      outs() << formatv("{0,-24}{1,12}{2,12}  {3}{4}\n", figure.name,
                        timeText(figure.seconds, 2), goal,
                        figure.isMet() ? "" : "MISSED; ", figure.note);
      rows.push_back(json::Object{{"name", figure.name},
                                  {"seconds", figure.seconds},
                                  {"goal_seconds", figure.goal},
                                  {"met", figure.isMet()},
                                  {"note", figure.note}});
    }
    if (json.empty())
      return Error::success();
    json::Object all{{"target", std::string(target)},
                     {"figures", std::move(rows)}};
    return writeBytes(json,
                      formatv("{0:2}\n", json::Value(std::move(all))).str());
  }

private:
  static std::string timeText(double seconds, int digits) {
    const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
    double scale = seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    std::string text;
    raw_string_ostream(text)
        << format("%.*f %s", digits, seconds * scale, unit);
    return text;
  }

  cl::OptionCategory category{"Flags of bench-runtime"};
  cl::cat in{category};
  cl::sub of{sub};
  cl::opt<std::string> target{"target",
                              cl::desc("host or cuda (default host)"),
                              cl::value_desc("name"),
                              cl::init("host"),
                              in,
                              of};
  NumberFlag<int64_t> device{
      "device",
      cl::desc("The CUDA driver's number of the GPU (default 0)"),
      cl::value_desc("N"),
      cl::init(0),
      in,
      of};
  NumberFlag<int64_t> specs{
      "specs",
      cl::desc("Kernels that threads ask for in turn; each is compiled once\n"
               "(default 1000)"),
      cl::value_desc("N"),
      cl::init(1000),
      in,
      of};
  cl::opt<std::string> library{
      "library",
      cl::desc("libmla_jit.so, to time its loading (default: this build's)"),
      cl::value_desc("file"), in, of};
  cl::opt<std::string> json{"json", cl::desc("Write all figures to this file"),
                            cl::value_desc("file"), in, of};
  cl::opt<std::string> load{"load",
                            cl::desc("Load this library, print the seconds"),
                            cl::ReallyHidden, in, of};
};

} // namespace

std::unique_ptr<Command> makeBenchRuntimeCommand() {
  return std::make_unique<BenchRuntimeCommand>();
}

} // namespace mla_jit
