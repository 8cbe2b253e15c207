//===- LaunchArgs.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchArgs.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using llvm::createStringError;
using llvm::Error;
using llvm::formatv;

namespace mla_jit {

/// The tensors of mla_args that kernels take so far.
static mla_tensor *fieldOf(mla_args &args, llvm::StringRef name) {
  static constexpr std::pair<const char *, mla_tensor mla_args::*> kFields[] = {
      {"q", &mla_args::q},
      {"q_rope", &mla_args::q_rope},
      {"k", &mla_args::k},
      {"k_rope", &mla_args::k_rope},
      {"out", &mla_args::out},
      {"lse", &mla_args::lse},
      {"q_offsets", &mla_args::q_offsets},
      {"seq_lens", &mla_args::seq_lens},
      {"table", &mla_args::table},
      {"table_rows", &mla_args::table_rows},
      {"kv_indptr", &mla_args::kv_indptr},
      {"kv_indices", &mla_args::kv_indices}};
  for (auto [field, member] : kFields)
    if (name == field)
      return &(args.*member);
  return nullptr;
}

Error LaunchArgs::set(llvm::StringRef name, const Tensor &tensor) {
  const mla_arg_info *known = kernel->find(name);
  if (!known)
    return createStringError("the kernel takes no argument '" + name + "'");
  tensors.insert_or_assign(name.str(), tensor);
  return Error::success();
}

Error LaunchArgs::set(llvm::StringRef name, double scalar) {
  const mla_arg_info *known = kernel->find(name);
  if (!known)
    return createStringError("the kernel takes no argument '" + name + "'");
  if (known->is_tensor)
    return createStringError(
        formatv("argument '{0}' requires a tensor, but got the scalar {1}",
                name, scalar));
  // Fields of mla_args are integers of 32 bits where the kernel has integers.
  if (known->dtype != MLA_F32 && !known->is_named &&
      (scalar != std::trunc(scalar) || std::fabs(scalar) > INT32_MAX))
    return createStringError(formatv(
        "argument '{0}' requires a 32-bit integer, but got {1}", name, scalar));
  scalars.insert_or_assign(name.str(), scalar);
  return Error::success();
}

Tensor LaunchArgs::tensor(llvm::StringRef name) const {
  auto found = tensors.find(std::string_view(name));
  return found == tensors.end() ? Tensor() : found->second;
}

Error LaunchArgs::checkAllSet() const {
  for (const mla_arg_info &argument : kernel->arguments()) {
    llvm::StringRef name = argument.name;
    bool hasDefault = name == "num_splits" || name == "pdl_trigger" ||
                      name == "lse_scale" || name == "lse_empty";
    bool isSet = argument.is_tensor ? tensors.count(argument.name)
                                    : scalars.count(argument.name);
    if (!isSet && !hasDefault)
      return createStringError(
          formatv("argument '{0}' ({1}) is missing", name,
                  argument.is_tensor ? "a tensor" : "a scalar"));
  }
  return Error::success();
}

/// Sizes of the launch, from its tensors.
static void setSizes(const Tensor &q, const Tensor &lengths, mla_args &args) {
  auto narrow = [](int64_t size) {
    return static_cast<int32_t>(std::min<int64_t>(size, INT32_MAX));
  };
  args.batch = narrow(lengths.shape[0]);
  bool isRagged = q.rank == 3;
  args.q_len = isRagged ? 0 : narrow(q.shape[1]);
  args.total_q = narrow(isRagged ? q.shape[0] : lengths.shape[0] * q.shape[1]);
}

mla_args LaunchArgs::get() {
  auto args = mla::make<mla_args>();
  args.flags = flags;
  named.clear();
  for (const auto &[name, tensor] : tensors) {
    if (mla_tensor *field = fieldOf(args, name))
      *field = toPublic(tensor);
    else
      named.push_back({name.c_str(), toPublic(tensor), 0});
  }
  for (const auto &[name, value] : scalars) {
    if (name == "softmax_scale")
      args.softmax_scale = static_cast<float>(value);
    else if (name == "num_splits")
      args.num_splits = static_cast<int32_t>(value);
    else if (name == "window")
      args.window = static_cast<int32_t>(value);
    else if (name == "pdl_trigger")
      args.flags |= value != 0 ? MLA_LAUNCH_PDL_TRIGGER : 0;
    else
      named.push_back({name.c_str(), {}, value});
  }
  args.named = named.data();
  args.num_named = static_cast<int32_t>(named.size());
  setSizes(tensor("q"), tensor("seq_lens"), args);
  return args;
}

} // namespace mla_jit
