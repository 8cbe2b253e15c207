//===- BenchShapes.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit bench on the host: decode shapes against the machine's own peaks.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_BENCHSHAPES_H
#define MLA_JIT_TOOLS_BENCHSHAPES_H

#include "PublicEngine.h"

namespace mla_jit {

struct ShapesOptions {
  std::vector<std::string> shapes; ///< names as b4q1h16s4096; empty: some
  std::vector<std::string> cpus;   ///< in turn; empty: the machine's
  std::string dtype;               ///< of q, k and out
  double seconds = 1;              ///< spent on each shape
  std::string json;                ///< file for all figures; empty: none
};

/// Times whole launches of each shape for each CPU, and prints a row as it is
/// done.
llvm::Error benchShapes(Machine machine, const ShapesOptions &options);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_BENCHSHAPES_H
