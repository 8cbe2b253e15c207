//===- VerifyResults.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

namespace mla_jit::verify {

static constexpr uint8_t kCanary = 0xA5;

GuardedBuffer::GuardedBuffer(size_t numBytes) : numBytes(numBytes) {
  size_t total = llvm::alignTo(numBytes + 2 * kGuard, kGuard);
  bytes.reset(static_cast<uint8_t *>(std::aligned_alloc(kGuard, total)));
  if (!bytes)
    llvm::report_bad_alloc_error("no memory for a test's buffer");
  std::memset(bytes.get(), kCanary, total);
  std::memset(data(), oracle::kPrefillByte, numBytes);
}

bool GuardedBuffer::intact() const {
  auto isCanary = [](uint8_t byte) { return byte == kCanary; };
  return std::all_of(bytes.get(), data(), isCanary) &&
         std::all_of(data() + numBytes, data() + numBytes + kGuard, isCanary);
}

/// Offset of (row, head, 0) in elements; rows count over the leading
/// dimensions.
static int64_t offsetOf(const Tensor &tensor, int headAxis, int64_t row,
                        int64_t head) {
  int64_t offset = head * tensor.stride[headAxis];
  for (int axis = headAxis - 1; axis >= 0; --axis) {
    int64_t extent = axis ? tensor.shape[axis] : row + 1;
    offset += row % extent * tensor.stride[axis];
    row /= extent;
  }
  return offset;
}

int64_t Results::numRows() const {
  return numHeads() ? out.numElements() / out.shape[out.rank - 1] / numHeads()
                    : 0;
}

double Results::outAt(int64_t row, int64_t head, int64_t column) const {
  return readElement(out.data, out.dtype,
                     offsetOf(out, out.rank - 2, row, head) + column);
}

double Results::lseAt(int64_t row, int64_t head) const {
  return readElement(lse.data, lse.dtype,
                     offsetOf(lse, lse.rank - 1, row, head));
}

llvm::ArrayRef<uint8_t> Results::outBytes(int64_t row, int64_t head) const {
  size_t element = byteSize(out.dtype);
  const uint8_t *data = static_cast<const uint8_t *>(out.data);
  return {data + offsetOf(out, out.rank - 2, row, head) * element,
          out.shape[out.rank - 1] * element};
}

llvm::ArrayRef<uint8_t> Results::lseBytes(int64_t row, int64_t head) const {
  const uint8_t *data = static_cast<const uint8_t *>(lse.data);
  return {data + offsetOf(lse, lse.rank - 1, row, head) * sizeof(float),
          sizeof(float)};
}

Tensor makeOutput(DType dtype, const Tensor &q, int64_t columns,
                  const LaunchOptions &options,
                  std::shared_ptr<GuardedBuffer> &memory) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.rank = columns ? q.rank : q.rank - 1;
  tensor.shape = q.shape;
  int headAxis = q.rank - 2;
  int64_t width = (columns ? columns : 1) + options.outGap;
  int64_t rows = 1;
  for (int axis = 0; axis < headAxis; ++axis)
    rows *= q.shape[axis];
  int64_t heads = q.shape[headAxis];
  tensor.stride[headAxis] = options.headMajorOut ? rows * width : width;
  int64_t step = options.headMajorOut ? width : heads * width;
  for (int axis = headAxis - 1; axis >= 0; --axis) {
    tensor.stride[axis] = step;
    step *= q.shape[axis];
  }
  if (columns) {
    tensor.shape[q.rank - 1] = columns;
    tensor.stride[q.rank - 1] = 1;
  }
  size_t shift = columns ? options.outShift : 0;
  memory = std::make_shared<GuardedBuffer>(
      rows * heads * width * byteSize(dtype) + shift);
  tensor.data = memory->data() + shift;
  return tensor;
}

bool gapsIntact(const Tensor &tensor, int headAxis, int64_t columns,
                int64_t gap) {
  int64_t rows = 1;
  for (int axis = 0; axis < headAxis; ++axis)
    rows *= tensor.shape[axis];
  const uint8_t *data = static_cast<const uint8_t *>(tensor.data);
  size_t element = byteSize(tensor.dtype);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < tensor.shape[headAxis]; ++head) {
      const uint8_t *end =
          data + (offsetOf(tensor, headAxis, row, head) + columns) * element;
      for (size_t i = 0; i < gap * element; ++i)
        if (end[i] != oracle::kPrefillByte)
          return false;
    }
  return true;
}

} // namespace mla_jit::verify
