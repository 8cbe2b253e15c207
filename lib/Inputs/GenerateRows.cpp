//===- GenerateRows.cpp - Rows of q and k ---------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenerateDetail.h"

#include <vector>

using namespace mla_jit;

/// Rotates interleaved pairs: columns 2j and 2j + 1 by position *
/// theta^(-2j / count).
static void rotate(double *values, int64_t count, int64_t position,
                   double theta) {
  for (int64_t c = 0; c + 1 < count; c += 2) {
    double angle = position * std::pow(theta, -double(c) / count);
    double cosine = std::cos(angle), sine = std::sin(angle);
    double x = values[c], y = values[c + 1];
    values[c] = x * cosine - y * sine;
    values[c + 1] = x * sine + y * cosine;
  }
}

static void normalise(double *values, int64_t count) {
  double squares = 0;
  for (int64_t c = 0; c < count; ++c)
    squares += values[c] * values[c];
  double factor = 1 / std::sqrt(squares / count);
  for (int64_t c = 0; c < count; ++c)
    values[c] *= factor;
}

void mla_jit::makeRow(const RowFormat &format, Random random, int64_t position,
                      int64_t wholeOffset, int64_t ropeOffset) {
  const int64_t latent = format.columns - format.ropeColumns;
  std::vector<double> row(format.columns);
  random.normals(row.data(), latent, format.deviation);
  random.normals(row.data() + latent, format.ropeColumns, format.deviation);
  if (format.normalise && latent > 0)
    normalise(row.data(), latent);
  rotate(row.data() + latent, format.ropeColumns, position, format.ropeTheta);

  const Tensor &whole = format.whole, &rope = format.rope;
  const int64_t wholeColumns = whole.shape[whole.rank - 1];
  for (int64_t c = 0; c < wholeColumns; ++c)
    writeElement(whole.data, whole.dtype, wholeOffset + c, row[c]);
  for (int64_t c = wholeColumns; c < format.columns; ++c)
    writeElement(rope.data, rope.dtype, ropeOffset + c - wholeColumns, row[c]);
}
