//===- SpecConversion.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "SpecText.h"

namespace mla_jit::capi {

DType toDType(int32_t dtype) {
  switch (dtype) {
  case MLA_F32:
    return DType::F32;
  case MLA_F16:
    return DType::F16;
  case MLA_BF16:
    return DType::BF16;
  case MLA_I32:
    return DType::I32;
  case MLA_I64:
    return DType::I64;
  default:
    return DType::None;
  }
}

int32_t fromDType(DType dtype) {
  for (int32_t given : {MLA_F32, MLA_F16, MLA_BF16, MLA_I32, MLA_I64})
    if (toDType(given) == dtype)
      return given;
  return MLA_NONE;
}

/// Largest values that are taken for meant: beyond, sizes that are compiled in
/// would overflow one way or another.
static constexpr int32_t kMaxHeads = 1 << 14, kMaxDim = 1 << 13,
                         kMaxPage = 1 << 20;

static llvm::Error checkRange(const char *name, int32_t value, int32_t least,
                              int32_t most) {
  if (value >= least && value <= most)
    return llvm::Error::success();
  return invalid(ofSpec(name), "requires {0} to {1}, but got {2}", least, most,
                 value);
}

static llvm::Error checkRanges(const mla_spec &spec) {
  bool paged =
      spec.table_kind == MLA_TABLE_DENSE || spec.table_kind == MLA_TABLE_CSR;
  struct {
    const char *name;
    int32_t value, least, most;
  } const kRanges[] = {
      {"q_dtype", spec.q_dtype, MLA_F32, MLA_I64},
      {"kv_dtype", spec.kv_dtype, MLA_F32, MLA_I64},
      {"out_dtype", spec.out_dtype, MLA_F32, MLA_I64},
      {"table_dtype", spec.table_dtype, MLA_NONE, MLA_I64},
      {"length_dtype", spec.length_dtype, MLA_NONE, MLA_I64},
      {"kv_format", spec.kv_format, MLA_KV_PLAIN, MLA_KV_PLANAR_528},
      {"table_kind", spec.table_kind, MLA_TABLE_NONE, MLA_TABLE_TOKENS},
      {"h_q", spec.h_q, 1, kMaxHeads},
      {"h_kv", spec.h_kv, 1, kMaxHeads},
      {"d_qk", spec.d_qk, 1, kMaxDim},
      {"d_v", spec.d_v, 1, kMaxDim},
      {"d_rope", spec.d_rope, 0, kMaxDim},
      {"separate_v", spec.separate_v, 0, 1},
      {"page_size", spec.page_size, paged ? 1 : 0, kMaxPage},
      {"extra_page_size", spec.extra_page_size, 0, kMaxPage},
      {"queries", spec.queries, 0, kMaxPage},
      {"max_batch", spec.max_batch, 0, INT32_MAX},
      {"max_total_q", spec.max_total_q, 0, INT32_MAX},
      {"max_q_len", spec.max_q_len, 0, INT32_MAX},
      {"max_splits", spec.max_splits, 0, INT32_MAX},
  };
  for (auto [name, value, least, most] : kRanges)
    if (llvm::Error error = checkRange(name, value, least, most))
      return error;
  if (spec.max_kv_len < 0)
    return invalid(ofSpec("max_kv_len"), "requires at least 0, but got {0}",
                   spec.max_kv_len);
  return llvm::Error::success();
}

/// What no pass lowers yet.
static llvm::Error checkSupported(const mla_spec &spec) {
  for (auto [name, dtype] : {std::pair{"q_dtype", spec.q_dtype},
                             {"kv_dtype", spec.kv_dtype},
                             {"out_dtype", spec.out_dtype}})
    if (dtype == MLA_E4M3 || dtype == MLA_U8)
      return unsupported(
          ofSpec(name),
          "requires bf16, f16 or f32: kernels of 8 bits are not there yet");
  if (spec.kv_format != MLA_KV_PLAIN)
    return unsupported(
        ofSpec("kv_format"),
        "requires plain: kernels of quantised rows are not there yet");
  if (spec.separate_v)
    return unsupported(
        ofSpec("separate_v"),
        "requires 0: V is the first columns of K in every kernel so far");
  if (spec.table_kind == MLA_TABLE_TOKENS)
    return unsupported(
        ofSpec("table_kind"),
        "requires none, dense or csr: sparse kernels are not there yet");
  if (spec.extra_page_size)
    return unsupported(ofSpec("extra_page_size"),
                       "requires 0: kernels with extra KV are not there yet");
  constexpr uint32_t kMasks = MLA_MASK_CAUSAL | MLA_MASK_WINDOW;
  if (spec.mask & ~kMasks)
    return unsupported(ofSpec("mask"),
                       "requires causal, or causal and window, or none, but "
                       "got the bits {0:x}: the other masks are not there yet",
                       spec.mask);
  if (spec.mask == MLA_MASK_WINDOW)
    return unsupported(ofSpec("mask"), "requires causal with window: a window "
                                       "that sees later keys is not there yet");
  constexpr uint32_t kFeatures = MLA_FEATURE_RAGGED_Q | MLA_FEATURE_TABLE_ROWS |
                                 MLA_FEATURE_BATCH_INVARIANT |
                                 MLA_FEATURE_UNALIGNED |
                                 MLA_FEATURE_SHARED_SCHEDULE;
  if (spec.features & ~kFeatures)
    return unsupported(ofSpec("features"),
                       "requires ragged_q, table_rows, batch_invariant, "
                       "unaligned or shared_schedule, but got the bits {0:x}: "
                       "no pass lowers the others yet",
                       spec.features & ~kFeatures);
  if (spec.features & MLA_FEATURE_TABLE_ROWS &&
      spec.table_kind == MLA_TABLE_NONE)
    return invalid(ofSpec("features"), "requires a table for table_rows, but "
                                       "table_kind is MLA_TABLE_NONE");
  if (spec.mask_mod)
    return unsupported(
        ofSpec("mask_mod"),
        "requires null: masks of the caller's code are not there yet");
  return llvm::Error::success();
}

/// Others are 17 at most.
static constexpr size_t kMostScoreArguments = KernelInfo::kMaxArguments - 17;

llvm::Error readScoreMod(std::string_view text, Spec &spec) {
  llvm::StringRef rest = llvm::StringRef(text).ltrim();
  if (!rest.consume_front("(")) {
    spec.scoreBody = rest.str();
    return llvm::Error::success();
  }
  auto wrong = [] {
    return invalid(ofSpec("score_mod"),
                   "requires '(%name: type, ...)' before its code");
  };
  // Commas and parentheses within <> belong to a type.
  while (!rest.consume_front(")")) {
    size_t end = 0;
    for (int depth = 0; end < rest.size(); ++end) {
      char c = rest[end];
      if (depth == 0 && (c == ',' || c == ')'))
        break;
      depth += (c == '<') - (c == '>');
    }
    auto [name, type] = rest.take_front(end).split(':');
    rest = rest.drop_front(end);
    name = name.trim();
    type = type.trim();
    if (rest.empty() || !name.consume_front("%") || name.empty() ||
        type.empty())
      return wrong();
    if (isField(name))
      return invalid(ofSpec("score_mod"),
                     "requires names that mla_args has no field for, but got "
                     "'%{0}'",
                     name);
    if (spec.scoreArguments.size() == kMostScoreArguments)
      return invalid(ofSpec("score_mod"),
                     "requires at most {0} arguments, but got more",
                     kMostScoreArguments);
    spec.scoreArguments.emplace_back(name.str(), type.str());
    rest.consume_front(",");
  }
  spec.scoreBody = rest.ltrim().str();
  return llvm::Error::success();
}

std::string writeScoreMod(const Spec &spec) {
  std::string text;
  for (const auto &[name, type] : spec.scoreArguments)
    text += (text.empty() ? "(%" : ", %") + name + ": " + type;
  return text.empty() ? spec.scoreBody : text + ") " + spec.scoreBody;
}

/// Checks what a merge has no use for.
static llvm::Error checkMergeFields(const mla_spec &spec) {
  struct {
    const char *name;
    bool isSet;
  } const kUnused[] = {
      {"q_dtype", spec.q_dtype != 0},
      {"kv_dtype", spec.kv_dtype != 0},
      {"kv_format", spec.kv_format != 0},
      {"h_kv", spec.h_kv != 0},
      {"d_qk", spec.d_qk != 0},
      {"d_rope", spec.d_rope != 0},
      {"separate_v", spec.separate_v != 0},
      {"page_size", spec.page_size != 0},
      {"extra_page_size", spec.extra_page_size != 0},
      {"table_kind", spec.table_kind != 0},
      {"table_dtype", spec.table_dtype != 0},
      {"length_dtype", spec.length_dtype != 0},
      {"mask", spec.mask != 0},
      {"features", spec.features != 0},
      {"queries", spec.queries != 0},
      {"score_mod", spec.score_mod != nullptr},
      {"mask_mod", spec.mask_mod != nullptr},
      {"schedule", spec.schedule != nullptr},
  };
  for (auto [name, isSet] : kUnused)
    if (isSet)
      return invalid(ofSpec(name), "requires 0 or null for MLA_MERGE");
  return llvm::Error::success();
}

static llvm::Expected<Spec> toMergeSpec(const mla_spec &given) {
  if (llvm::Error error = checkMergeFields(given))
    return std::move(error);
  for (auto [name, value, least, most] :
       {std::tuple{"out_dtype", given.out_dtype, int32_t(MLA_F32),
                   int32_t(MLA_I64)},
        {"h_q", given.h_q, 1, kMaxHeads},
        {"d_v", given.d_v, 1, kMaxDim}})
    if (llvm::Error error = checkRange(name, value, least, most))
      return std::move(error);
  Spec spec;
  spec.operation = Operation::Merge;
  spec.outDType = toDType(given.out_dtype);
  spec.numHeads = given.h_q;
  spec.headDimV = given.d_v;
  if (given.symbol)
    spec.symbol = given.symbol;
  return spec;
}

llvm::Expected<Spec> toSpec(const mla_spec &given, std::string_view target) {
  if (given.target && given.target != target)
    return unsupported(ofSpec("target"),
                       "requires that of the engine, '{0}', but got '{1}'",
                       target, given.target);
  if (llvm::Error error =
          checkRange("operation", given.operation, MLA_DECODE, MLA_MERGE))
    return std::move(error);
  if (given.operation == MLA_MERGE)
    return toMergeSpec(given);
  if (llvm::Error error = checkRanges(given))
    return std::move(error);
  if (llvm::Error error = checkSupported(given))
    return std::move(error);
  auto orI32 = [](int32_t dtype) {
    return dtype == MLA_NONE ? DType::I32 : toDType(dtype);
  };
  Spec spec;
  spec.qDType = toDType(given.q_dtype);
  spec.kvDType = toDType(given.kv_dtype);
  spec.outDType = toDType(given.out_dtype);
  spec.numHeads = given.h_q;
  spec.numKVHeads = given.h_kv;
  spec.headDim = given.d_qk;
  spec.headDimV = given.d_v;
  spec.ropeDim = given.d_rope;
  spec.layout = given.table_kind == MLA_TABLE_NONE    ? KVLayout::Dense
                : given.table_kind == MLA_TABLE_DENSE ? KVLayout::Paged
                                                      : KVLayout::CSR;
  spec.tableDType = orI32(given.table_dtype);
  if (spec.layout != KVLayout::Dense)
    spec.pageSize = given.page_size;
  else if (given.table_dtype == MLA_I64)
    spec.tableDType = DType::I32; // there is none
  spec.tableRows = given.features & MLA_FEATURE_TABLE_ROWS;
  spec.lengthDType = orI32(given.length_dtype);
  spec.raggedQ = given.features & MLA_FEATURE_RAGGED_Q;
  spec.mask = !(given.mask & MLA_MASK_CAUSAL) ? "none"
              : given.mask & MLA_MASK_WINDOW  ? "sliding_window"
                                              : "causal";
  spec.rowLocalSplits = given.features & MLA_FEATURE_BATCH_INVARIANT;
  spec.alignedStrides = !(given.features & MLA_FEATURE_UNALIGNED);
  spec.sharedPlan = given.features & MLA_FEATURE_SHARED_SCHEDULE;
  if (spec.sharedPlan && target.substr(0, 4) == "host")
    return unsupported(ofSpec("features"),
                       "requires no shared_schedule for the host: each launch "
                       "plans for itself there");
  constexpr int32_t kMostTuned = 16;
  spec.queries = given.queries ? given.queries
                               : std::clamp(given.max_q_len, 1, kMostTuned);
  if (given.score_mod)
    if (llvm::Error error = readScoreMod(given.score_mod, spec))
      return std::move(error);
  if (given.schedule)
    spec.schedule = given.schedule;
  if (given.symbol)
    spec.symbol = given.symbol;
  return spec;
}

std::string writeSpecText(const Spec &from) {
  auto given = [](const std::string &text) {
    return text.empty() ? nullptr : text.c_str();
  };
  mla_spec spec;
  MLA_INIT(&spec);
  spec.out_dtype = fromDType(from.outDType);
  spec.h_q = static_cast<int32_t>(from.numHeads);
  spec.d_v = static_cast<int32_t>(from.headDimV);
  spec.symbol = given(from.symbol);
  if (from.operation == Operation::Merge) {
    spec.operation = MLA_MERGE;
    return writeSpecText(spec);
  }
  spec.q_dtype = fromDType(from.qDType);
  spec.kv_dtype = fromDType(from.kvDType);
  spec.h_kv = static_cast<int32_t>(from.numKVHeads);
  spec.d_qk = static_cast<int32_t>(from.headDim);
  spec.d_rope = static_cast<int32_t>(from.ropeDim);
  spec.table_kind = from.layout == KVLayout::Dense   ? MLA_TABLE_NONE
                    : from.layout == KVLayout::Paged ? MLA_TABLE_DENSE
                                                     : MLA_TABLE_CSR;
  if (from.layout != KVLayout::Dense)
    spec.page_size = static_cast<int32_t>(from.pageSize);
  spec.table_dtype = fromDType(from.tableDType);
  spec.length_dtype = fromDType(from.lengthDType);
  spec.mask = from.mask == "none"     ? 0
              : from.mask == "causal" ? MLA_MASK_CAUSAL
                                      : MLA_MASK_CAUSAL | MLA_MASK_WINDOW;
  for (auto [isSet, feature] :
       {std::pair{from.raggedQ, MLA_FEATURE_RAGGED_Q},
        {from.tableRows, MLA_FEATURE_TABLE_ROWS},
        {from.rowLocalSplits, MLA_FEATURE_BATCH_INVARIANT},
        {!from.alignedStrides, MLA_FEATURE_UNALIGNED},
        {from.sharedPlan, MLA_FEATURE_SHARED_SCHEDULE}})
    spec.features |= isSet ? feature : 0;
  spec.queries = static_cast<int32_t>(from.queries);
  std::string scoreMod = writeScoreMod(from);
  spec.score_mod = given(scoreMod);
  spec.schedule = given(from.schedule);
  return writeSpecText(spec);
}

} // namespace mla_jit::capi
