//===- Oracle.h - Reference results to check kernels against ----*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_ORACLE_ORACLE_H
#define MLA_ORACLE_ORACLE_H

#include "mla/Problem/Tensor.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mla_jit::oracle {

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

/// Whether the query at absolute position q sees the key at position k. The
/// query i of s_q of a request with n keys is at q = n - s_q + i, which is
/// negative when there are more queries than keys.
using Mask = std::function<bool(int64_t q, int64_t k)>;

/// The mask of that name with its parameters: "none", "causal" (k <= q),
/// "sliding_window" (one parameter, 0 <= q - k < window). Nothing for an
/// unknown name or a wrong number of parameters. Masks.cpp has the one table
/// to which a mask is added.
std::optional<Mask> makeMask(std::string_view name,
                             const std::vector<int64_t> &parameters = {});

/// Replaces a score that is already scaled. b is the request, h the query
/// head, q and k are positions as for Mask. -inf hides the key.
using ScoreMod = std::function<double(int64_t b, int64_t h, int64_t q,
                                      int64_t k, double score)>;

/// out = softmax(mod(scale * q k^T)) v, where v is the first headDimV columns
/// of k. Tensors have the shapes of Spec.h; those that a layout does not use
/// are not given.
struct Problem {
  Tensor q;         ///< [b, s_q, h_q, d], or [total_q, h_q, d] with qOffsets
  Tensor qRope;     ///< optional: the last columns of each q row
  Tensor k;         ///< [b, s, h_kv, d], or [pages, page_size, h_kv, d]
  Tensor kRope;     ///< optional: the last columns of each k row
  Tensor table;     ///< paged: [rows, columns], page ids
  Tensor kvIndptr;  ///< CSR: [rows + 1], ranges in kvIndices
  Tensor kvIndices; ///< CSR: page ids
  Tensor tableRows; ///< optional [b]: the table row of each request
  Tensor seqLens;   ///< [b], keys of each request
  Tensor qOffsets;  ///< ragged q: [b + 1], ranges of rows of q
  double scale = 0; ///< always given: nothing is derived from the head size
  int64_t headDimV = 0;
  Mask mask;         ///< empty: every key is visible
  ScoreMod scoreMod; ///< empty: none
  /// Also computes the magnitudes of the result.
  bool wantsMagnitudes = false;
};

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Rows are counted over q's leading dimensions: b * s_q + i, or the row of a
/// ragged q. A row without a visible key has out 0 and lse -inf.
struct Result {
  /// Not empty: the problem is malformed (named argument, what was required,
  /// what was given) and the rest is empty.
  std::string error;

  int64_t rows = 0, heads = 0, headDimV = 0;
  std::vector<double> out; ///< [rows][heads][headDimV]
  std::vector<double> lse; ///< [rows][heads], natural logarithm
  /// [rows]: 0 for rows outside qOffsets[0]..[b], which a kernel must not
  /// write; their out and lse are NaN.
  std::vector<uint8_t> written;

  // Where they were asked for, what errors of a kernel grow with.
  /// [rows][heads][headDimV]: sum of weight x |v|, where out has weight x v.
  std::vector<double> outMagnitude;
  /// [rows][heads]: |scale| |q| max |k|, which no |logit| exceeds.
  std::vector<double> logitMagnitude;
};

/// Evaluates in f64, reading only keys that some query sees and, of the table,
/// only entries of pages that hold such a key. Uses all cores.
Result evaluate(const Problem &problem);

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

/// An element passes if |actual - expected| <= abs + rel * |expected| and,
/// where the result has magnitudes, + a share of these.
struct Tolerance {
  double outAbs = 1e-3, outRel = 2.01 / 128;
  /// Of all outputs together: 1 - 2 sum(x y) / sum(x x + y y).
  double cosineDifference = 5e-6;
  double lseAbs = 1e-6, lseRel = 8.01 / 65536;
  double outMagnitude = 0, logitMagnitude = 0; ///< shares
};

/// The tolerance of CASES.md for bf16 outputs. Formats with more bits get less:
/// f16 rel 2.01/1024 (as many units in the last place), and f32, where only the
/// accumulation rounds, abs 1e-4 and rel 8.01/65536.
Tolerance toleranceFor(DType outDType);

/// The same for a kernel on tensor cores, which needs the magnitudes:
///
/// - It rounds each weight exp(s - m) to the type of V before it multiplies, a
///   relative error of at most u = 2^-8 (bf16) or 2^-11 (f16). Out is the sum
///   of weight x v over that of the weights, so it is off by at most u times
///   the sum of weight x |v|, of which cancellation leaves little in out.
///   Weights are summed before they are rounded, so there is no error of the
///   sum.
/// - It adds the products of a logit up in f32, truncating: each addition is
/// off
///   by less than 2^-23 of a partial sum, none of which exceeds |q| |k|. They
///   are far from their bound all at once; 2^-22 of it for all together is
///   below the relative tolerance unless the LSE is near 0.
Tolerance tensorCoreTolerance(DType outDType, DType kvDType);

struct Comparison {
  bool passed = false;
  double maxOutError = 0; ///< absolute
  double cosineDifference = 0;
  double maxLseError = 0;    ///< absolute, over finite expected values
  int64_t mismatches = 0;    ///< elements of out and lse that do not pass
  std::string firstMismatch; ///< empty if passed
};

/// The byte that fills every element of out and lse before a launch: a NaN in
/// bf16, f16 and f32.
constexpr uint8_t kPrefillByte = 0xFF;
void prefill(const Tensor &tensor);

/// Compares what a kernel wrote with `expected`. `out` is bf16, f16 or f32 of
/// q's leading shape and [h_q, headDimV]; `lse` is f32 without the last
/// dimension, or not given. Both were pre-filled: NaN in a written row fails,
/// and so does anything but the pre-fill in a row that is not to be written.
/// -inf and inf only match themselves.
Comparison compare(const Result &expected, const Tensor &out, const Tensor &lse,
                   const Tolerance &tolerance);
/// With toleranceFor(out.dtype).
Comparison compare(const Result &expected, const Tensor &out,
                   const Tensor &lse);

} // namespace mla_jit::oracle

#endif // MLA_ORACLE_ORACLE_H
