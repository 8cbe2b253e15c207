//===- LaunchArgs.h ---------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The arguments of a launch by name, as a kernel calls them.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_LAUNCHARGS_H
#define MLA_JIT_TOOLS_LAUNCHARGS_H

#include "PublicKernel.h"

#include <map>

namespace mla_jit {

class LaunchArgs {
public:
  explicit LaunchArgs(std::shared_ptr<const PublicKernel> kernel)
      : kernel(std::move(kernel)) {}

  bool has(llvm::StringRef name) const { return kernel->find(name); }
  /// An error if the kernel takes no such argument. Types and shapes are
  /// checked by the launch.
  llvm::Error set(llvm::StringRef name, const Tensor &tensor);
  llvm::Error set(llvm::StringRef name, double scalar);
  /// MLA_LAUNCH_*.
  void addFlags(uint32_t more) { flags |= more; }
  /// The tensor of that name; not given if it was not set.
  Tensor tensor(llvm::StringRef name) const;

  /// An error if the kernel wants one that has no default and was not set.
  llvm::Error checkAllSet() const;
  /// All of them, without a workspace; points into this.
  mla_args get();

private:
  std::shared_ptr<const PublicKernel> kernel;
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, double, std::less<>> scalars;
  std::vector<mla_named_arg> named;
  uint32_t flags = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_LAUNCHARGS_H
