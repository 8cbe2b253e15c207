//===- ResultFile.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the JSON files of verify and bench have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RESULTFILE_H
#define MLA_JIT_TOOLS_RESULTFILE_H

#include "PublicEngine.h"
#include "llvm/Support/JSON.h"

namespace mla_jit {

/// Date, version, revision.
llvm::json::Object describeBuild();
/// The same, and the CPU or GPU with its driver.
llvm::json::Object describeRun(PublicEngine &engine);

/// JSON has no infinities.
llvm::json::Value finiteOrNull(double value);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RESULTFILE_H
