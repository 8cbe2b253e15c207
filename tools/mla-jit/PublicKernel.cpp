//===- PublicKernel.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PublicKernel.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using llvm::Error;
using llvm::Expected;

namespace mla_jit {

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

char NotSupportedError::ID;
void NotSupportedError::log(llvm::raw_ostream &stream) const { stream << text; }
std::error_code NotSupportedError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

Error toError(const mla::Status &status, std::string text) {
  if (status)
    return Error::success();
  if (status.code() == MLA_E_UNSUPPORTED)
    return llvm::make_error<NotSupportedError>(std::move(text));
  return llvm::createStringError(text);
}

Error toError(const mla::Status &status) {
  return toError(status, status.message());
}

template <typename T> static Error take(mla::Result<T> result, T &value) {
  if (!result)
    return toError(result.status());
  value = std::move(*result);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int32_t toPublic(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return MLA_F32;
  case DType::F16:
    return MLA_F16;
  case DType::BF16:
    return MLA_BF16;
  case DType::I32:
    return MLA_I32;
  case DType::I64:
    return MLA_I64;
  case DType::None:
    return MLA_NONE;
  }
  return MLA_NONE;
}

DType fromPublic(int32_t dtype) {
  for (DType known :
       {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64})
    if (toPublic(known) == dtype)
      return known;
  return DType::None;
}

mla_tensor toPublic(const Tensor &tensor) {
  mla_tensor made = {};
  made.data = tensor.data;
  made.dtype = toPublic(tensor.dtype);
  made.rank = tensor.rank;
  std::copy_n(tensor.shape.begin(), tensor.rank, made.shape);
  std::copy_n(tensor.stride.begin(), tensor.rank, made.stride);
  return made;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<const PublicKernel>>
PublicKernel::create(mla::Kernel kernel) {
  std::shared_ptr<PublicKernel> made(new PublicKernel(std::move(kernel)));
  if (Error error = take(made->kernel.info(), made->known))
    return std::move(error);
  made->args.resize(made->known.num_args);
  made->stages.resize(made->known.num_times);
  made->notices.resize(made->known.num_warnings);
  for (auto [i, argument] : llvm::enumerate(made->args))
    if (Error error = take(made->kernel.argument(i), argument))
      return std::move(error);
  for (auto [i, time] : llvm::enumerate(made->stages))
    if (Error error = take(made->kernel.time(i), time))
      return std::move(error);
  for (auto [i, warning] : llvm::enumerate(made->notices))
    if (Error error = take(made->kernel.warning(i), warning))
      return std::move(error);
  return made;
}

const mla_arg_info *PublicKernel::find(llvm::StringRef name) const {
  auto found = llvm::find_if(
      args, [&](const mla_arg_info &known) { return name == known.name; });
  return found == args.end() ? nullptr : &*found;
}

Expected<mla_sizes> PublicKernel::sizes(const mla_args &args) const {
  auto sizes = kernel.sizes(args.batch, args.total_q, args.num_splits);
  if (!sizes)
    return toError(sizes.status());
  return *sizes;
}

Expected<size_t> PublicKernel::workspaceBytes(const mla_args &args) const {
  auto all = sizes(args);
  return all ? Expected<size_t>(all->workspace_bytes) : all.takeError();
}

Error PublicKernel::check(const mla_args &args) const {
  return toError(kernel.check(args));
}

Error PublicKernel::launch(const mla_args &args, void *stream) const {
  return toError(kernel.launch(args, stream));
}

Error PublicKernel::schedule(const mla_args &args, void *schedule, size_t bytes,
                             void *stream) const {
  return toError(kernel.schedule(args, schedule, bytes, stream));
}

} // namespace mla_jit
