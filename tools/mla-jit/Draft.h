//===- Draft.h ------------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A problem in the making: what a model, a kernel, tensors, their metadata and
// flags each add to it, and the checks of the result.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_DRAFT_H
#define MLA_JIT_TOOLS_DRAFT_H

#include "Execution.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace mla_jit {

/// A problem before its inputs and score code exist.
struct Draft {
  Spec spec;
  GenOptions gen;
  std::optional<double> scale;
  std::optional<int64_t> headDimV; ///< else the spec's is a mere default
  std::vector<std::pair<std::string, double>> maskArgs; ///< the last of a name
  std::string score = "none";
  int64_t numSplits = 0;

  /// Sets the mask; parameters of another one are forgotten.
  void setMask(llvm::StringRef mask) {
    if (spec.mask != mask)
      maskArgs.clear();
    spec.mask = mask.str();
  }
};

/// Sets what the tensors of a file say: shapes and types into the spec, and the
/// metadata that gen writes.
llvm::Error describeTensors(const TensorSet &tensors, Draft &draft);
/// Sets what the arguments of a kernel have compiled in.
llvm::Error describeKernel(const PublicKernel &kernel, Draft &draft);
/// The metadata that describeTensors reads and generateInputs does not write.
void addMetadata(const Problem &problem, llvm::StringRef score,
                 std::map<std::string, std::string> &metadata);

/// Checks sizes, errors naming the flag that sets them.
llvm::Error checkSizes(const Draft &draft);
/// Checks lengths and that the inputs fit into this machine's memory.
llvm::Error checkGenerated(const Draft &draft);
/// The mask's parameters in its order. Values that the mask does not have are
/// an error, and so are missing ones if `complete`.
llvm::Expected<std::vector<std::pair<std::string, double>>>
orderMaskArgs(const Draft &draft, bool complete);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_DRAFT_H
