//===- ArgumentRules.h ---------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ARGUMENTRULES_H
#define MLA_JIT_SRC_ARGUMENTRULES_H

#include "Kernel.h"

namespace mla_jit {

/// What launches ask of a kernel's arguments by their names, found out once for
/// all of them.
struct ArgumentRules {
  explicit ArgumentRules(std::shared_ptr<const KernelInfo> info);

  /// A size that has to be another's, or `more` than that.
  struct SameSize {
    int argument, dim;
    int ofArgument, ofDim;
    int more;
    const char *why; ///< for messages
  };

  const std::shared_ptr<const KernelInfo> info;
  // Positions of arguments; -1: the kernel has none of that name.
  const int q, out, seqLens, numSplits, pdlTrigger, lseScale, lseEmpty;
  /// In the order of checks; between arguments that the kernel has.
  std::vector<SameSize> sameSizes;

private:
  void addOfDecode();
  void addOfMerge();
  void add(std::string_view name, int dim, std::string_view ofName, int ofDim,
           const char *why, int more = 0);
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_ARGUMENTRULES_H
