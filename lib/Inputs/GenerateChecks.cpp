//===- GenerateChecks.cpp - Checks of the input generator -----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenerateDetail.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mla_jit;
using llvm::Error;
using llvm::StringRef;

static constexpr int64_t kMaxSize = 1 << 14; ///< heads, columns
static constexpr int64_t kMaxQueries = 1 << 16;
static constexpr int64_t kMaxSpare = 1 << 20; ///< also page size and batch
static constexpr int64_t kMaxKeys = std::numeric_limits<int32_t>::max();

template <typename... Values>
static Error fail(const char *format, Values &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Values>(values)...).str());
}

static Error checkRange(const char *name, int64_t value, int64_t low,
                        int64_t high) {
  if (value < low || value > high)
    return fail("{0}: requires {1} to {2}, but got {3}", name, low, high,
                value);
  return Error::success();
}

static Error checkDTypes(const Spec &spec) {
  for (auto [name, dtype] :
       {std::pair{"q dtype", spec.qDType}, {"kv dtype", spec.kvDType}})
    if (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16)
      return fail("{0}: requires bf16, f16 or f32, but got {1}", name,
                  StringRef(toString(dtype)));
  for (auto [name, dtype] : {std::pair{"table dtype", spec.tableDType},
                             {"length dtype", spec.lengthDType}})
    if (dtype != DType::I32 && dtype != DType::I64)
      return fail("{0}: requires i32 or i64, but got {1}", name,
                  StringRef(toString(dtype)));
  return Error::success();
}

static Error checkSpec(const Spec &spec) {
  struct Range {
    const char *name;
    int64_t value, low, high;
  };
  for (Range r : {Range{"heads", spec.numHeads, 1, kMaxSize},
                  {"kv heads", spec.numKVHeads, 1, spec.numHeads},
                  {"head dim", spec.headDim, 1, kMaxSize},
                  {"head dim v", spec.headDimV, 1, spec.headDim},
                  {"rope dim", spec.ropeDim, 0, spec.headDim - 1},
                  {"page size", spec.pageSize, 1, kMaxSpare}})
    if (Error error = checkRange(r.name, r.value, r.low, r.high))
      return error;
  if (spec.numHeads % spec.numKVHeads)
    return fail("kv heads: requires a divisor of the {0} heads, but got {1}",
                spec.numHeads, spec.numKVHeads);
  return Error::success();
}

static Error checkOptions(const Spec &spec, const GenOptions &options) {
  const size_t batch = options.seqLens.size();
  if (Error error = checkRange("batch", batch, 0, kMaxSpare))
    return error;
  if (!options.qLens.empty() && !spec.raggedQ)
    return fail("query lengths: requires a spec with ragged q");
  if (!options.qLens.empty() && options.qLens.size() != batch)
    return fail("query lengths: requires {0}, one a request, but got {1}",
                batch, options.qLens.size());
  if (!options.requestIds.empty() && options.requestIds.size() != batch)
    return fail("request ids: requires {0}, one a request, but got {1}", batch,
                options.requestIds.size());

  for (int64_t length : options.seqLens)
    if (Error error = checkRange("length", length, 0, kMaxKeys))
      return error;
  for (int64_t length : options.qLens)
    if (Error error = checkRange("query length", length, 0, kMaxQueries))
      return error;
  if (Error error = checkRange("query length", options.sQ, 0, kMaxQueries))
    return error;
  for (auto [name, value] : {std::pair{"spare pages", options.sparePages},
                             {"spare keys", options.spareKeys},
                             {"spare columns", options.spareColumns},
                             {"spare table rows", options.spareTableRows},
                             {"spare q rows", options.spareQRows},
                             {"token gap", options.tokenGap},
                             {"page gap", options.pageGap},
                             {"q gap", options.qGap},
                             {"table gap", options.tableGap}})
    if (Error error = checkRange(name, value, 0, kMaxSpare))
      return error;
  return Error::success();
}

Error mla_jit::checkGenerate(const Spec &spec, const GenOptions &options) {
  if (Error error = checkDTypes(spec))
    return error;
  if (Error error = checkSpec(spec))
    return error;
  return checkOptions(spec, options);
}
