//===- mla-jit.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The command line tool: finds the subcommand, runs it, reports its error.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace llvm;
using namespace mla_jit;

namespace {
struct Entry {
  const char *name;
  const char *summary;
  std::unique_ptr<Command> (*make)();
};
} // namespace

static constexpr Entry kCommands[] = {
    {"run", "compile a decode, run it on this machine, report and check",
     makeRunCommand},
    {"gen", "write seeded inputs to a .safetensors file", makeGenCommand},
    {"compile",
     "print any stage of a compilation, from mla.decode to an object",
     makeCompileCommand},
    {"verify", "run the whole suite of decodes against the reference",
     makeVerifyCommand},
    {"verify-runtime", "check streams, graphs, memory and processes on a GPU",
     makeVerifyRuntimeCommand},
    {"bench",
     "time decodes against this machine or others' kernels, and the runtime",
     makeBenchCommand},
    {"cache", "keep kernels for host applications, on disk and in archives",
     makeCacheCommand},
    {"doctor", "describe this machine and check that kernels work on it",
     makeDoctorCommand},
};

static constexpr StringLiteral kIntroduction =
    R"(mla-jit compiles attention decode (DeepSeek's MLA, MHA, GQA) from MLIR at run time.

A problem says what to compute: heads, widths, types, how keys are stored, which
keys a query sees. The compiler specialises a kernel for exactly that; batch,
lengths, scale and pointers stay launch arguments. Every flag has a default that
makes one request of DeepSeek-V3 with 4096 keys.

Usage: mla-jit <subcommand> [flags]

)";

static constexpr StringLiteral kExamples = R"(
Examples:
  mla-jit run --check
      compile and run DeepSeek-V3's decode, compare with an f64 reference
  mla-jit gen --model kimi-k2 --seq-lens 4096,100,0 --out in.safetensors
  mla-jit run --tensors in.safetensors --out out.safetensors
      inputs to a file, then out and lse to another
  mla-jit compile --emit tile --h-q 16 -o decode.mlir
  mla-jit run decode.mlir --h-q 16 --check
      look at the loop over tiles, edit it, run what you edited
  mla-jit compile --emit asm --host-cpu x86-64-v4
      the machine code for a CPU other than this one
  mla-jit run --target cuda --check
      the same on an NVIDIA GPU; 'compile --target sm_90a' needs none

'mla-jit <subcommand> --help' lists its flags with units and defaults.
Exit status: 0 done, 1 an error (bad input, a result that misses the reference),
2 a command line that makes no sense.
)";

static void printOverview(raw_ostream &stream) {
  stream << kIntroduction << "Subcommands:\n";
  for (const Entry &entry : kCommands)
    stream << "  " << left_justify(entry.name, 16) << entry.summary << "\n";
  stream << kExamples;
}

static int fail(StringRef message, int status) {
  errs() << "mla-jit: error: " << message << "\n";
  return status;
}

static int runCommand(Command &command, int argc, char **argv) {
  Error error = parseCommandLine(command, argc, argv);
  if (!error)
    error = command.run();
  bool isUsage = error.isA<UsageError>();
  std::string message = toString(std::move(error));
  outs().flush();
  if (outs().has_error()) {
    outs().clear_error();
    return fail("cannot write to standard output", 1);
  }
  if (message.empty())
    return isUsage ? 2 : 0;
  if (isUsage)
    message += (" (see 'mla-jit " + command.sub.getName() + " --help')").str();
  return fail(message, isUsage ? 2 : 1);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // A reader that closes early is an error of writing, not a crash.
  std::signal(SIGPIPE, SIG_IGN);
  StringRef name = argc > 1 ? argv[1] : "";
  if (name.empty()) {
    printOverview(errs());
    return 2;
  }
  if (name == "--help" || name == "-h" || name == "-help" || name == "help") {
    printOverview(outs());
    return 0;
  }
  if (name == "--version") {
    outs() << "mla-jit " MLA_JIT_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
    return 0;
  }
  const Entry *nearest = nullptr;
  unsigned distance = 3;
  for (const Entry &entry : kCommands) {
    if (name == entry.name)
      return runCommand(*entry.make(), argc, argv);
    if (unsigned d = name.edit_distance(entry.name); d < distance) {
      distance = d;
      nearest = &entry;
    }
  }
  std::string message = ("requires a subcommand, but got '" + name + "'").str();
  if (nearest)
    message += std::string("; did you mean '") + nearest->name + "'?";
  return fail(message + " (see 'mla-jit --help')", 2);
}
