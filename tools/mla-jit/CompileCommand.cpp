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
#include "PublicEngine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

namespace {

constexpr StringRef kStages[] = {"problem", "tile",  "host",  "gpu",
                                 "nvvm",    "llvm",  "asm",   "obj",
                                 "ptx",     "cubin", "report"};

class CompileCommand : public Command {
public:
  CompileCommand()
      : Command("compile", R"(compiles a decode and prints one stage of it

The problem comes from flags or from an .mlir file at one of the levels.
Stages of the host, each made from the one before:
  problem  one mla.decode: what to compute
  tile     one worker's loop over tiles of keys (the default)
  host     loops over register blocks: scf, vector, memref
  llvm     the LLVM dialect
  asm      assembly
  obj      a relocatable ELF object
Stages of a GPU (--target cuda, or a chip, which needs no GPU to be there):
  problem, tile  as above
  gpu      roles, pipelines and tiles in shared memory
  nvvm     what one thread does: the llvm and nvvm dialects
  llvm     LLVM IR
  ptx      the assembler's input
  cubin    machine code, by the driver or by ptxas
  report   registers, spills, shared memory and instructions of it)") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit compile\n"
           "  mla-jit compile --emit asm --host-cpu x86-64-v4 --h-q 16\n"
           "  mla-jit compile --emit problem -o p.mlir && mla-jit compile "
           "p.mlir --emit host\n"
           "  mla-jit compile --emit obj -o decode.o\n"
           "  mla-jit compile --target sm_90a --emit ptx\n";
  }

  Error run() override {
    if (!is_contained(kStages, emit.getValue()))
      return usageError("--emit requires problem, tile, host, llvm, asm or obj "
                        "of the host, or problem, tile, gpu, nvvm, llvm, ptx, "
                        "cubin or report of a GPU, but got '" +
                        emit + "'");
    bool hasFile = file.getNumOccurrences();
    if (Error error = flags.checkUnused(hasFile, /*hasTensors=*/false))
      return error;
    if (out != "-")
      if (Error error = checkWritable("-o", out, /*replaced=*/false))
        return error;
    if ((emit == "obj" || emit == "cubin") && out == "-" &&
        outs().is_displayed())
      return usageError("-o is required: machine code is no text for a "
                        "terminal");
    auto options = machine.options();
    if (!options)
      return options.takeError();
    auto engine = PublicEngine::create(*options);
    if (!engine)
      return engine.takeError();
    auto text = hasFile ? compileFile(**engine) : compileFlags(**engine);
    if (!text)
      return machine.explain(text.takeError());
    return writeBytes(out, *text);
  }

private:
  Expected<std::string> compileFile(PublicEngine &engine) const {
    auto text = readText(file);
    if (!text)
      return text.takeError();
    Progress progress("compiling");
    return engine.compile(*text, file, emit.c_str());
  }

  Expected<std::string> compileFlags(PublicEngine &engine) const {
    auto problem = flags.makeSpec();
    if (!problem)
      return problem.takeError();
    Progress progress("compiling");
    auto text = engine.compile(problem->spec, emit.c_str());
    if (!text)
      return flags.explain(text.takeError());
    return text;
  }

  ProblemFlags flags{sub};
  EngineFlags machine{sub};
  cl::OptionCategory category{"Flags of compile"};
  cl::opt<std::string> file{cl::Positional, cl::desc("[file.mlir]"),
                            cl::sub(sub)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("Stage to print, see above (default tile)"),
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
