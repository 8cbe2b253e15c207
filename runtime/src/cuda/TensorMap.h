//===- TensorMap.h ----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_TENSORMAP_H
#define MLA_JIT_SRC_CUDA_TENSORMAP_H

#include "Device.h"

#include <array>

namespace mla_jit::cuda {

/// Bytes of an element.
unsigned byteSize(ElementType type);

/// A view of device memory that TMA copies boxes of. Dimension 0 is the
/// innermost and is contiguous. L2 promotion and interleave are always NONE,
/// and what a box has outside the view reads as zero.
struct TensorMapSpec {
  static constexpr unsigned kMaxRank = 5;
  static constexpr uint64_t kBaseAlignment = 16;
  ElementType type = ElementType::BF16;
  unsigned rank = 0;
  DevicePtr base = 0;
  std::array<uint64_t, kMaxRank> dims = {}; ///< elements
  /// Bytes between neighbours in dimension 1, 2, ...: one fewer than dims.
  std::array<uint64_t, kMaxRank - 1> strides = {};
  std::array<uint32_t, kMaxRank> box = {}; ///< elements
  Swizzle swizzle = Swizzle::None;
};

/// Nothing if TMA can take the view, else an error that names the rule. Asks no
/// driver: a caller may choose another way to copy.
llvm::Error checkTensorMap(const TensorMapSpec &spec);

/// Checks and encodes, for memory of that context.
llvm::Expected<TensorMap> encodeTensorMap(const Context &context,
                                          const TensorMapSpec &spec);
/// Of a view that was checked, inside the context.
llvm::Expected<TensorMap> encodeCheckedTensorMap(const ContextScope &,
                                                 const Context &context,
                                                 const TensorMapSpec &spec);

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_TENSORMAP_H
