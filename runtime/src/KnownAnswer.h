//===- KnownAnswer.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Small decodes whose results are known: what an assembler is checked by before
// its code is used.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KNOWNANSWER_H
#define MLA_JIT_SRC_KNOWNANSWER_H

#include "Kernel.h"
#include "mla/Problem/Spec.h"

#include <optional>
#include <string>
#include <vector>

namespace mla_jit {

/// A decode in bf16 over pages, causal: requests of several pages, of none, and
/// of a part of one. Rows are (request, query, head).
struct KnownAnswer {
  KnownAnswer(int64_t heads, int64_t queries);

  /// The inputs and outputs as arguments; `at` gives the memory of a tensor.
  template <typename At> llvm::Error set(Arguments &arguments, At at) const;
  /// What is wrong with the results of a launch, if anything is.
  std::optional<std::string> findError(const std::vector<uint16_t> &gotOut,
                                       const std::vector<float> &gotLSE) const;

  static constexpr float kScale = 0.25f;
  Spec spec;
  int64_t queries;
  std::vector<int32_t> lengths, table; ///< table: pages of a request a row
  std::vector<uint16_t> q, k;          ///< bf16
  std::vector<float> out, lse;         ///< the answer

private:
  int64_t columns() const {
    return static_cast<int64_t>(table.size() / lengths.size());
  }
  void computeRow(int64_t request, int64_t query, int64_t head);
};

/// Of a bfloat16's bits.
float fromBF16(uint16_t bits);

template <typename At>
llvm::Error KnownAnswer::set(Arguments &arguments, At at) const {
  auto batch = static_cast<int64_t>(lengths.size());
  int64_t rowK = spec.headDim, pages = int64_t(k.size()) / spec.pageSize / rowK;
  const std::pair<const char *, Tensor> tensors[] = {
      {"q",
       {at("q"), DType::BF16, {batch, queries, spec.numHeads, spec.headDim}}},
      {"k", {at("k"), DType::BF16, {pages, spec.pageSize, 1, rowK}}},
      {"out",
       {at("out"),
        DType::BF16,
        {batch, queries, spec.numHeads, spec.headDimV}}},
      {"lse", {at("lse"), DType::F32, {batch, queries, spec.numHeads}}},
      {"seq_lens", {at("seq_lens"), DType::I32, {batch}}},
      {"table", {at("table"), DType::I32, {batch, columns()}}}};
  for (const auto &[name, tensor] : tensors)
    if (llvm::Error error = arguments.set(name, tensor))
      return error;
  return arguments.set("softmax_scale", kScale);
}

} // namespace mla_jit

#endif // MLA_JIT_SRC_KNOWNANSWER_H
