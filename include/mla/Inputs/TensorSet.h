//===- TensorSet.h - Named tensors that own their memory --------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_INPUTS_TENSORSET_H
#define MLA_INPUTS_TENSORSET_H

#include "mla/Problem/Tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mla_jit {

/// Tensors by name, in the order in which they were added, and text that
/// describes them. Memory is aligned to 64 bytes and exactly as long as the
/// tensor needs, so that a sanitizer sees reads past the end.
class TensorSet {
public:
  static constexpr size_t kAlignment = 64;

  /// Adds a tensor of zeros and returns its view, which stays valid as long as
  /// the set lives (also when moved). `strides` are in elements; without them
  /// the tensor is contiguous. Data is null if a dimension is 0. Fails on a
  /// name that is taken, a bad dtype, rank, shape or stride, and if memory is
  /// short.
  llvm::Expected<Tensor> add(llvm::StringRef name, DType dtype,
                             llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<int64_t> strides = {});

  /// The tensor of that name; one that is not given if there is none.
  Tensor view(llvm::StringRef name) const;
  /// All bytes of a tensor, those between its elements included.
  llvm::MutableArrayRef<uint8_t> storage(llvm::StringRef name) const;

  struct Entry {
    std::string name;
    Tensor tensor;
  };
  /// Name and view of each tensor in order of insertion.
  std::vector<Entry> entries() const;
  size_t size() const { return tensors.size(); }

  /// Free text by key, for example the softmax scale.
  std::map<std::string, std::string> metadata;

private:
  struct Free {
    void operator()(uint8_t *pointer) const { std::free(pointer); }
  };
  struct Owned {
    std::string name;
    Tensor tensor;
    std::unique_ptr<uint8_t, Free> bytes;
    size_t numBytes = 0;
  };
  const Owned *find(llvm::StringRef name) const;

  std::vector<Owned> tensors;
};

/// Element `index` of an array of f32, f16, bf16, i32 or i64.
double readElement(const void *data, DType dtype, int64_t index);
/// The inverse, rounded to nearest even. NaN becomes the dtype's all-ones NaN.
void writeElement(void *data, DType dtype, int64_t index, double value);

} // namespace mla_jit

#endif // MLA_INPUTS_TENSORSET_H
