//===- Generate.h - Seeded inputs of decode problems ------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_INPUTS_GENERATE_H
#define MLA_INPUTS_GENERATE_H

#include "mla/Inputs/TensorSet.h"
#include "mla/Problem/Spec.h"

#include <cstdint>
#include <vector>

namespace mla_jit {

/// What a spec leaves open. The defaults make one request of DeepSeek-V3.
struct GenOptions {
  uint64_t seed = 0;
  std::vector<int64_t> seqLens = {4096}; ///< keys of each request
  int64_t sQ = 1;                        ///< queries of each request
  std::vector<int64_t> qLens; ///< ragged q: instead of sQ, one a request
  /// The values of a request depend on the seed and this id only, neither on
  /// its place in the batch nor on the layout. Empty: 0, 1, 2, ...
  std::vector<uint64_t> requestIds;
  double qStd = 1;          ///< standard deviation of q
  double ropeTheta = 10000; ///< base of the RoPE frequencies
  double softmaxScale = 0;  ///< for the metadata; 0: DeepSeek-V3's

  // Unused memory, which holds NaN or invalid page ids.
  int64_t sparePages = 5;     ///< pages that no request uses
  int64_t spareKeys = 3;      ///< dense: slots past the longest request
  int64_t spareColumns = 2;   ///< table columns (CSR: entries a row) not needed
  int64_t spareTableRows = 3; ///< with table_rows: rows of no request
  int64_t spareQRows = 2;     ///< ragged q: rows before and after the offsets

  // Strided layouts. Gaps are elements of NaN (of the table: invalid ids).
  int64_t tokenGap = 0;    ///< after each key of k and k_rope
  int64_t pageGap = 0;     ///< after each page (dense: request), in keys
  int64_t qGap = 0;        ///< after each head of q and q_rope
  int64_t tableGap = 0;    ///< after each table row
  bool headMajorQ = false; ///< heads outermost in q's memory, as a
                           ///< transposed batched matmul leaves it
};

/// Inputs of `spec` with the statistics of the real thing: the latent part of
/// keys has RMS 1 per token, the rope part is normal, rotated by RoPE
/// (interleaved pairs) at the token's position; q is normal with qStd, its rope
/// part rotated at the query's position. The rope part is the last ropeDim
/// columns, or if that is 0 those past headDimV. Pages are shuffled; every
/// unused slot is NaN and every unused table entry invalid (0x7FFFFFFF and -1
/// in turn). The same seed gives the same bytes everywhere (up to the last bit
/// of the C library's log and cos).
///
/// Tensors, those that the spec has: q, q_rope, k, k_rope, table, kv_indptr,
/// kv_indices, table_rows, seq_lens, q_offsets. A row of kv_indptr ends after
/// its spare entries. With table_rows, rows of the table (or kv_indptr, which
/// then has one more element than there are rows) are shuffled. Metadata:
/// softmax_scale, seed, layout, mask, head_dim_v, page_size.
llvm::Expected<TensorSet> generateInputs(const Spec &spec,
                                         const GenOptions &options);

} // namespace mla_jit

#endif // MLA_INPUTS_GENERATE_H
