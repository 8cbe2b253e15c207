//===- Verify.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The suite behind `mla-jit verify`: known answers and random problems, run by
// an engine and compared with the oracle.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_VERIFY_H
#define MLA_JIT_TOOLS_VERIFY_H

#include "PublicEngine.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace mla_jit {

struct VerifyOptions {
  /// Which cases: names ("B4.page61"), beginnings of names up to a dot ("B4"),
  /// or globs ("*.rope*"), separated by commas. Empty: all.
  std::string filter;
  std::string only;     ///< a part of the names; empty: any
  bool list = false;    ///< print names and problems, run nothing
  bool compile = false; ///< compile the kernels, run nothing
  bool quick = false;   ///< leave out the cases that take long
  bool subset = false;  ///< a few small cases, for sanitizers
  int jobs = 0;         ///< threads that compile ahead
  std::string json;     ///< file for all results; empty: none
  uint64_t seed = 1;    ///< of the random cases
  int randomCases = 32; ///< random.0 to random.(n-1)
};

/// Runs the cases in order and prints a row for each as it ends, then a line "N
/// passed, N failed", with the number of those that the target does not support
/// where there are any. Returns whether none failed. An error: the filter fits
/// no case, or is no glob, or the device was lost. With `compile` a case is
/// right if its kernel compiles, on a GPU without what costs speed.
llvm::Expected<bool> runVerify(PublicEngine &engine,
                               const VerifyOptions &options,
                               llvm::raw_ostream &table);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_VERIFY_H
