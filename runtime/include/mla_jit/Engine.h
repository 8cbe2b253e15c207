//===- Engine.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_ENGINE_H
#define MLA_JIT_ENGINE_H

#include "mla_jit/Kernel.h"
#include "mla_jit/Spec.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mla_jit {

/// The forms in which a compilation can be seen, in the order of the stages.
enum class Stage { Problem, Tile, Host, LLVM, Assembly, Object };
/// "problem", "tile", "host", "llvm", "asm", "obj".
std::string_view toString(Stage stage);
/// The stage of that name, or an error that lists them.
llvm::Expected<Stage> parseStage(std::string_view text);

/// Names of the launch-time parameters of a mask ("causal" or "#mla.causal"),
/// in the mask's order; an error if there is no mask of that name.
llvm::Expected<std::vector<std::string>> maskParameters(std::string_view mask);

struct EngineOptions {
  std::string cpu = "native"; ///< LLVM's name; "native" is this machine's
  int numWorkers = 0;         ///< threads; 0: one for each core
};

/// The CPU that an engine compiles for, as `#mla.target` describes it.
struct TargetInfo {
  std::string cpu;      ///< LLVM's name
  std::string features; ///< what this machine lacks of it: "-amx-tile,..."
  int64_t vectorBits, vectorRegisters, l1Bytes, l2Bytes;
};

/// Compiles and runs kernels of the host target. Thread-safe.
class Engine {
public:
  explicit Engine(EngineOptions options = {});
  ~Engine();

  int numWorkers() const;
  /// The CPU compiled for, or why the option 'cpu' names none.
  llvm::Expected<TargetInfo> target() const;

  /// Compiles and loads a kernel.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const Spec &spec);
  /// The same for MLIR text at the problem, tile or host level; `name` is for
  /// messages. A host-level module is run as it is: its mla.kernel is trusted.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const std::string &mlir,
                                                  const std::string &name);

  /// Compiles up to a stage and returns its text (or bytes).
  llvm::Expected<std::string> compile(const Spec &spec, Stage stage);
  llvm::Expected<std::string> compile(const std::string &mlir,
                                      const std::string &name, Stage stage);

  /// Nothing if the spec can be compiled for the host, else the reason why not.
  llvm::Error isSupported(const Spec &spec);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mla_jit

#endif // MLA_JIT_ENGINE_H
