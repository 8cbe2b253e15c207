//===- TensorSet.cpp - Named tensors that own their memory ----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/TensorSet.h"

#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unistd.h>

using namespace mla_jit;
using llvm::ArrayRef;
using llvm::StringRef;

template <typename... Values>
static llvm::Error fail(StringRef name, const char *format,
                        const Values &...values) {
  std::string full = "tensor '%s': " + std::string(format);
  return llvm::createStringError(std::errc::invalid_argument, full.c_str(),
                                 name.str().c_str(), values...);
}

/// Elements from the first to the last of a tensor: 1 + sum (extent - 1) *
/// stride. Fails on negative values and on overflow of 63 bits.
static llvm::Expected<int64_t> spanOf(StringRef name, const Tensor &tensor) {
  int64_t span = 1;
  bool empty = false, overflow = false;
  for (int dim = 0; dim < tensor.rank; ++dim) {
    int64_t extent = tensor.shape[dim], stride = tensor.stride[dim];
    if (extent < 0 || stride < 0)
      return fail(name,
                  "requires shape and strides >= 0, but got %lld (stride "
                  "%lld) in dimension %d",
                  (long long)extent, (long long)stride, dim);
    empty |= extent == 0;
    int64_t reach = 0;
    overflow |= llvm::MulOverflow(extent - 1, stride, reach);
    overflow |= llvm::AddOverflow(span, reach, span);
  }
  if (empty)
    return 0;
  if (overflow)
    return fail(name, "requires sizes within 63 bits, but got %s",
                tensor.describe().c_str());
  return span;
}

static int64_t physicalMemory() {
  return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

llvm::Expected<Tensor> TensorSet::add(StringRef name, DType dtype,
                                      ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> strides) {
  if (find(name))
    return fail(name, "requires a name that is not taken");
  if (dtype == DType::None)
    return fail(name, "requires a dtype, but got none");
  if (shape.size() > Tensor::kMaxRank)
    return fail(name, "requires rank <= %d, but got %zu", Tensor::kMaxRank,
                shape.size());
  if (!strides.empty() && strides.size() != shape.size())
    return fail(name, "requires %zu strides, but got %zu", shape.size(),
                strides.size());

  Owned owned;
  owned.name = name.str();
  Tensor &tensor = owned.tensor;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int>(shape.size());
  llvm::copy(shape, tensor.shape.begin());
  if (!strides.empty()) {
    llvm::copy(strides, tensor.stride.begin());
  } else {
    int64_t step = 1;
    bool overflow = false;
    for (int dim = tensor.rank - 1; dim >= 0; --dim) {
      tensor.stride[dim] = step;
      overflow |=
          llvm::MulOverflow(step, std::max<int64_t>(1, shape[dim]), step);
    }
    if (overflow)
      return fail(name, "requires sizes within 63 bits, but got %s",
                  tensor.describe().c_str());
  }

  llvm::Expected<int64_t> span = spanOf(name, tensor);
  if (!span)
    return span.takeError();
  int64_t numBytes = 0;
  if (llvm::MulOverflow<int64_t>(*span, byteSize(dtype), numBytes))
    return fail(name, "requires sizes within 63 bits, but got %s",
                tensor.describe().c_str());
  if (numBytes > 0) {
    void *bytes = nullptr;
    // More than there is would be promised by some systems, and refused by a
    // sanitizer with an abort.
    if (numBytes > physicalMemory() ||
        posix_memalign(&bytes, kAlignment, numBytes) != 0)
      return fail(name,
                  "requires %lld bytes of memory, but got a machine of %lld",
                  (long long)numBytes, (long long)physicalMemory());
    std::memset(bytes, 0, numBytes);
    owned.bytes.reset(static_cast<uint8_t *>(bytes));
    owned.numBytes = numBytes;
    tensor.data = bytes;
  }
  tensors.push_back(std::move(owned));
  return tensors.back().tensor;
}

const TensorSet::Owned *TensorSet::find(StringRef name) const {
  for (const Owned &owned : tensors)
    if (owned.name == name)
      return &owned;
  return nullptr;
}

Tensor TensorSet::view(StringRef name) const {
  const Owned *owned = find(name);
  return owned ? owned->tensor : Tensor();
}

llvm::MutableArrayRef<uint8_t> TensorSet::storage(StringRef name) const {
  const Owned *owned = find(name);
  if (!owned)
    return {};
  return {owned->bytes.get(), owned->numBytes};
}

std::vector<TensorSet::Entry> TensorSet::entries() const {
  std::vector<Entry> entries;
  for (const Owned &owned : tensors)
    entries.push_back({owned.name, owned.tensor});
  return entries;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// A 16-bit float: bf16 is {7, -126}, f16 is {10, -14}.
struct Format16 {
  int fractionBits, minExponent;
};
static constexpr Format16 kBF16 = {7, -126}, kF16 = {10, -14};

static double decode(uint16_t bits, Format16 format) {
  const int sign = bits & 0x8000 ? -1 : 1;
  const int fractionMask = (1 << format.fractionBits) - 1;
  const int exponent = (bits & 0x7FFF) >> format.fractionBits;
  const int fraction = bits & fractionMask;
  if (exponent == 0x7FFF >> format.fractionBits)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  // Subnormals have the exponent of the smallest normals and no leading 1.
  int significand = exponent ? fraction + fractionMask + 1 : fraction;
  return sign *
         std::ldexp(significand, std::max(exponent, 1) - 1 +
                                     format.minExponent - format.fractionBits);
}

static uint16_t encode(double value, Format16 format) {
  if (std::isnan(value))
    return 0xFFFF;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = ~0u << format.fractionBits & 0x7FFF;
  const double magnitude = std::fabs(value);
  if (magnitude >= std::ldexp(1, 2 - format.minExponent))
    return sign | infinity;
  // The significand in units of the last place is at most 2 << fractionBits;
  // its leading 1, or a carry of the rounding, adds to the exponent field.
  const int exponent =
      magnitude == 0 ? format.minExponent
                     : std::max(std::ilogb(magnitude), format.minExponent);
  const auto significand = static_cast<uint16_t>(
      std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent)));
  const int field = (exponent - format.minExponent) << format.fractionBits;
  return sign | static_cast<uint16_t>(field + significand);
}

double mla_jit::readElement(const void *data, DType dtype, int64_t index) {
  switch (dtype) {
  case DType::F32:
    return static_cast<const float *>(data)[index];
  case DType::F16:
    return decode(static_cast<const uint16_t *>(data)[index], kF16);
  case DType::BF16:
    return decode(static_cast<const uint16_t *>(data)[index], kBF16);
  case DType::I32:
    return static_cast<const int32_t *>(data)[index];
  case DType::I64:
    return static_cast<double>(static_cast<const int64_t *>(data)[index]);
  case DType::None:
    break;
  }
  llvm_unreachable("an element has a dtype");
}

void mla_jit::writeElement(void *data, DType dtype, int64_t index,
                           double value) {
  switch (dtype) {
  case DType::F32:
    static_cast<float *>(data)[index] = std::isnan(value)
                                            ? std::bit_cast<float>(~0u)
                                            : static_cast<float>(value);
    return;
  case DType::F16:
    static_cast<uint16_t *>(data)[index] = encode(value, kF16);
    return;
  case DType::BF16:
    static_cast<uint16_t *>(data)[index] = encode(value, kBF16);
    return;
  case DType::I32:
    static_cast<int32_t *>(data)[index] = static_cast<int32_t>(value);
    return;
  case DType::I64:
    static_cast<int64_t *>(data)[index] = static_cast<int64_t>(value);
    return;
  case DType::None:
    break;
  }
  llvm_unreachable("an element has a dtype");
}
