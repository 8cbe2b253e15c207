//===- CudaParameters.h --------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The parameters of a CUDA launch, made from KernelInfo alone.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDAPARAMETERS_H
#define MLA_JIT_SRC_CUDAPARAMETERS_H

#include "KernelState.h"
#include "cuda/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"

namespace mla_jit {

/// Bytes of a parameter as the kernel declares it.
size_t parameterBytes(const KernelInfo &info, const KernelInfo::Param &param);

/// The view of a tensor that a recipe asks for; an error that names the tensor
/// where TMA cannot take it. Box columns wider than the swizzle make two
/// dimensions of the map: columns of a tile (innermost), rows, tiles of
/// columns, and the others behind. A tensor without elements, which nothing is
/// read of, gets some legal view.
llvm::Expected<cuda::TensorMapSpec>
makeTensorMapSpec(const KernelInfo::TensorMap &map, const Tensor &tensor,
                  const std::string &name);

/// Room for the parameters of one entry: for the stack of a launch.
class CudaParameters {
public:
  static constexpr size_t kMaxMaps = 8;

  /// Fills in all parameters: what is wrong with a tensor shows before anything
  /// was launched. `numCTAs` is the grid.
  llvm::Error fill(const KernelInfo::Entry &entry, const LaunchValues &values,
                   int64_t numCTAs, const cuda::Context &context);
  /// A pointer to each; valid as long as this lives.
  llvm::ArrayRef<void *> pointers() const { return {addresses.data(), count}; }

private:
  std::array<void *, kMaxParams> addresses;
  std::array<int64_t, kMaxParams> words;
  std::array<cuda::TensorMap, kMaxMaps> maps;
  size_t count = 0;
};

/// Checks that each entry's parameters are ones that a CUDA launch passes.
llvm::Error checkCudaParameters(const KernelInfo &info);

} // namespace mla_jit

#endif // MLA_JIT_SRC_CUDAPARAMETERS_H
