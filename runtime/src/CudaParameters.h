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

#include "EncodedMap.h"
#include "KernelState.h"
#include "llvm/ADT/ArrayRef.h"

namespace mla_jit {

/// Bytes of a parameter as the kernel declares it.
size_t parameterBytes(const KernelInfo &info, const KernelInfo::Param &param);

/// Room for the parameters of one entry: for the stack of a launch.
class CudaParameters {
public:
  static constexpr size_t kMaxMaps = 8;

  /// A pointer to each; valid as long as this lives.
  llvm::ArrayRef<void *> pointers() const { return {addresses.data(), count}; }
  /// All that these point to. Of one entry's, the same bytes are the same
  /// parameters.
  llvm::ArrayRef<char> bytes() const { return {storage.data(), numBytes}; }

private:
  friend class ParameterRecipe;
  alignas(cuda::TensorMap)
      std::array<char, kMaxMaps * sizeof(cuda::TensorMap) +
                           kMaxParams * sizeof(int64_t)> storage;
  std::array<void *, kMaxParams> addresses;
  size_t count = 0, numBytes = 0;
};

/// How the parameters of an entry are made, found out once for all launches.
class ParameterRecipe {
public:
  /// Keeps references to the entry.
  ParameterRecipe(const KernelInfo &info, const KernelInfo::Entry &entry);

  /// Fills in all parameters: what is wrong with a tensor shows before anything
  /// was launched. `numCTAs` is the grid; `last` the maps of the launch before,
  /// or empty.
  llvm::Error fill(CudaParameters &parameters, const LaunchValues &values,
                   int64_t numCTAs, const cuda::ContextScope &scope,
                   const cuda::Context &context,
                   llvm::MutableArrayRef<EncodedMap> last) const;
  size_t numMaps() const { return mapParams.size(); }
  /// Of CudaParameters::bytes.
  size_t bytes() const { return numBytes; }

private:
  llvm::SmallVector<const KernelInfo::Param *, 2> mapParams;
  /// Of tensors that lie as the kernel was promised.
  llvm::SmallVector<const KernelInfo::Param *, 2> promised;
  std::vector<ParameterPlace> words; ///< of the other parameters, in order
  std::vector<uint32_t> offsets;     ///< of parameters among the bytes
  size_t numBytes;
};

/// Checks that each entry's parameters are ones that a CUDA launch passes.
llvm::Error checkCudaParameters(const KernelInfo &info);

} // namespace mla_jit

#endif // MLA_JIT_SRC_CUDAPARAMETERS_H
