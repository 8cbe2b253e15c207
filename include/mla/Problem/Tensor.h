//===- Tensor.h - A view of caller-owned memory -----------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_PROBLEM_TENSOR_H
#define MLA_PROBLEM_TENSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mla_jit {

/// Element types that tensors at the interface may have.
enum class DType : uint8_t { None, F32, F16, BF16, I32, I64 };

/// Bytes of one element; 0 for DType::None.
size_t byteSize(DType dtype);
/// The MLIR spelling: "f32", "f16", "bf16", "i32", "i64"; "none" for None.
std::string_view toString(DType dtype);
/// The inverse of toString; DType::None for any other text.
DType parseDType(std::string_view text);

/// A view of memory that the caller owns: element (i, j, ...) is at
/// data + (i * stride[0] + j * stride[1] + ...) elements. A default
/// constructed tensor is "not given".
struct Tensor {
  static constexpr int kMaxRank = 4;

  void *data = nullptr;
  DType dtype = DType::None;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape = {};
  std::array<int64_t, kMaxRank> stride = {}; ///< in elements

  Tensor() = default;
  /// A contiguous row-major tensor over `data`.
  Tensor(void *data, DType dtype, std::initializer_list<int64_t> shape);

  bool given() const { return dtype != DType::None; }
  /// Product of the shape.
  int64_t numElements() const;
  /// "bf16[4, 1, 16, 576]", for messages.
  std::string describe() const;
};

} // namespace mla_jit

#endif // MLA_PROBLEM_TENSOR_H
