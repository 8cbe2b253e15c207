//===- RuntimeReport.h ------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit bench --runtime: what a host application pays beside the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNTIMEREPORT_H
#define MLA_JIT_TOOLS_RUNTIMEREPORT_H

#include "RuntimeBench.h"

namespace mla_jit {

/// Prints all figures, and writes them to a file unless its name is empty.
/// Without a library: that of this build.
llvm::Error reportRuntime(RuntimeBenchOptions options, const std::string &json);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNTIMEREPORT_H
