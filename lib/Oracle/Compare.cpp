//===- Compare.cpp - Comparison of a kernel's results with the oracle's ---===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Oracle/Oracle.h"

#include "Elements.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace mla_jit;
using namespace mla_jit::oracle;

Tolerance oracle::toleranceFor(DType outDType) {
  Tolerance tolerance;
  if (outDType == DType::F16)
    tolerance.outRel = 2.01 / 1024;
  if (outDType == DType::F32) {
    tolerance.outAbs = 1e-4;
    tolerance.outRel = 8.01 / 65536;
  }
  return tolerance;
}

Tolerance oracle::tensorCoreTolerance(DType outDType, DType kvDType) {
  Tolerance tolerance = toleranceFor(outDType);
  tolerance.outMagnitude = kvDType == DType::F16 ? 0x1p-11 : 0x1p-8;
  tolerance.logitMagnitude = 0x1p-22;
  return tolerance;
}

/// Calls function(index, offset) for each element in row-major order, where
/// index has an entry a dimension and offset is in elements.
template <typename Function>
static void forEachElement(const Tensor &tensor, Function function) {
  int64_t index[Tensor::kMaxRank] = {};
  for (int64_t n = tensor.numElements(); n > 0; --n) {
    int64_t offset = 0;
    for (int dim = 0; dim < tensor.rank; ++dim)
      offset += index[dim] * tensor.stride[dim];
    function(index, offset);
    for (int dim = tensor.rank - 1; dim >= 0; --dim) {
      if (++index[dim] < tensor.shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

static char *bytesOf(const Tensor &tensor, int64_t offset) {
  return static_cast<char *>(tensor.data) + offset * byteSize(tensor.dtype);
}

void oracle::prefill(const Tensor &tensor) {
  forEachElement(tensor, [&](const int64_t *, int64_t offset) {
    std::memset(bytesOf(tensor, offset), kPrefillByte, byteSize(tensor.dtype));
  });
}

static std::string describe(const char *format, double a, double b = 0,
                            double c = 0, double d = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b, c, d);
  return text;
}

namespace {
/// The comparison in progress.
class Comparer {
public:
  explicit Comparer(Comparison &comparison) : comparison(comparison) {}

  /// What elements may be off by; `magnitudes` is empty, or has one for each.
  struct Limits {
    double abs, rel, share;
    const std::vector<double> &magnitudes;

    double at(int64_t element, double expected) const {
      double limit = abs + rel * std::fabs(expected);
      return magnitudes.empty() ? limit : limit + share * magnitudes[element];
    }
  };

  /// Compares `tensor` with `expected`, which has perRow elements for each
  /// entry of `written`. Accumulates the greatest absolute error.
  void compare(const char *name, const Tensor &tensor,
               const std::vector<double> &expected,
               const std::vector<uint8_t> &written, int64_t perRow,
               const Limits &limits, double &maxError);

  void mismatch(std::string text) {
    if (comparison.mismatches++ == 0)
      comparison.firstMismatch = std::move(text);
  }

private:
  Comparison &comparison;
};
} // namespace

/// "out[0, 2, 5]"
static std::string elementName(const char *name, const Tensor &tensor,
                               const int64_t *index) {
  std::string text = std::string(name) + '[';
  for (int dim = 0; dim < tensor.rank; ++dim)
    text += (dim ? ", " : "") + std::to_string(index[dim]);
  return text + ']';
}

void Comparer::compare(const char *name, const Tensor &tensor,
                       const std::vector<double> &expected,
                       const std::vector<uint8_t> &written, int64_t perRow,
                       const Limits &limits, double &maxError) {
  const size_t elementSize = byteSize(tensor.dtype);
  const std::string untouched(elementSize, char(kPrefillByte));
  double xy = 0, xxyy = 0;
  int64_t position = 0;
  forEachElement(tensor, [&](const int64_t *index, int64_t offset) {
    int64_t n = position++;
    if (!written[n / perRow]) {
      if (std::memcmp(bytesOf(tensor, offset), untouched.data(), elementSize))
        mismatch(elementName(name, tensor, index) +
                 ": is outside q_offsets and must not be written");
      return;
    }
    double want = expected[n], got;
    loadFloats(tensor, offset, 1, 1, &got);
    if (std::isfinite(want) && std::isfinite(got)) {
      double error = std::fabs(got - want);
      double limit = limits.at(n, want);
      xy += got * want;
      xxyy += got * got + want * want;
      maxError = std::max(maxError, error);
      if (error > limit)
        mismatch(elementName(name, tensor, index) +
                 describe(": expected %.9g, but got %.9g, off by %.3g "
                          "(allowed %.3g)",
                          want, got, error, limit));
    } else if (!(got == want)) { // also if either is NaN
      if (std::isfinite(want))
        maxError = INFINITY;
      bool missing =
          !std::memcmp(bytesOf(tensor, offset), untouched.data(), elementSize);
      mismatch(elementName(name, tensor, index) +
               describe(": expected %.9g, but got %.9g", want,
                        std::isnan(got) ? NAN : got) +
               (missing ? ", the pre-fill: not written" : ""));
    }
  });
  if (std::string_view(name) == "out" && xxyy > 0)
    comparison.cosineDifference = 1 - 2 * xy / xxyy;
}

/// Whether the tensor has one element for each of `count` expected values, as
/// rows of [heads] and, if columns > 0, [columns].
static bool hasShape(const Tensor &tensor, int64_t rows, int64_t heads,
                     int64_t columns) {
  int rank = tensor.rank;
  if (columns && (rank < 1 || tensor.shape[--rank] != columns))
    return false;
  if (rank < 1 || tensor.shape[--rank] != heads)
    return false;
  int64_t leading = 1;
  for (int dim = 0; dim < rank; ++dim)
    leading *= tensor.shape[dim];
  return rank >= 1 && leading == rows;
}

Comparison oracle::compare(const Result &expected, const Tensor &out,
                           const Tensor &lse, const Tolerance &tolerance) {
  Comparison comparison;
  Comparer comparer(comparison);
  auto shapeMismatch = [&](const char *name, const Tensor &tensor) {
    comparer.mismatch(std::string("tensor '") + name + "': requires " +
                      std::to_string(expected.rows) + " rows of " +
                      std::to_string(expected.heads) + " heads of " +
                      std::to_string(expected.headDimV) +
                      " columns (lse: f32 without columns), but got " +
                      tensor.describe());
    return comparison;
  };
  if (!expected.error.empty()) {
    comparer.mismatch("the oracle refused the problem: " + expected.error);
    return comparison;
  }
  bool isFloat = out.dtype == DType::BF16 || out.dtype == DType::F16 ||
                 out.dtype == DType::F32;
  if (!isFloat ||
      !hasShape(out, expected.rows, expected.heads, expected.headDimV))
    return shapeMismatch("out", out);
  if (lse.given() && (lse.dtype != DType::F32 ||
                      !hasShape(lse, expected.rows, expected.heads, 0)))
    return shapeMismatch("lse", lse);

  comparer.compare("out", out, expected.out, expected.written,
                   expected.heads * expected.headDimV,
                   {tolerance.outAbs, tolerance.outRel, tolerance.outMagnitude,
                    expected.outMagnitude},
                   comparison.maxOutError);
  if (comparison.cosineDifference > tolerance.cosineDifference)
    comparer.mismatch(describe("out: cosine difference %.3g (allowed %.3g)",
                               comparison.cosineDifference,
                               tolerance.cosineDifference));
  if (lse.given())
    comparer.compare("lse", lse, expected.lse, expected.written, expected.heads,
                     {tolerance.lseAbs, tolerance.lseRel,
                      tolerance.logitMagnitude, expected.logitMagnitude},
                     comparison.maxLseError);
  comparison.passed = comparison.mismatches == 0;
  return comparison;
}

Comparison oracle::compare(const Result &expected, const Tensor &out,
                           const Tensor &lse) {
  return compare(expected, out, lse, toleranceFor(out.dtype));
}
