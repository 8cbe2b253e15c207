//===- ArgumentRules.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentRules.h"

namespace mla_jit {

ArgumentRules::ArgumentRules(std::shared_ptr<const KernelInfo> given)
    : info(std::move(given)), q(info->find("q")), out(info->find("out")),
      seqLens(info->find("seq_lens")), numSplits(info->find("num_splits")),
      pdlTrigger(info->find("pdl_trigger")), lseScale(info->find("lse_scale")),
      lseEmpty(info->find("lse_empty")) {
  info->isMerge ? addOfMerge() : addOfDecode();
}

void ArgumentRules::add(std::string_view name, int dim, std::string_view ofName,
                        int ofDim, const char *why, int more) {
  int argument = info->find(name), other = info->find(ofName);
  if (argument >= 0 && other >= 0)
    sameSizes.push_back({argument, dim, other, ofDim, more, why});
}

void ArgumentRules::addOfDecode() {
  constexpr const char *kRequests = "the requests of seq_lens",
                       *kOneMore = "one more than seq_lens";
  bool isRagged = q >= 0 && info->arguments[q].rank == 3;
  if (!isRagged)
    add("q", 0, "seq_lens", 0, kRequests);
  for (const char *name : {"q_rope", "out", "lse"})
    for (int dim = 0; dim < (isRagged ? 1 : 2); ++dim)
      add(name, dim, "q", dim, "as q");
  add("q_offsets", 0, "seq_lens", 0, kOneMore, /*more=*/1);
  for (int dim : {0, 1})
    add("k_rope", dim, "k", dim, "as k");
  add("table_rows", 0, "seq_lens", 0, kRequests);
  bool hasTable = info->find("table") >= 0,
       hasOffsets = info->find("kv_indptr") >= 0;
  if (info->find("table_rows") < 0) {
    add("table", 0, "seq_lens", 0, kRequests);
    add("kv_indptr", 0, "seq_lens", 0, kOneMore, /*more=*/1);
  }
  if (!hasTable && !hasOffsets)
    add("k", 0, "seq_lens", 0, kRequests);
}

void ArgumentRules::addOfMerge() {
  add("lse_parts", 0, "parts", 0, "the parts");
  for (auto [name, dim] : {std::pair{"parts", 1}, {"lse_parts", 1}, {"lse", 0}})
    add(name, dim, "out", 0, "the rows of out");
}

} // namespace mla_jit
