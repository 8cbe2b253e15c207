//===- GenCommand.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit gen: seeded inputs to a file.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "Files.h"
#include "ProblemFlags.h"
#include "RunReport.h"
#include "mla/Inputs/Safetensors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

namespace {

class GenCommand : public Command {
public:
  GenCommand()
      : Command("gen",
                R"(writes seeded inputs of a decode to a .safetensors file

Values have the statistics of the real thing: an RMS-normalised latent, a rope
part rotated at each key's position, pages shuffled over the pool, NaN in unused
slots and invalid ids in unused table entries. The same seed gives the same
file. Metadata (scale, mask, ...) lets run do without flags.)") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit gen --out in.safetensors\n"
           "  mla-jit gen --model deepseek-v2-lite --seq-lens 1000,0,17 --out "
           "in.safetensors\n"
           "  mla-jit gen --layout dense --dtype f32 --h-q 8 --h-kv 2 --d-qk "
           "64 --d-v 64 --out gqa.safetensors\n";
  }

  Error run() override {
    if (out.empty())
      return usageError("--out is required: the .safetensors file to write");
    if (Error error = checkWritable("--out", out))
      return error;
    auto problem = flags.makeProblem();
    if (!problem)
      return problem.takeError();
    {
      Progress progress("writing " + out);
      if (Error error = writeSafetensors(out, problem->inputs))
        return error;
    }
    uint64_t size = 0;
    (void)sys::fs::file_size(out, size);
    outs() << "Wrote " << out << " (" << formatBytes(size)
           << "): " << describeProblem(problem->spec, problem->inputs)
           << ". Tensors:";
    for (const TensorSet::Entry &entry : problem->inputs.entries())
      outs() << " " << entry.name << " " << entry.tensor.describe();
    outs() << formatv(
        ". Seed {0}, softmax scale {1:F7}. Unused slots hold NaN.\n",
        problem->inputs.metadata["seed"], problem->softmaxScale);
    return Error::success();
  }

private:
  ProblemFlags flags{sub};
  cl::OptionCategory category{"Flags of gen"};
  cl::opt<std::string> out{"out", cl::desc("The file to write (required)"),
                           cl::value_desc("file"), cl::cat(category),
                           cl::sub(sub)};
};

} // namespace

std::unique_ptr<Command> makeGenCommand() {
  return std::make_unique<GenCommand>();
}

} // namespace mla_jit
