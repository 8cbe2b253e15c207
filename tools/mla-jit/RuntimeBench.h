//===- RuntimeBench.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the runtime itself costs: kernels that are there already, launches, the
// library.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNTIMEBENCH_H
#define MLA_JIT_TOOLS_RUNTIMEBENCH_H

#include "mla_jit/mla_jit.hpp"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mla_jit {

/// One time of the runtime.
struct RuntimeFigure {
  std::string name;
  double seconds = 0;
  double goal = 0; ///< seconds at most; 0: there is none
  std::string note;
  bool isMet() const { return !goal || seconds < goal; }
};

struct RuntimeBenchOptions {
  bool onGPU = false;
  int device = 0;
  int specs = 1000;    ///< that threads ask for in turn
  std::string library; ///< libmla_jit.so; empty: not measured
};

llvm::Expected<std::vector<RuntimeFigure>>
benchRuntime(const RuntimeBenchOptions &options);

/// Of benchRuntime: launch calls on that GPU.
llvm::Error timeDeviceLaunch(int device, std::vector<RuntimeFigure> &figures);

/// Loads a library and prints the seconds that it took: for a process of its
/// own.
llvm::Error timeLibraryLoad(const std::string &library);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNTIMEBENCH_H
