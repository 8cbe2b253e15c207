//===- PtxReport.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From PTX to a cubin with NVIDIA's assembler, and what the assembler and the
// disassembler say of the code. For tools and tests: nothing at run time needs
// these programs, which are looked for in PATH and in /usr/local/cuda/bin.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TARGET_PTXREPORT_H
#define MLA_TARGET_PTXREPORT_H

#include "mla/Target/AssemblerDefects.h"
#include "mla/Target/NVPTX.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace mlir::mla {

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The error of a function whose program is not installed: its feature is not
/// available, which is no failure of the code at hand.
class ToolNotFound : public llvm::ErrorInfo<ToolNotFound> {
public:
  static char ID; // NOLINT(readability-identifier-naming): the name that
                  // llvm::ErrorInfo asks for
  explicit ToolNotFound(std::string names) : names(std::move(names)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string names;
};

/// What a program printed, and how it ended.
struct ToolResult {
  int status = 0;
  std::string output; // both streams
};

/// Path of the first of the programs that is found.
llvm::Expected<std::string> findTool(llvm::ArrayRef<llvm::StringRef> names);

/// Runs a program to its end. An error if it cannot be started, is ended by a
/// signal, or is not done within `timeLimit` (it is then killed).
llvm::Expected<ToolResult> runTool(llvm::StringRef path,
                                   llvm::ArrayRef<std::string> arguments,
                                   std::chrono::milliseconds timeLimit);

/// An assembler, and the newest PTX version that it reads.
struct Assembler {
  std::string path;
  std::string release; // "13.0"
  AssemblerVersion version;
  unsigned ptxVersion = 0;
};

/// Asks the assembler at `path` (empty: the one found) for its release.
llvm::Expected<Assembler> findAssembler(llvm::StringRef path = "");

/// The newest PTX version that the assembler of a CUDA release reads; 0 if the
/// release is not known.
unsigned ptxVersionOfRelease(llvm::StringRef release);

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// What ptxas says of one function.
struct KernelReport {
  std::string name;
  /// False for a function that kernels call: it has no registers or barriers of
  /// its own.
  bool entry = false;
  unsigned registers = 0;
  unsigned barriers = 0;
  unsigned stackBytes = 0; // local memory, a thread
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
  unsigned staticSharedBytes = 0;
};

/// A remark of ptxas ("C7510", "Potential Performance Loss: ..."), or a warning
/// without a code.
struct PtxNotice {
  std::string code;
  std::string text;
};

struct PtxReport {
  std::string cubin;
  std::string release; // of the assembler
  std::vector<KernelReport> kernels;
  std::vector<PtxNotice> notices;
  std::string log;
};

struct AssembleOptions {
  std::string assembler; // path; empty: the one found
  std::chrono::milliseconds timeLimit = std::chrono::seconds(60);
  llvm::ArrayRef<AssemblerDefect> defects = getAssemblerDefects();
};

/// Assembles for the chip. Errors: no assembler (ToolNotFound), a denied one,
/// PTX newer than it reads, PTX that it refuses (with its log), a crash, the
/// time limit.
llvm::Expected<PtxReport> assemble(llvm::StringRef ptx, const GPUChip &chip,
                                   const AssembleOptions &options = {});

/// Reads the log of `ptxas -v`.
void parseAssemblerLog(llvm::StringRef log, PtxReport &report);

/// What makes a kernel slower than it was meant to be, a line each: spills,
/// local memory over `localBytes`, static shared memory over what a block of
/// sm_90 can have, and notices of setmaxnreg ignored (C7508) and of wgmma
/// serialised or waited for (C7510 to C7517, C7520).
std::vector<std::string> findPerformanceLosses(const PtxReport &report,
                                               unsigned localBytes = 0);

//===----------------------------------------------------------------------===//
// Disassembly
//===----------------------------------------------------------------------===//

/// How often each opcode occurs, by its name without modifiers: "HGMMA",
/// "UTMALDG", "USETMAXREG".
using SassCounts = std::map<std::string, unsigned, std::less<>>;

/// Counts by nvdisasm or cuobjdump; ToolNotFound if there is neither.
llvm::Expected<SassCounts> countSass(llvm::StringRef cubin);

/// Reads what either program prints.
SassCounts parseSass(llvm::StringRef text);

/// The report for people, one fact a line. `sass` null: not available.
void printReport(llvm::raw_ostream &stream, const PtxReport &report,
                 const SassCounts *sass);

} // namespace mlir::mla

#endif // MLA_TARGET_PTXREPORT_H
