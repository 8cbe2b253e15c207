//===- ArgumentChecks.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentChecks.h"
#include "Status.h"

#include <cmath>

namespace mla_jit::capi {

llvm::Error checkRefused(const mla_args &args, bool isGPU) {
  struct {
    const char *name;
    bool isSet;
  } const kRefused[] = {
      {"scale_dev", args.scale_dev != nullptr},
      {"q_scale", args.q_scale != nullptr},
      {"k_scale", args.k_scale != nullptr},
      {"k_rope_scale", args.k_rope_scale != nullptr},
      {"v_scale", args.v_scale != nullptr},
      {"out_scale", args.out_scale != nullptr},
      {"chunk", args.chunk != 0},
      {"softcap", args.softcap != 0},
      {"cp_world", args.cp_world != 0 && args.cp_world != 1},
      {"cp_rank", args.cp_rank != 0},
      {"cp_interleave", args.cp_interleave != 0},
  };
  for (auto [name, isSet] : kRefused)
    if (isSet)
      return unsupported(ofArgument(name),
                         "requires 0 or null: no kernel takes it yet");
  constexpr uint32_t kPDL = MLA_LAUNCH_PDL_WAIT | MLA_LAUNCH_PDL_TRIGGER;
  if ((args.flags & kPDL) && !isGPU)
    return unsupported(ofArgument("flags"),
                       "requires no MLA_LAUNCH_PDL_* for a kernel of the host: "
                       "a launch returns when it is done");
  if (args.flags & ~(kPDL | MLA_LAUNCH_CHECK))
    return invalid(ofArgument("flags"), "requires MLA_LAUNCH_*, but got {0:x}",
                   args.flags);
  return llvm::Error::success();
}

llvm::Error checkNumbers(const mla_args &args, bool isRagged) {
  if (llvm::Error error = requireCounts({{"batch", args.batch},
                                         {"total_q", args.total_q},
                                         {"q_len", args.q_len},
                                         {"kv_len", args.kv_len},
                                         {"num_splits", args.num_splits},
                                         {"max_ctas", args.max_ctas},
                                         {"num_named", args.num_named}}))
    return error;
  if (!isRagged && args.total_q != int64_t(args.batch) * args.q_len)
    return invalid(ofArgument("total_q"),
                   "requires batch x q_len = {0}, but got {1}",
                   int64_t(args.batch) * args.q_len, args.total_q);
  if (!std::isfinite(args.softmax_scale))
    return invalid(ofArgument("softmax_scale"),
                   "requires a finite number, but got {0}", args.softmax_scale);
  if (args.num_named && !args.named)
    return invalid(ofArgument("named"), "requires {0} arguments, but got null",
                   args.num_named);
  return llvm::Error::success();
}

} // namespace mla_jit::capi
