//===- BenchCompile.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// How long it takes from a spec to a loaded kernel, by stage.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_BENCHCOMPILE_H
#define MLA_JIT_TOOLS_BENCHCOMPILE_H

#include "PublicEngine.h"
#include "llvm/ADT/ArrayRef.h"

namespace mla_jit {

struct BenchCompileOptions {
  std::vector<int64_t> heads; ///< of DeepSeek-V3's decode, a kernel each
  int64_t runs = 5;
};

/// Compiles and loads each kernel `runs` times, and prints the quickest, the
/// median and the slowest of the runs. The device is opened, and its time said,
/// before.
llvm::Error benchCompile(PublicEngine &engine,
                         const BenchCompileOptions &options);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_BENCHCOMPILE_H
