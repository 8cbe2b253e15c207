//===- SpecFields.h ---------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The fields of a Spec, once for all who go through them: its text, the keys of
// the cache.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_SPECFIELDS_H
#define MLA_JIT_SRC_SPECFIELDS_H

#include "mla/Problem/Spec.h"

namespace mla_jit {

/// Calls `visit(name, value)` for each field. A field that is added to Spec and
/// forgotten here does not compile.
template <typename F> void visitFields(const Spec &spec, F visit) {
  const auto &[operation, qDType, kvDType, outDType, numHeads, numKVHeads,
               headDim, headDimV, ropeDim, layout, pageSize, tableRows,
               tableDType, lengthDType, raggedQ, mask, scoreArguments,
               scoreBody, rowLocalSplits, queries, alignedStrides, sharedPlan,
               schedule, symbol] = spec;
  visit("operation", operation);
  visit("q_dtype", qDType);
  visit("kv_dtype", kvDType);
  visit("out_dtype", outDType);
  visit("h_q", numHeads);
  visit("h_kv", numKVHeads);
  visit("d_qk", headDim);
  visit("d_v", headDimV);
  visit("d_rope", ropeDim);
  visit("layout", layout);
  visit("page_size", pageSize);
  visit("table_rows", tableRows);
  visit("table_dtype", tableDType);
  visit("length_dtype", lengthDType);
  visit("ragged_q", raggedQ);
  visit("mask", mask);
  for (const auto &[name, type] : scoreArguments) {
    visit("score_argument", name);
    visit("score_argument_type", type);
  }
  visit("score", scoreBody);
  visit("row_local_splits", rowLocalSplits);
  visit("queries", queries);
  visit("aligned_strides", alignedStrides);
  visit("shared_plan", sharedPlan);
  visit("schedule", schedule);
  visit("symbol", symbol);
}

/// One line a field, "name = value"; text in quotes, with its length, so that
/// different specs have different texts.
std::string specText(const Spec &spec);

/// The same in few bytes, to find a spec that was seen before. Not to be kept.
std::string specFingerprint(const Spec &spec);

/// The name of a kernel's first entry: readable, and 8 digits of the digest of
/// its key. Other entries add what they do, as in "..._combine".
std::string kernelSymbol(const Spec &spec, std::string_view target,
                         std::string_view digest);

} // namespace mla_jit

#endif // MLA_JIT_SRC_SPECFIELDS_H
