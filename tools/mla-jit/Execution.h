//===- Execution.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One problem with its inputs, run through the engine and compared with the
// oracle: what run, verify and bench have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_EXECUTION_H
#define MLA_JIT_TOOLS_EXECUTION_H

#include "DeviceLaunch.h"
#include "PublicEngine.h"
#include "ScoreMods.h"
#include "mla/Inputs/Generate.h"

#include <map>

namespace mla_jit {

/// Everything of a decode problem but the kernel.
struct Problem {
  Spec spec;
  TensorSet inputs;
  double softmaxScale = 0;
  std::vector<std::pair<std::string, double>>
      maskParameters; ///< in the mask's order
  ScoreMod score;
  int64_t numSplits = 0;
  /// Further launch-time scalars by name, which the kernel has to have.
  std::vector<std::pair<std::string, double>> scalars;
};

/// A prepared kernel with outputs and workspace of one problem. Outputs, LSE
/// and workspace are filled with NaN. Tensors are in host memory whatever the
/// target.
class Execution {
public:
  /// Prepares the kernel of the problem's spec, or takes `kernel`.
  static llvm::Expected<Execution>
  create(PublicEngine &engine, const Problem &problem,
         std::shared_ptr<const PublicKernel> kernel = nullptr);

  /// Checks the inputs' contents (lengths, table entries).
  llvm::Error checkInputs() const { return kernel->check(ready); }
  /// Launches and waits; the outputs are then in host memory.
  llvm::Error launch();
  /// Seconds of another launch: by the clock, or of a GPU by its own.
  llvm::Expected<double> timeLaunch();
  /// Fills outputs and workspace with NaN again.
  void refill();
  /// Compares with the oracle.
  llvm::Expected<oracle::Comparison> compare() const;
  /// What the comparison allows.
  oracle::Tolerance tolerance() const;

  const PublicKernel &getKernel() const { return *kernel; }
  const LaunchArgs &getArguments() const { return arguments; }
  const TensorSet &getOutputs() const { return outputs; }
  size_t workspaceSize() const { return workspaceBytes; }

private:
  Execution(const Problem &problem, std::shared_ptr<const PublicKernel> kernel)
      : problem(&problem), kernel(kernel), arguments(kernel) {}
  llvm::Error bind();
  llvm::Error copyToDevice();
  bool onTensorCores() const { return session != nullptr; }

  const Problem *problem;
  std::shared_ptr<const PublicKernel> kernel;
  LaunchArgs arguments;
  mla_args ready;    // arguments, and on the host the workspace
  TensorSet outputs; // out, lse and, on the host, the workspace
  size_t workspaceBytes = 0;
  std::shared_ptr<DeviceSession> session; // CUDA
  std::optional<DeviceLaunch> onDevice;   // CUDA, from the first launch on
};

/// The oracle's view of a problem.
llvm::Expected<oracle::Problem> oracleProblem(const Problem &problem);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_EXECUTION_H
