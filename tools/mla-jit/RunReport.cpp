//===- RunReport.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"
#include "Files.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace mla_jit {

/// "4096", or "17 to 4096" of different ones.
static std::string describeRange(const std::vector<int64_t> &values) {
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high)
    return std::to_string(*low);
  return formatv("{0} to {1}", *low, *high);
}

static std::vector<int64_t> lengthsOf(const TensorSet &inputs) {
  Tensor tensor = inputs.view("seq_lens");
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < tensor.shape[0]; ++b)
    lengths.push_back(
        readElement(tensor.data, tensor.dtype, b * tensor.stride[0]));
  return lengths;
}

static std::vector<int64_t> queriesOf(const TensorSet &inputs) {
  Tensor q = inputs.view("q"), offsets = inputs.view("q_offsets");
  if (!offsets.given())
    return {q.shape[1]};
  std::vector<int64_t> counts;
  for (int64_t b = 0; b + 1 < offsets.shape[0]; ++b)
    counts.push_back(readElement(offsets.data, offsets.dtype, b + 1) -
                     readElement(offsets.data, offsets.dtype, b));
  return counts;
}

std::string describeProblem(const Spec &spec, const TensorSet &inputs) {
  std::vector<int64_t> lengths = lengthsOf(inputs), queries = queriesOf(inputs);
  std::string text;
  raw_string_ostream stream(text);
  auto s = [](int64_t n) { return n == 1 ? "" : "s"; };
  stream << lengths.size() << " request" << s(lengths.size());
  if (!lengths.empty() && !queries.empty())
    stream << " of " << describeRange(lengths) << " keys and "
           << describeRange(queries) << " "
           << (queries.size() == 1 && queries[0] == 1 ? "query" : "queries");
  stream << ", h_q " << spec.numHeads << ", h_kv " << spec.numKVHeads
         << ", d_qk " << spec.headDim << ", d_v " << spec.headDimV;
  if (spec.ropeDim)
    stream << " (rope " << spec.ropeDim << " apart)";
  stream << ", q " << toString(spec.qDType) << ", kv " << toString(spec.kvDType)
         << ", out " << toString(spec.outDType) << ", "
         << toString(spec.layout);
  if (spec.layout != KVLayout::Dense)
    stream << " pages of " << spec.pageSize;
  stream << ", mask " << spec.mask;
  return text;
}

namespace {
struct Norms {
  double squares = 0, low = std::numeric_limits<double>::infinity(),
         high = -low;
  int64_t finite = 0, nans = 0, infinite = 0;

  void add(double value) {
    if (std::isnan(value)) {
      ++nans;
    } else if (std::isinf(value)) {
      ++infinite;
    } else {
      ++finite;
      squares += value * value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
};
} // namespace

/// Of the rows that a launch writes: of a ragged q, those within q_offsets.
static Norms normsOf(const Tensor &tensor, const TensorSet &inputs) {
  int64_t rowElements = 1, begin = 0, end = tensor.shape[0];
  for (int dim = 1; dim < tensor.rank; ++dim)
    rowElements *= tensor.shape[dim];
  if (Tensor offsets = inputs.view("q_offsets"); offsets.given()) {
    begin = readElement(offsets.data, offsets.dtype, 0);
    end = readElement(offsets.data, offsets.dtype, offsets.shape[0] - 1);
  }
  Norms norms;
  for (int64_t i = begin * rowElements; i < end * rowElements; ++i)
    norms.add(readElement(tensor.data, tensor.dtype, i));
  return norms;
}

static void printNorms(raw_ostream &stream, StringRef name,
                       const Tensor &tensor, const TensorSet &inputs) {
  Norms norms = normsOf(tensor, inputs);
  stream << left_justify(name, 10) << tensor.describe();
  if (norms.finite)
    stream << formatv(": L2 norm {0:F6}, min {1:F6}, max {2:F6}",
                      std::sqrt(norms.squares), norms.low, norms.high);
  stream << formatv(", {0} NaN", norms.nans);
  if (norms.infinite)
    stream << formatv(", {0} infinite", norms.infinite);
  stream << "\n";
}

/// Bytes of the keys of all requests.
static double keyBytes(const Spec &spec, const TensorSet &inputs) {
  double keys = 0;
  for (int64_t length : lengthsOf(inputs))
    keys += length;
  return keys * spec.numKVHeads * spec.headDim * byteSize(spec.kvDType);
}

void RunReport::print(raw_ostream &stream) const {
  const PublicKernel &kernel = execution.getKernel();
  const mla_kernel_info &info = kernel.info();
  stream << "problem   " << describeProblem(problem.spec, problem.inputs)
         << "\n";
  stream << "schedule  " << info.schedule << ", " << info.num_workers
         << " worker" << (info.num_workers == 1 ? "" : "s") << "\n";
  std::string stages;
  for (const mla_stage_time &time : kernel.times())
    stages += formatv("{0}{1} {2:F1}", stages.empty() ? "" : ", ", time.stage,
                      time.seconds * 1e3);
  if (info.is_gpu && info.num_entries > 1)
    stages += " (from optimize on the slowest of its entries)";
  stream << formatv("compile   {0:F1} ms: {1}\n", kernel.seconds() * 1e3,
                    stages);
  for (const std::string &warning : kernel.warnings())
    stream << "warning   " << warning << "\n";
  for (const char *name : {"out", "lse"})
    if (Tensor tensor = execution.getOutputs().view(name); tensor.given())
      printNorms(stream, name, tensor, problem.inputs);
  if (!launchTimes.empty()) {
    std::vector<double> sorted = launchTimes;
    llvm::sort(sorted);
    double median = sorted[sorted.size() / 2];
    stream << formatv("launch    {0} (median of {1}), {2:F2} GB/s of KV\n",
                      formatSeconds(median), sorted.size(),
                      keyBytes(problem.spec, problem.inputs) / median / 1e9);
  }
  stream << "workspace " << formatBytes(execution.workspaceSize()) << "\n";
  if (comparison) {
    oracle::Tolerance tolerance = execution.tolerance();
    stream << "check     " << (comparison->passed ? "passed" : "MISSED")
           << format(": out error %.3g (tolerance %g + %.4g |x|)",
                     comparison->maxOutError, tolerance.outAbs,
                     tolerance.outRel)
           << format(", cosine difference %.3g (%g)",
                     comparison->cosineDifference, tolerance.cosineDifference)
           << format(", lse error %.3g (%g + %.3g |x|)",
                     comparison->maxLseError, tolerance.lseAbs,
                     tolerance.lseRel)
           << ", " << comparison->mismatches << " misses\n";
  }
}

} // namespace mla_jit
