//===- KernelInfoFormat.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelInfoFormat.h"
#include "cache/Format.h"

using llvm::createStringError;

namespace mla_jit {

/// Goes on with each change of what is written below.
static constexpr uint32_t kFormatVersion = 5;
/// No kernel has more of anything: more is damage.
static constexpr uint64_t kMaxCount = 4096;

namespace {

/// Writes fields in the order in which `transfer` names them.
class Writer {
public:
  template <typename T> void number(const T &value) {
    bytes.u64(static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  template <typename E> void choice(const E &value, E) {
    bytes.u32(static_cast<uint32_t>(value));
  }
  void text(const std::string &value) { bytes.text(value); }
  template <typename T> void count(const std::vector<T> &values) {
    bytes.u32(static_cast<uint32_t>(values.size()));
  }

  cache::FormatWriter bytes;
};

/// Reads them back; `isBad` is for numbers that no kernel has.
class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  template <typename T> void number(T &value) {
    auto read = static_cast<int64_t>(bytes.u64());
    value = static_cast<T>(read);
    isBad |= static_cast<int64_t>(value) != read;
  }
  template <typename E> void choice(E &value, E last) {
    uint32_t read = bytes.u32();
    isBad |= read > static_cast<uint32_t>(last);
    value = static_cast<E>(read);
  }
  void text(std::string &value) { value = bytes.text(); }
  template <typename T> void count(std::vector<T> &values) {
    uint32_t read = bytes.u32();
    isBad |= read > kMaxCount || !bytes.ok();
    if (!isBad)
      values.resize(read);
  }

  cache::FormatReader bytes;
  bool isBad = false;
};

} // namespace

template <typename Transfer, typename Array>
static void transferArray(Transfer &t, Array &array) {
  for (auto &value : array)
    t.number(value);
}

// Structured bindings name every field of a struct: one that is added to it and
// forgotten here does not compile.

template <typename Transfer, typename Argument>
static void transferArgument(Transfer &t, Argument &argument) {
  auto &[name, isTensor, dtype, rank, shape, stride, alignment] = argument;
  t.text(name);
  t.number(isTensor);
  t.choice(dtype, DType::I64);
  t.number(rank);
  transferArray(t, shape);
  transferArray(t, stride);
  t.number(alignment);
}

template <typename Transfer, typename Map>
static void transferMap(Transfer &t, Map &map) {
  auto &[rank, dims, boxRows, boxColumns, swizzle] = map;
  t.number(rank);
  transferArray(t, dims);
  t.number(boxRows);
  t.number(boxColumns);
  t.number(swizzle);
}

template <typename Transfer, typename Param>
static void transferParam(Transfer &t, Param &param) {
  auto &[kind, source, index, dim, map] = param;
  t.choice(kind, KernelInfo::ParamKind::TensorMap);
  t.choice(source, KernelInfo::Source::NumWorkers);
  t.number(index);
  t.number(dim);
  transferMap(t, map);
}

template <typename Transfer, typename Entry>
static void transferEntry(Transfer &t, Entry &entry) {
  auto &[symbol, params, launch] = entry;
  auto &[threads, sharedBytes, ctasPerWorker, dependent, cluster] = launch;
  t.text(symbol);
  t.count(params);
  for (auto &param : params)
    transferParam(t, param);
  t.number(threads);
  t.number(sharedBytes);
  t.number(ctasPerWorker);
  t.number(dependent);
  t.number(cluster);
}

template <typename Transfer, typename Buffer>
static void transferBuffer(Transfer &t, Buffer &buffer) {
  auto &[name, scope, bytesEach, rank, shape, ofPlan] = buffer;
  t.text(name);
  t.choice(scope, KernelInfo::Scope::Piece);
  t.number(bytesEach);
  t.number(rank);
  transferArray(t, shape);
  t.number(ofPlan);
}

template <typename Transfer, typename Info>
static void transferInfo(Transfer &t, Info &info) {
  auto &[arguments, entries, workspace, isMerge, hasPlanEntry, schedule, mask,
         chip, blockM, kvHeads, group, rowBlocks, defaultSplits, warnings] =
      info;
  t.count(arguments);
  for (auto &argument : arguments)
    transferArgument(t, argument);
  t.count(entries);
  for (auto &entry : entries)
    transferEntry(t, entry);
  t.count(workspace);
  for (auto &buffer : workspace)
    transferBuffer(t, buffer);
  t.number(isMerge);
  t.number(hasPlanEntry);
  t.text(schedule);
  t.text(mask);
  t.text(chip);
  t.number(blockM);
  t.number(kvHeads);
  t.number(group);
  t.number(rowBlocks);
  t.number(defaultSplits);
  t.count(warnings);
  for (auto &warning : warnings)
    t.text(warning);
}

/// Whether launches may use the indices without a look.
static bool isSane(const KernelInfo &info) {
  auto isRank = [](int rank) { return rank >= 0 && rank <= Tensor::kMaxRank; };
  for (const ArgumentInfo &argument : info.arguments)
    if (!isRank(argument.rank) || argument.dtype == DType::None ||
        argument.alignment <= 0)
      return false;
  for (const KernelInfo::Buffer &buffer : info.workspace)
    if (!isRank(buffer.rank) || buffer.rank == 0 || buffer.bytesEach < 0)
      return false;
  for (const KernelInfo::Entry &entry : info.entries)
    for (const KernelInfo::Param &param : entry.params) {
      bool isBuffer = param.source == KernelInfo::Source::Workspace;
      bool isArgument = param.source == KernelInfo::Source::Argument;
      size_t limit = isBuffer ? info.workspace.size() : info.arguments.size();
      if ((isBuffer || isArgument) &&
          (param.index < 0 || static_cast<size_t>(param.index) >= limit))
        return false;
      if (param.dim < -1 || param.dim >= Tensor::kMaxRank ||
          !isRank(param.map.rank))
        return false;
      for (int dim : param.map.dims)
        if (dim < 0 || dim >= Tensor::kMaxRank)
          return false;
    }
  if (info.hasPlanEntry && info.entries.size() < 2)
    return false;
  return info.blockM > 0 && info.kvHeads > 0 && info.group > 0 &&
         info.rowBlocks > 0 && info.defaultSplits >= 0;
}

std::string writeKernelInfo(const KernelInfo &info) {
  Writer writer;
  writer.bytes.u32(kFormatVersion);
  transferInfo(writer, info);
  return std::move(writer.bytes.out);
}

llvm::Expected<std::shared_ptr<KernelInfo>>
readKernelInfo(std::string_view bytes) {
  Reader reader(bytes);
  if (uint32_t version = reader.bytes.u32(); version != kFormatVersion)
    return createStringError("the description of a kernel requires version " +
                             std::to_string(kFormatVersion) + ", but has " +
                             std::to_string(version));
  auto info = std::make_shared<KernelInfo>();
  transferInfo(reader, *info);
  if (reader.isBad || !reader.bytes.atEnd() || !isSane(*info))
    return createStringError(
        "the description of a kernel is damaged: it is not what was written");
  return info;
}

} // namespace mla_jit
