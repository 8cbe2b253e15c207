//===- PublicKernel.h -------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Kernels of the C interface, and its failures as errors.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PUBLICKERNEL_H
#define MLA_JIT_TOOLS_PUBLICKERNEL_H

#include "mla/Problem/Tensor.h"
#include "mla_jit/mla_jit.hpp"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mla_jit {

/// MLA_E_UNSUPPORTED: what can be said, but has no kernel.
class NotSupportedError : public llvm::ErrorInfo<NotSupportedError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): the name that
                  // llvm::ErrorInfo asks for
  explicit NotSupportedError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// Success, or an error of this text: by default the status's own.
llvm::Error toError(const mla::Status &status);
llvm::Error toError(const mla::Status &status, std::string text);

int32_t toPublic(DType dtype);
DType fromPublic(int32_t dtype);
mla_tensor toPublic(const Tensor &tensor);

/// A kernel and all that it says of itself.
class PublicKernel {
public:
  static llvm::Expected<std::shared_ptr<const PublicKernel>>
  create(mla::Kernel kernel);

  const mla_kernel_info &info() const { return known; }
  llvm::ArrayRef<mla_arg_info> arguments() const { return args; }
  /// The argument of that name, or null.
  const mla_arg_info *find(llvm::StringRef name) const;
  llvm::ArrayRef<mla_stage_time> times() const { return stages; }
  /// Of all stages.
  double seconds() const { return known.compile_seconds + known.load_seconds; }
  llvm::ArrayRef<std::string> warnings() const { return notices; }

  /// Bytes of workspace, and of a schedule, for such a launch.
  llvm::Expected<mla_sizes> sizes(const mla_args &args) const;
  llvm::Expected<size_t> workspaceBytes(const mla_args &args) const;
  /// Checks a launch whose tensors are all in host memory, contents included.
  llvm::Error check(const mla_args &args) const;
  llvm::Error launch(const mla_args &args, void *stream = nullptr) const;
  /// Makes the schedule of such launches.
  llvm::Error schedule(const mla_args &args, void *schedule, size_t bytes,
                       void *stream) const;

private:
  explicit PublicKernel(mla::Kernel kernel) : kernel(std::move(kernel)) {}
  mla::Kernel kernel;
  mla_kernel_info known = {};
  std::vector<mla_arg_info> args;
  std::vector<mla_stage_time> stages;
  std::vector<std::string> notices;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PUBLICKERNEL_H
