//===- Draft.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draft.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <unistd.h>

using namespace llvm;

namespace mla_jit {

template <typename... Ts>
static Error invalid(const char *format, Ts &&...values) {
  return createStringError(formatv(format, std::forward<Ts>(values)...));
}

//===----------------------------------------------------------------------===//
// From tensors and kernels
//===----------------------------------------------------------------------===//

/// Finds a tensor by name; sizes that are not known are -1.
using Lookup = function_ref<Tensor(StringRef)>;

/// A tensor that must be there with one rank.
static Expected<Tensor> require(Lookup find, StringRef name, int rank,
                                StringRef shape) {
  Tensor tensor = find(name);
  if (!tensor.given())
    return invalid("tensor '{0}' is missing: requires {1}", name, shape);
  if (tensor.rank != rank)
    return invalid("tensor '{0}' requires rank {1} ({2}), but got {3}", name,
                   rank, shape, tensor.describe());
  return tensor;
}

static void setSize(int64_t size, int64_t &value) {
  if (size >= 0)
    value = size;
}

/// Whether a tensor begins, and its rows do, at multiples of 16 bytes, as far
/// as is known.
static bool isAligned(const Tensor &tensor) {
  size_t bytes = reinterpret_cast<uintptr_t>(tensor.data);
  for (int i = 0; i + 1 < tensor.rank; ++i)
    if (tensor.stride[i] >= 0)
      bytes |= tensor.stride[i] * byteSize(tensor.dtype);
  return bytes % 16 == 0;
}

static Error describeSpec(Lookup find, Spec &spec) {
  spec.raggedQ = find("q_offsets").given();
  auto q =
      spec.raggedQ
          ? require(find, "q", 3, "[total_q, h_q, d], as there is q_offsets")
          : require(find, "q", 4, "[b, s_q, h_q, d], as there is no q_offsets");
  if (!q)
    return q.takeError();
  auto k =
      require(find, "k", 4, "[pages, page_size, h_kv, d] or [b, s, h_kv, d]");
  if (!k)
    return k.takeError();
  auto lengths = require(find, "seq_lens", 1, "[b]");
  if (!lengths)
    return lengths.takeError();
  spec.qDType = q->dtype;
  spec.kvDType = k->dtype;
  spec.lengthDType = lengths->dtype;
  if (!spec.raggedQ)
    setSize(q->shape[1], spec.queries);
  setSize(q->shape[q->rank - 2], spec.numHeads);
  setSize(q->shape[q->rank - 1], spec.headDim);
  setSize(k->shape[2], spec.numKVHeads);

  spec.ropeDim = 0;
  if (Tensor rope = find("q_rope"); rope.given()) {
    if (rope.rank != q->rank)
      return invalid("tensor 'q_rope' requires rank {0} as q, but got {1}",
                     q->rank, rope.describe());
    setSize(rope.shape[rope.rank - 1], spec.ropeDim);
    spec.headDim += spec.ropeDim;
  }

  Tensor table = find("table"), indptr = find("kv_indptr");
  if (table.given() && indptr.given())
    return invalid("tensors 'table' and 'kv_indptr' exclude each other, but "
                   "both are given");
  spec.layout = table.given()    ? KVLayout::Paged
                : indptr.given() ? KVLayout::CSR
                                 : KVLayout::Dense;
  if (spec.layout != KVLayout::Dense) {
    setSize(k->shape[1], spec.pageSize);
    spec.tableDType = table.given() ? table.dtype : indptr.dtype;
  }
  spec.tableRows = find("table_rows").given();
  spec.alignedStrides = isAligned(*q) && isAligned(find("q_rope")) &&
                        isAligned(*k) && isAligned(find("k_rope")) &&
                        isAligned(find("out"));
  return Error::success();
}

Error describeKernel(const PublicKernel &kernel, Draft &draft) {
  auto find = [&](StringRef name) {
    Tensor tensor;
    const mla_arg_info *argument = kernel.find(name);
    if (!argument || !argument->is_tensor)
      return tensor;
    tensor.dtype = fromPublic(argument->dtype);
    tensor.rank = argument->rank;
    llvm::copy(argument->shape, tensor.shape.begin());
    return tensor;
  };
  if (Error error = describeSpec(find, draft.spec))
    return error;
  if (Tensor out = find("out"); out.given() && out.rank) {
    draft.spec.outDType = out.dtype;
    int64_t columns = draft.spec.headDimV;
    setSize(out.shape[out.rank - 1], columns);
    draft.headDimV = columns;
  }
  StringRef mask = kernel.info().mask;
  mask.consume_front("#mla.");
  draft.setMask(mask);
  return Error::success();
}

/// Reads metadata as a number if it is there.
template <typename T, typename F>
static Error readNumber(const TensorSet &tensors, const char *key, F parse,
                        std::optional<T> &value) {
  auto it = tensors.metadata.find(key);
  if (it == tensors.metadata.end())
    return Error::success();
  T number;
  if (parse(StringRef(it->second), number))
    return invalid("metadata '{0}' requires a number, but got '{1}'", key,
                   it->second);
  value = number;
  return Error::success();
}

static Error readMetadata(const TensorSet &tensors, Draft &draft) {
  auto text = [&](const char *key) {
    auto it = tensors.metadata.find(key);
    return it == tensors.metadata.end() ? StringRef() : StringRef(it->second);
  };
  if (Error error = readNumber(
          tensors, "softmax_scale",
          [](StringRef s, double &number) { return s.getAsDouble(number); },
          draft.scale))
    return error;
  if (Error error = readNumber(
          tensors, "head_dim_v",
          [](StringRef s, int64_t &number) {
            return s.getAsInteger(10, number);
          },
          draft.headDimV))
    return error;
  if (!text("mask").empty())
    draft.spec.mask = text("mask").str();
  if (!text("score").empty())
    draft.score = text("score").str();
  if (!text("out_dtype").empty()) {
    draft.spec.outDType = parseDType(text("out_dtype"));
    if (draft.spec.outDType == DType::None)
      return invalid(
          "metadata 'out_dtype' requires bf16, f16 or f32, but got '{0}'",
          text("out_dtype"));
  }
  SmallVector<StringRef> parts;
  text("mask_args").split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, value] = part.split('=');
    int64_t number;
    if (value.getAsInteger(10, number))
      return invalid("metadata 'mask_args' requires name=N,..., but got '{0}'",
                     part);
    draft.maskArgs.emplace_back(name.str(), number);
  }
  return Error::success();
}

Error describeTensors(const TensorSet &tensors, Draft &draft) {
  auto find = [&](StringRef name) { return tensors.view(name); };
  Spec &spec = draft.spec;
  if (Error error = describeSpec(find, spec))
    return error;
  if (!draft.headDimV && spec.ropeDim)
    draft.headDimV = spec.headDim - spec.ropeDim;
  return readMetadata(tensors, draft);
}

void addMetadata(const Problem &problem, StringRef score,
                 std::map<std::string, std::string> &metadata) {
  std::string text;
  for (const auto &[name, value] : problem.maskParameters)
    text += (text.empty() ? "" : ",") + name + "=" +
            std::to_string(static_cast<int64_t>(value));
  if (!text.empty())
    metadata["mask_args"] = text;
  if (score != "none")
    metadata["score"] = score.str();
  metadata["out_dtype"] = toString(problem.spec.outDType);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Error checkSizes(const Draft &draft) {
  constexpr int64_t kMaxColumns = 1 << 14;
  const Spec &spec = draft.spec;
  struct Range {
    const char *flag;
    int64_t value, low, high;
  };
  for (Range r : {Range{"h-q", spec.numHeads, 1, kMaxColumns},
                  {"h-kv", spec.numKVHeads, 1, kMaxColumns},
                  {"d-qk", spec.headDim, 8, kMaxColumns},
                  {"d-v", spec.headDimV, 8, kMaxColumns},
                  {"d-rope", spec.ropeDim, 0, kMaxColumns},
                  {"page-size", spec.pageSize, 1, 1 << 20},
                  {"num-splits", draft.numSplits, 0, 1 << 16}})
    if (r.value < r.low || r.value > r.high)
      return invalid("--{0} requires {1} to {2}, but got {3}", r.flag, r.low,
                     r.high, r.value);
  for (auto [flag, value] : {std::pair{"d-qk", spec.headDim},
                             {"d-v", spec.headDimV},
                             {"d-rope", spec.ropeDim}})
    if (value % 8)
      return invalid("--{0} requires a multiple of 8, but got {1}", flag,
                     value);
  if (spec.numHeads % spec.numKVHeads)
    return invalid(
        "--h-q requires a multiple of the {0} KV heads (--h-kv), but got {1}",
        spec.numKVHeads, spec.numHeads);
  if (spec.ropeDim >= spec.headDim)
    return invalid("--d-rope requires less than the {0} columns of k (--d-qk), "
                   "but got {1}",
                   spec.headDim, spec.ropeDim);
  if (spec.headDimV > spec.headDim - spec.ropeDim)
    return invalid("--d-v requires at most {0} columns (d_qk{1}: V is the "
                   "first columns of k), but "
                   "got {2}",
                   spec.headDim - spec.ropeDim, spec.ropeDim ? " - d_rope" : "",
                   spec.headDimV);
  if (spec.tableRows && spec.layout == KVLayout::Dense)
    return invalid(
        "--table-rows requires --layout paged or csr, but got dense");
  return Error::success();
}

Error checkGenerated(const Draft &draft) {
  const GenOptions &gen = draft.gen;
  const Spec &spec = draft.spec;
  if (gen.sQ < 1 || gen.sQ > 1 << 16)
    return invalid("--s-q requires 1 to 65536, but got {0}", gen.sQ);
  if (!(gen.qStd >= 0) || gen.qStd > 1e6)
    return invalid("--q-std requires 0 to 1e6, but got {0}", gen.qStd);
  if (spec.raggedQ && gen.qLens.size() != gen.seqLens.size())
    return invalid(
        "--q-lens requires {0} numbers, one for each request, but got {1}",
        gen.seqLens.size(), gen.qLens.size());
  for (int64_t length : gen.qLens)
    if (length < 0 || length > 1 << 16)
      return invalid("--q-lens requires 0 to 65536, but got {0}", length);
  constexpr int64_t kMaxKeys = std::numeric_limits<int32_t>::max();
  double keys = 0;
  for (int64_t length : gen.seqLens) {
    if (length < 0 || length > kMaxKeys)
      return invalid("--kv-len and --seq-lens require 0 to {0}, but got {1}",
                     kMaxKeys, length);
    keys += spec.layout == KVLayout::Dense ? length
                                           : alignTo(length, spec.pageSize);
  }
  double bytes = keys * spec.numKVHeads * spec.headDim * byteSize(spec.kvDType);
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes > memory)
    return invalid("--batch, --kv-len or --seq-lens require at most this "
                   "machine's {0:F1} GB of "
                   "memory, but {1} keys take {2:F1} GB",
                   memory / 1e9, static_cast<int64_t>(keys), bytes / 1e9);
  return Error::success();
}

/// Names of the launch-time parameters of a mask; nothing if there is no such
/// mask.
static std::optional<std::vector<std::string>> maskParameters(StringRef mask) {
  if (mask == "none" || mask == "causal")
    return std::vector<std::string>();
  if (mask == "sliding_window")
    return std::vector<std::string>{"window"};
  return std::nullopt;
}

Expected<std::vector<std::pair<std::string, double>>>
orderMaskArgs(const Draft &draft, bool complete) {
  auto names = maskParameters(draft.spec.mask);
  if (!names)
    return invalid(
        "--mask requires the name of a mask, as none or causal, but got '{0}'",
        draft.spec.mask);
  std::map<std::string, double> values;
  for (const auto &[name, value] : draft.maskArgs) {
    if (!is_contained(*names, name))
      return invalid(
          "--mask-arg requires a parameter of mask {0} ({1}), but got '{2}'",
          draft.spec.mask, names->empty() ? "it has none" : join(*names, ", "),
          name);
    if (!(std::abs(value) <= std::numeric_limits<int32_t>::max()) ||
        value != std::trunc(value))
      return invalid("--mask-arg {0} requires a 32-bit integer, but got {1}",
                     name, value);
    values[name] = value;
  }
  std::vector<std::pair<std::string, double>> ordered;
  for (const std::string &name : *names) {
    if (auto it = values.find(name); it != values.end())
      ordered.push_back(*it);
    else if (complete)
      return invalid("--mask-arg requires {0}=N: mask {1} has this parameter",
                     name, draft.spec.mask);
  }
  return ordered;
}

} // namespace mla_jit
