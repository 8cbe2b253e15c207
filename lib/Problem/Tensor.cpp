//===- Tensor.cpp - A view of caller-owned memory -------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Problem/Tensor.h"

#include <cassert>

using namespace mla_jit;

size_t mla_jit::byteSize(DType dtype) {
  switch (dtype) {
  case DType::None:
    return 0;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::I64:
    return 8;
  }
  return 0;
}

std::string_view mla_jit::toString(DType dtype) {
  switch (dtype) {
  case DType::None:
    return "none";
  case DType::F32:
    return "f32";
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  }
  return "none";
}

DType mla_jit::parseDType(std::string_view text) {
  for (DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64})
    if (text == toString(dtype))
      return dtype;
  return DType::None;
}

Tensor::Tensor(void *data, DType dtype, std::initializer_list<int64_t> shape)
    : data(data), dtype(dtype), rank(static_cast<int>(shape.size())) {
  assert(rank <= kMaxRank && "rank exceeds Tensor::kMaxRank");
  int dim = 0;
  for (int64_t extent : shape)
    this->shape[dim++] = extent;
  int64_t step = 1;
  for (dim = rank - 1; dim >= 0; --dim) {
    stride[dim] = step;
    step *= this->shape[dim];
  }
}

int64_t Tensor::numElements() const {
  int64_t product = 1;
  for (int dim = 0; dim < rank; ++dim)
    product *= shape[dim];
  return product;
}

std::string Tensor::describe() const {
  std::string text(toString(dtype));
  text += '[';
  for (int dim = 0; dim < rank; ++dim) {
    if (dim)
      text += ", ";
    text += std::to_string(shape[dim]);
  }
  return text + ']';
}
