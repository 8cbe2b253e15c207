//===- Compiler.h --------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Spec or MLIR text to machine code: the only file of the runtime that knows
// MLIR. A context per compilation, so that nothing accumulates.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_COMPILER_H
#define MLA_JIT_SRC_COMPILER_H

#include "Engine.h"

#include <mutex>

namespace mla_jit {

/// How far a compilation came: the text that the stage under way was given. Who
/// asked may read it after a failure, which may leave the thread that compiles
/// behind.
class CompileTrail {
public:
  void reach(std::string_view stage, std::string text) {
    std::lock_guard lock(mutex);
    last = {std::string(stage), std::move(text)};
  }
  /// Name of the stage that made it, and the text.
  std::pair<std::string, std::string> given() const {
    std::lock_guard lock(mutex);
    return last;
  }

private:
  mutable std::mutex mutex;
  std::pair<std::string, std::string> last;
};

struct CompileRequest {
  std::string mlir; ///< text at the problem level or below
  std::string name; ///< of the text, for messages
  /// What the text's one function is called from then on; empty: as there.
  std::string symbol;
  std::string cpu; ///< host
  bool rowLocalSplits = false;

  std::string chip;            ///< of a GPU; empty: for the host
  int64_t queries = 1;         ///< GPU: expected of a request
  bool alignedStrides = false; ///< GPU: promised, see Spec
  bool sharedPlan = false;     ///< GPU: see Spec
  bool verifyProtocol = true;  ///< GPU: of text, which may be anyone's
  unsigned supportedPTX = 0;   ///< GPU: 10 x the newest version; 0: any
  std::chrono::milliseconds timeLimit = {};
  bool keepStages = false; ///< the text of each stage on the way
  /// GPU: PTX of each entry as a module of its own, made side by side on at
  /// most so many threads; 0: one module of all.
  unsigned entryThreads = 0;
  std::shared_ptr<CompileTrail> trail; ///< may be null
};

struct CompileResult {
  /// Of the stage that was asked for; object code for Object, PTX for all that
  /// comes after it. Modules of several entries follow each other.
  std::string text;
  std::string cubin;     ///< GPU: of all of `text`, if a tool assembled it
  std::string assembler; ///< that tool: "ptxas 13.0.88"
  std::shared_ptr<KernelInfo> info; ///< from Stage::Host, Stage::NVVM on
  std::vector<StageTime> times;     ///< of entries side by side the longest
  /// What was passed on the way, in order, if that was asked for.
  std::vector<std::pair<std::string, std::string>> stages;
  /// Object: a CPU feature that the code may use and this machine has not.
  std::string cpu, missingFeature;
};

/// Compiles up to `stage`, for a GPU at most to PTX. Errors carry the stage and
/// the diagnostics; an UnsupportedError is one that a pass has marked as such
/// (mla/Dialect/MLA/IR/Unsupported.h).
llvm::Expected<CompileResult> compile(const CompileRequest &request,
                                      Stage stage);

/// Describes the CPU of that name, or says why kernels are not compiled for it.
llvm::Expected<TargetInfo> describeTarget(const std::string &cpu);

/// Why kernels are not compiled for a GPU of that chip, if they are not.
llvm::Error checkChip(const std::string &chip);

/// The fewest queries, at least 1, for which the compiler chooses the same
/// schedule on a GPU of that chip as for those of the decode, which has none;
/// these where there is none to choose.
llvm::Expected<int64_t> fewestQueriesAlike(const Spec &spec,
                                           const std::string &chip);

/// The problem that a spec describes, as MLIR text: a function "decode" around
/// one mla.decode, or "merge" around one mla.merge.
llvm::Expected<std::string> buildProblemText(const Spec &spec);

/// The same of a decode without what no choice of a schedule depends on and
/// takes long to read: mask and score code.
llvm::Expected<std::string> buildShapeText(const Spec &spec);

} // namespace mla_jit

#endif // MLA_JIT_SRC_COMPILER_H
