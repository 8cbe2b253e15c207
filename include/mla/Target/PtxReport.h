//===- PtxReport.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From PTX to a cubin with NVIDIA's assembler, and what the assembler and the
// disassembler say of the code. Nothing at run time needs these programs, and
// only tools and tests look for them along PATH (findTool, findAssembler).
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
#include <optional>
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
  explicit ToolNotFound(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string message;
};

/// What a program printed, and how it ended.
struct ToolResult {
  /// Empty: nobody knows. A process that ignores SIGCHLD, or that waits for any
  /// child in another thread, takes it.
  std::optional<int> status;
  std::string output; // both streams
};

/// Path of the first of the programs that is in PATH, or among the toolkit's.
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

/// Asks the assembler at `path` for its version. Only where no such file is
/// there the error is a ToolNotFound.
llvm::Expected<Assembler> askAssembler(llvm::StringRef path);
/// Asks the one that findTool finds.
llvm::Expected<Assembler> findAssembler();
/// "ptxas 13.0.88".
std::string nameOf(const Assembler &assembler);

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
  std::string release;   // of the assembler
  std::string assembler; // its path; empty: the driver's
  std::vector<KernelReport> kernels;
  std::vector<PtxNotice> notices;
  std::string log;
};

struct AssembleOptions {
  std::chrono::milliseconds timeLimit = std::chrono::seconds(60);
  llvm::ArrayRef<AssemblerDefect> defects = getAssemblerDefects();
  /// Where it has its files: the first of these that can be written.
  std::vector<std::string> scratch = {"/tmp"};
};

/// Assembles for the chip. Errors: an assembler that is denied, PTX newer than
/// it reads, PTX that it refuses (with its log), a crash, the time limit.
llvm::Expected<PtxReport> assemble(llvm::StringRef ptx, const GPUChip &chip,
                                   const Assembler &assembler,
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

/// Counts by the nvdisasm or cuobjdump beside the assembler; ToolNotFound if
/// there is neither, or no cubin.
llvm::Expected<SassCounts> countSass(const PtxReport &report);

/// Reads what either program prints.
SassCounts parseSass(llvm::StringRef text);

/// The report for people, one fact a line. `sass` null: not available.
void printReport(llvm::raw_ostream &stream, const PtxReport &report,
                 const SassCounts *sass);

} // namespace mlir::mla

#endif // MLA_TARGET_PTXREPORT_H
