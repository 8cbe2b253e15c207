//===- ScoreMods.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Score code by name: the MLIR that is compiled and the plain function that the
// oracle evaluates.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_SCOREMODS_H
#define MLA_JIT_TOOLS_SCOREMODS_H

#include "mla/Inputs/TensorSet.h"
#include "mla/Oracle/Oracle.h"
#include "mla/Problem/Spec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace mla_jit {

/// What a score modification adds to a problem.
struct ScoreMod {
  oracle::ScoreMod reference; ///< empty: none
  /// Launch-time scalars by name; tensors are added to the inputs.
  std::vector<std::pair<std::string, double>> scalars;
};

/// Adds the score modification `text` to a spec and its inputs:
/// "none", "softcap:CAP" (cap * tanh(score / cap), the cap at launch), or
/// "alibi" (score + slope[h] * (k - q); the slopes are the inputs' tensor
/// 'slopes', or if they have none 2^(-8 (h + 1) / h_q), as in the ALiBi paper,
/// which is added).
llvm::Expected<ScoreMod> addScoreMod(llvm::StringRef text, Spec &spec,
                                     TensorSet &inputs);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_SCOREMODS_H
