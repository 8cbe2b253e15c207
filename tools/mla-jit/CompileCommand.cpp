//===- CompileCommand.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit compile: any stage of a compilation.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "Files.h"
#include "ProblemFlags.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

namespace {

class CompileCommand : public Command {
public:
  CompileCommand()
      : Command("compile", R"(compiles a decode and prints one stage of it

The problem comes from flags or from an .mlir file at the problem or tile level.
Stages, each made from the one before:
  problem  one mla.decode: what to compute
  tile     one worker's loop over tiles of keys (the default)
  host     loops over register blocks: scf, vector, memref
  llvm     the LLVM dialect
  asm      assembly
  obj      a relocatable ELF object)") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit compile\n"
           "  mla-jit compile --emit asm --host-cpu x86-64-v4 --h-q 16\n"
           "  mla-jit compile --emit problem -o p.mlir && mla-jit compile "
           "p.mlir --emit host\n"
           "  mla-jit compile --emit obj -o decode.o\n";
  }

  Error run() override {
    if (target != "host")
      return usageError(
          "--target requires host (this build has no other), but got '" +
          target + "'");
    auto stage = parseStage(emit.getValue());
    if (!stage) {
      consumeError(stage.takeError());
      return usageError(
          "--emit requires problem, tile, host, llvm, asm or obj, but got '" +
          emit + "'");
    }
    bool hasFile = file.getNumOccurrences();
    if (Error error = flags.checkUnused(hasFile, /*hasTensors=*/false))
      return error;
    if (out != "-")
      if (Error error = checkWritable("-o", out, /*replaced=*/false))
        return error;
    if (*stage == Stage::Object && out == "-" && outs().is_displayed())
      return usageError("-o is required: an object is no text for a terminal");
    auto made = machine.makeEngine();
    if (!made)
      return made.takeError();
    Engine &engine = **made;
    auto text =
        hasFile ? compileFile(engine, *stage) : compileFlags(engine, *stage);
    if (!text)
      return text.takeError();
    return writeBytes(out, *text);
  }

private:
  Expected<std::string> compileFile(Engine &engine, Stage stage) const {
    auto text = readText(file);
    if (!text)
      return text.takeError();
    Progress progress("compiling");
    return engine.compile(*text, file, stage);
  }

  Expected<std::string> compileFlags(Engine &engine, Stage stage) const {
    auto problem = flags.makeSpec();
    if (!problem)
      return problem.takeError();
    Progress progress("compiling");
    auto text = engine.compile(problem->spec, stage);
    if (!text)
      return flags.explain(text.takeError());
    return text;
  }

  ProblemFlags flags{sub};
  EngineFlags machine{sub};
  cl::OptionCategory category{"Flags of compile"};
  cl::opt<std::string> file{cl::Positional, cl::desc("[file.mlir]"),
                            cl::sub(sub)};
  cl::opt<std::string> target{
      "target",
      cl::desc("What to compile for: host (default host)"),
      cl::value_desc("name"),
      cl::init("host"),
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<std::string> emit{"emit",
                            cl::desc("Stage to print: problem, tile, host, "
                                     "llvm, asm or obj (default tile)"),
                            cl::value_desc("stage"),
                            cl::init("tile"),
                            cl::cat(category),
                            cl::sub(sub)};
  cl::opt<std::string> out{
      "o",
      cl::desc("File to write; -: standard output (default -)"),
      cl::value_desc("file"),
      cl::init("-"),
      cl::cat(category),
      cl::sub(sub)};
};

} // namespace

std::unique_ptr<Command> makeCompileCommand() {
  return std::make_unique<CompileCommand>();
}

} // namespace mla_jit
