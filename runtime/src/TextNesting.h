//===- TextNesting.h -------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_TEXTNESTING_H
#define MLA_JIT_SRC_TEXTNESTING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mla_jit {

/// MLIR recurses, as it parses and later: on brackets, on aliases that are used
/// in other aliases, on operators. Text with too many levels of these, or that
/// is too long with what its aliases stand for, would end the process.
llvm::Error checkNesting(llvm::StringRef text);

} // namespace mla_jit

#endif // MLA_JIT_SRC_TEXTNESTING_H
