//===- GenerateDetail.h - Parts of the input generator ----------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_INPUTS_GENERATEDETAIL_H
#define MLA_LIB_INPUTS_GENERATEDETAIL_H

#include "Random.h"

#include "mla/Inputs/Generate.h"

namespace mla_jit {

/// Whether generateInputs accepts its arguments. Bounds every size, so that
/// products of two or three of them stay within 63 bits.
llvm::Error checkGenerate(const Spec &spec, const GenOptions &options);

/// How the rows of a tensor pair, (q, q_rope) or (k, k_rope), are made.
struct RowFormat {
  Tensor whole, rope;      ///< rope: not given if a row is in one tensor
  int64_t columns = 0;     ///< of both
  int64_t ropeColumns = 0; ///< the last ones are rotated
  double ropeTheta = 0;
  double deviation = 1;
  bool normalise = false; ///< the columns before them to RMS 1
};

/// Writes one row at the given element offsets of its two tensors.
void makeRow(const RowFormat &format, Random random, int64_t position,
             int64_t wholeOffset, int64_t ropeOffset);

} // namespace mla_jit

#endif // MLA_LIB_INPUTS_GENERATEDETAIL_H
