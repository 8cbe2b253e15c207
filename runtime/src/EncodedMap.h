//===- EncodedMap.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ENCODEDMAP_H
#define MLA_JIT_SRC_ENCODEDMAP_H

#include "Kernel.h"
#include "cuda/TensorMap.h"

namespace mla_jit {

/// What takes tensors that others refuse.
inline constexpr char kUnalignedKernel[] =
    "a kernel with MLA_FEATURE_UNALIGNED (copy = gather) has no such limits";

/// The view of a tensor that a recipe asks for; an error that names the tensor
/// where TMA cannot take it. Box columns wider than the swizzle make two
/// dimensions of the map: columns of a tile (innermost), rows, tiles of
/// columns, and the others behind. A tensor without elements, which nothing is
/// read of, gets some legal view.
llvm::Expected<cuda::TensorMapSpec>
makeTensorMapSpec(const KernelInfo::TensorMap &map, const Tensor &tensor,
                  const std::string &name);

/// The tensor map of one parameter as it was encoded last: launches mostly pass
/// the same tensor again, or one that differs by its address alone.
class EncodedMap {
public:
  /// Makes it that of `tensor`, always by the same recipe. Inside the context.
  llvm::Error update(const KernelInfo::TensorMap &recipe, const Tensor &tensor,
                     const std::string &name, const cuda::ContextScope &scope,
                     const cuda::Context &context);
  const cuda::TensorMap &map() const { return encoded; }

private:
  bool isOfShape(const Tensor &tensor) const;
  bool isKnown = false;
  Tensor of;
  cuda::TensorMapSpec spec;
  cuda::TensorMap encoded;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_ENCODEDMAP_H
