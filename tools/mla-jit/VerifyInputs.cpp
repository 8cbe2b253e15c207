//===- VerifyInputs.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What cases share: descriptions, checks of results, known inputs.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using llvm::Error;
using llvm::formatv;

namespace mla_jit::verify {

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

/// "4" or "1-4": the range of a number over the shapes.
static std::string
rangeOf(const std::vector<GenOptions> &shapes,
        llvm::function_ref<int64_t(const GenOptions &)> number) {
  int64_t low = INT64_MAX, high = 0;
  for (const GenOptions &shape : shapes) {
    low = std::min(low, number(shape));
    high = std::max(high, number(shape));
  }
  return low >= high ? std::to_string(high)
                     : formatv("{0}-{1}", low, high).str();
}

std::string describe(const Case &testCase) {
  const Spec &s = testCase.spec;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "h=" << s.numHeads;
  if (s.numKVHeads > 1)
    stream << '/' << s.numKVHeads;
  stream << ' ' << s.headDim;
  if (s.ropeDim)
    stream << '(' << s.ropeDim << ')';
  stream << '/' << s.headDimV << ' ' << toString(s.kvDType);
  if (s.qDType != s.kvDType)
    stream << " q=" << toString(s.qDType);
  if (s.outDType != s.kvDType)
    stream << " out=" << toString(s.outDType);
  stream << ' ' << toString(s.layout);
  if (s.layout != KVLayout::Dense)
    stream << s.pageSize;
  stream << ' ' << s.mask;
  for (const auto &[name, value] : testCase.maskParameters)
    stream << ' ' << static_cast<int64_t>(value);
  if (!testCase.score.empty())
    stream << ' ' << testCase.score;
  if (s.rowLocalSplits)
    stream << " row-local";
  stream << ", b="
         << rangeOf(testCase.shapes, [](auto &o) { return o.seqLens.size(); })
         << " q="
         << rangeOf(testCase.shapes,
                    [](auto &o) {
                      return o.qLens.empty() ? o.sQ
                                             : *llvm::max_element(o.qLens);
                    })
         << " keys<=" << rangeOf(testCase.shapes, [](auto &o) {
              return o.seqLens.empty() ? 0 : *llvm::max_element(o.seqLens);
            });
  if (testCase.splits != std::vector<int64_t>{0})
    stream << " splits="
           << llvm::join(
                  llvm::map_range(testCase.splits,
                                  [](int64_t n) { return std::to_string(n); }),
                  ",");
  for (const auto &[field, value] : testCase.scheduleEdits)
    stream << ' ' << field << '=' << value;
  if (!testCase.note.empty())
    stream << ", " << testCase.note;
  return text;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Error expectNear(llvm::StringRef what, double got, double want,
                 double tolerance) {
  if (got == want || std::fabs(got - want) <= tolerance)
    return Error::success();
  return failure("{0}: expected {1}, but got {2}", what,
                 llvm::format("%.9g", want), llvm::format("%.9g", got));
}

Error expectSameRow(llvm::StringRef what, const Results &got, int64_t gotRow,
                    const Results &want, int64_t wantRow) {
  for (int64_t head = 0; head < got.numHeads(); ++head) {
    if (got.outBytes(gotRow, head) != want.outBytes(wantRow, head))
      return failure("{0}: out of row {1}, head {2} differs in bits", what,
                     gotRow, head);
    if (got.lse.data && want.lse.data &&
        got.lseBytes(gotRow, head) != want.lseBytes(wantRow, head))
      return failure("{0}: lse of row {1}, head {2} differs in bits", what,
                     gotRow, head);
  }
  return Error::success();
}

Error expectSameBits(llvm::StringRef what, const Results &got,
                     const Results &want) {
  if (got.numRows() != want.numRows() || got.numHeads() != want.numHeads())
    return failure("{0}: shapes differ", what);
  for (int64_t row = 0; row < got.numRows(); ++row)
    if (Error error = expectSameRow(what, got, row, want, row))
      return error;
  return Error::success();
}

Error expectEmpty(const Results &results, int64_t row, int64_t head) {
  if (llvm::any_of(results.outBytes(row, head),
                   [](uint8_t byte) { return byte != 0; }))
    return failure("row {0}, head {1} sees no key: expected +0, but got {2}",
                   row, head, results.outAt(row, head, 0));
  return expectNear("lse of a row that sees no key", results.lseAt(row, head),
                    -INFINITY, 0);
}

/// Requires every head of a row to have this first column of out and this LSE.
Error expectRow(const Problem &problem, const Results &results, int64_t row,
                double out, double lse, double lseTolerance) {
  for (int64_t head = 0; head < results.numHeads(); ++head) {
    if (Error error = expectNear("out", results.outAt(row, head, 0), out,
                                 roundingOf(problem.spec.outDType, out)))
      return error;
    if (Error error =
            expectNear("lse", results.lseAt(row, head), lse, lseTolerance))
      return error;
  }
  return Error::success();
}

double roundingOf(DType outDType, double value) {
  double bits = outDType == DType::BF16 ? 8 : outDType == DType::F16 ? 11 : 22;
  return std::ldexp(std::max(std::fabs(value), 1e-2), -bits) + 1e-6;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

void setQueries(Problem &problem,
                llvm::function_ref<double(int64_t, int64_t, int64_t)> value) {
  Tensor q = problem.inputs.view("q");
  int headAxis = q.rank - 2;
  for (int64_t outer = 0; outer < q.shape[0]; ++outer)
    for (int64_t inner = 0; inner < (q.rank == 4 ? q.shape[1] : 1); ++inner)
      for (int64_t head = 0; head < q.shape[headAxis]; ++head)
        for (int64_t column = 0; column < q.shape[q.rank - 1]; ++column) {
          int64_t row = q.rank == 4 ? outer * q.shape[1] + inner : outer;
          int64_t offset = outer * q.stride[0] +
                           (q.rank == 4 ? inner * q.stride[1] : 0) +
                           head * q.stride[headAxis] + column;
          writeElement(q.data, q.dtype, offset, value(row, head, column));
        }
}

int64_t integerAt(const Problem &problem, llvm::StringRef name, int64_t index) {
  Tensor tensor = problem.inputs.view(name);
  return static_cast<int64_t>(readElement(tensor.data, tensor.dtype, index));
}

void setKeys(Problem &problem,
             llvm::function_ref<double(int64_t, int64_t, int64_t)> value) {
  Tensor k = problem.inputs.view("k"), table = problem.inputs.view("table");
  int64_t pageSize = k.shape[1];
  for (int64_t b = 0; b < problem.inputs.view("seq_lens").shape[0]; ++b)
    for (int64_t key = 0, n = integerAt(problem, "seq_lens", b); key < n;
         ++key) {
      int64_t page = b, slot = key;
      if (problem.spec.layout != KVLayout::Dense) {
        slot = key % pageSize;
        int64_t column = key / pageSize;
        if (table.given())
          page = readElement(table.data, table.dtype,
                             b * table.stride[0] + column);
        else
          page = integerAt(problem, "kv_indices",
                           integerAt(problem, "kv_indptr", b) + column);
      }
      for (int64_t head = 0; head < k.shape[2]; ++head)
        for (int64_t column = 0; column < k.shape[3]; ++column)
          writeElement(k.data, k.dtype,
                       page * k.stride[0] + slot * k.stride[1] +
                           head * k.stride[2] + column,
                       value(b, key, column));
    }
}

Spec specOfHeads(int64_t numHeads, const char *mask) {
  Spec spec;
  spec.numHeads = numHeads;
  spec.mask = mask;
  return spec;
}

GenOptions lengths(std::vector<int64_t> seqLens, int64_t sQ) {
  GenOptions shape;
  shape.seqLens = std::move(seqLens);
  shape.sQ = sQ;
  return shape;
}

} // namespace mla_jit::verify
