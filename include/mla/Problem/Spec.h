//===- Spec.h - What one decode kernel is specialised for -------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_PROBLEM_SPEC_H
#define MLA_PROBLEM_SPEC_H

#include "mla/Problem/Tensor.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mla_jit {

/// How the keys of a request are found in the KV tensor.
enum class KVLayout : uint8_t {
  Dense, ///< k is [b, s, h_kv, d]: no table
  Paged, ///< k is [pages, page_size, h_kv, d]; table [b, columns]
  CSR,   ///< as Paged; kv_indptr [b + 1] into kv_indices
};
std::string_view toString(KVLayout layout);

/// What a kernel computes.
enum class Operation : uint8_t {
  Decode,
  Merge, ///< partial results of the same queries to one. Of the spec it takes
         ///< outDType (of parts and result), numHeads, headDimV and symbol
};
std::string_view toString(Operation operation);

/// The static part of a decode problem: everything that is compiled in. Batch,
/// lengths, strides, pointers, scale, mask parameters, number of splits and
/// whether LSE is wanted are launch arguments. Defaults are DeepSeek-V3's
/// decode with all heads on one device.
struct Spec {
  Operation operation = Operation::Decode;
  DType qDType = DType::BF16;   ///< q and q_rope: bf16, f16 or f32
  DType kvDType = DType::BF16;  ///< k and k_rope: bf16, f16 or f32
  DType outDType = DType::BF16; ///< out: bf16, f16 or f32 (LSE is f32)

  int64_t numHeads = 128; ///< h_q, query heads
  int64_t numKVHeads = 1; ///< h_kv, divides h_q
  int64_t headDim = 576;  ///< d_qk, a multiple of 8
  int64_t headDimV = 512; ///< d_v <= d_qk, a multiple of 8: V = first columns
  int64_t ropeDim = 0;    ///< 0: q and k are whole; else their last ropeDim
                          ///< columns are the tensors q_rope and k_rope

  KVLayout layout = KVLayout::Paged;
  int64_t pageSize = 64;          ///< keys a page (Paged, CSR)
  bool tableRows = false;         ///< request -> table row through table_rows
  DType tableDType = DType::I32;  ///< table, kv_indices, kv_indptr, table_rows
  DType lengthDType = DType::I32; ///< seq_lens and q_offsets
  bool raggedQ = false;           ///< q is [total_q, h_q, d] with q_offsets

  std::string mask = "causal"; ///< "none", "causal", "sliding_window", ...
  /// User score code: names and MLIR types of its launch-time arguments (f32,
  /// i32, or memrefs that it loads from), and the body of the score region over
  /// %b, %h, %qpos, %kpos (i32: request, query head, positions of query and
  /// key) and %score (f32, already scaled), ending in mla.yield. Runs for pairs
  /// that the mask hides too: its loads must be in bounds there. Empty: none.
  std::vector<std::pair<std::string, std::string>> scoreArguments;
  std::string scoreBody;

  /// Splits are a function of each row's own length only, so that its bits do
  /// not depend on the batch it is in.
  bool rowLocalSplits = false;
  /// Queries that a request is expected to have. Any number is right; the
  /// schedule of a GPU is chosen for this one.
  int64_t queries = 1;
  /// Where q, k and out begin, and their strides but the last, are multiples of
  /// 16 bytes in every launch, which those on a GPU check. Without this promise
  /// it copies keys row by row, and asks of q and out as it runs: slower.
  bool alignedStrides = true;
  /// GPU: an entry of its own plans, so that launches with the same lengths, as
  /// those of a model's layers, may share one plan (Kernel::makePlan).
  bool sharedPlan = false;
  /// A "#mla.schedule<...>" to use as it is; empty: the cost model chooses.
  std::string schedule;
  /// What the names of the kernels begin with; empty: "mla_decode" or
  /// "mla_merge". `kernelSymbol` adds the rest.
  std::string symbol;
};

} // namespace mla_jit

#endif // MLA_PROBLEM_SPEC_H
