//===- Generate.cpp - Seeded inputs of decode problems --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Generate.h"

#include "GenerateDetail.h"
#include "Random.h"

#include "mla/Inputs/Models.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

#include <cstdio>
#include <limits>

using namespace mla_jit;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// The first part of the name of a random stream, after the seed.
enum Stream : uint64_t { QueryStream = 1, KeyStream, PageStream, RowStream };

class Generator {
public:
  Generator(const Spec &spec, const GenOptions &options)
      : spec(spec), options(options), batch(options.seqLens.size()) {}
  Expected<TensorSet> run();

private:
  Error addQueries();
  Error addKeys();
  Error addTable();
  Error addLengths();
  void addMetadata();

  int64_t numQueries(int64_t b) const {
    return options.qLens.empty() ? options.sQ : options.qLens[b];
  }
  uint64_t requestId(int64_t b) const {
    return options.requestIds.empty() ? b : options.requestIds[b];
  }
  int64_t pagesOf(int64_t b) const {
    return llvm::divideCeil(options.seqLens[b], spec.pageSize);
  }
  bool isPaged() const { return spec.layout != KVLayout::Dense; }
  int64_t longest() const {
    return options.seqLens.empty() ? 0 : *llvm::max_element(options.seqLens);
  }

  /// A tensor whose bytes are all ones: NaN as a float, -1 as an integer.
  Expected<Tensor> addUnused(StringRef name, DType dtype,
                             llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<int64_t> strides = {});
  Error addPair(StringRef name, DType dtype, llvm::ArrayRef<int64_t> leading,
                llvm::function_ref<std::vector<int64_t>(int64_t)> stridesOf,
                RowFormat &format);
  Error addVector(StringRef name, DType dtype,
                  const std::vector<int64_t> &values);

  const Spec &spec;
  const GenOptions &options;
  const int64_t batch;
  TensorSet set;
  std::vector<std::vector<int64_t>> pages; ///< page ids of each request
};

} // namespace

template <typename... Values>
static Error fail(const char *format, Values &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Values>(values)...).str());
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Expected<Tensor> Generator::addUnused(StringRef name, DType dtype,
                                      llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> strides) {
  Expected<Tensor> tensor = set.add(name, dtype, shape, strides);
  if (tensor)
    llvm::fill(set.storage(name), 0xFF);
  return tensor;
}

/// Adds `name` and, if the spec splits rows, `name`_rope. stridesOf(columns)
/// gives the strides of the leading dimensions.
Error Generator::addPair(
    StringRef name, DType dtype, llvm::ArrayRef<int64_t> leading,
    llvm::function_ref<std::vector<int64_t>(int64_t)> stridesOf,
    RowFormat &format) {
  format.columns = spec.headDim;
  format.ropeTheta = options.ropeTheta;
  format.ropeColumns =
      spec.ropeDim ? spec.ropeDim : spec.headDim - spec.headDimV;
  auto add = [&](const llvm::Twine &tensorName, int64_t columns) {
    std::vector<int64_t> shape = leading.vec(), strides = stridesOf(columns);
    shape.push_back(columns);
    strides.push_back(1);
    return addUnused(tensorName.str(), dtype, shape, strides);
  };
  if (Error error =
          add(name, spec.headDim - spec.ropeDim).moveInto(format.whole))
    return error;
  if (!spec.ropeDim)
    return Error::success();
  return add(name + "_rope", spec.ropeDim).moveInto(format.rope);
}

//===----------------------------------------------------------------------===//
// q and k
//===----------------------------------------------------------------------===//

Error Generator::addQueries() {
  std::vector<int64_t> offsets = {options.spareQRows};
  for (int64_t b = 0; b < batch; ++b)
    offsets.push_back(offsets.back() + numQueries(b));
  std::vector<int64_t> leading = {batch, options.sQ, spec.numHeads};
  if (spec.raggedQ)
    leading = {offsets.back() + options.spareQRows, spec.numHeads};

  auto stridesOf = [&](int64_t columns) {
    const int64_t row = columns + options.qGap;
    int64_t tokens = spec.raggedQ ? leading[0] : batch * options.sQ;
    int64_t head = options.headMajorQ ? tokens * row : row;
    int64_t token = options.headMajorQ ? row : spec.numHeads * row;
    if (spec.raggedQ)
      return std::vector<int64_t>{token, head};
    return std::vector<int64_t>{options.sQ * token, token, head};
  };
  RowFormat format;
  format.deviation = options.qStd;
  if (Error error = addPair("q", spec.qDType, leading, stridesOf, format))
    return error;

  const int headAxis = format.whole.rank - 2;
  auto offsetOf = [&](const Tensor &t, int64_t b, int64_t i, int64_t head) {
    int64_t row = spec.raggedQ ? (offsets[b] + i) * t.stride[0]
                               : b * t.stride[0] + i * t.stride[1];
    return row + head * t.stride[headAxis];
  };
  llvm::parallelFor(0, batch, [&](size_t b) {
    for (int64_t i = 0; i < numQueries(b); ++i)
      for (int64_t head = 0; head < spec.numHeads; ++head)
        makeRow(format,
                Random({options.seed, QueryStream, requestId(b), uint64_t(i),
                        uint64_t(head)}),
                options.seqLens[b] - numQueries(b) + i,
                offsetOf(format.whole, b, i, head),
                offsetOf(format.rope, b, i, head));
  });
  if (!spec.raggedQ)
    return Error::success();
  return addVector("q_offsets", spec.lengthDType, offsets);
}

Error Generator::addKeys() {
  int64_t numPages = options.sparePages;
  for (int64_t b = 0; b < batch; ++b)
    numPages += pagesOf(b);
  if (isPaged() && numPages > std::numeric_limits<int32_t>::max())
    return fail("pages: requires at most 2147483647, but got {0}", numPages);
  std::vector<int64_t> leading = {numPages, spec.pageSize, spec.numKVHeads};
  if (!isPaged())
    leading = {batch, longest() + options.spareKeys, spec.numKVHeads};
  auto stridesOf = [&](int64_t columns) {
    int64_t token = spec.numKVHeads * columns + options.tokenGap;
    return std::vector<int64_t>{(leading[1] + options.pageGap) * token, token,
                                columns};
  };
  RowFormat format;
  format.normalise = true;
  if (Error error = addPair("k", spec.kvDType, leading, stridesOf, format))
    return error;

  // Each request gets pages from all over the pool.
  pages.resize(batch);
  if (isPaged()) {
    std::vector<int64_t> ids(numPages);
    for (int64_t i = 0; i < numPages; ++i)
      ids[i] = i;
    Random random({options.seed, PageStream});
    for (int64_t i = numPages - 1; i > 0; --i)
      std::swap(ids[i], ids[random.below(i + 1)]);
    auto next = ids.begin();
    for (int64_t b = 0; b < batch; ++b) {
      pages[b].assign(next, next + pagesOf(b));
      next += pagesOf(b);
    }
  }

  // Chunks of one request's keys are made in parallel.
  constexpr int64_t kChunk = 256;
  struct Chunk {
    int64_t request, begin, end;
  };
  std::vector<Chunk> chunks;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t k = 0; k < options.seqLens[b]; k += kChunk)
      chunks.push_back({b, k, std::min(k + kChunk, options.seqLens[b])});
  llvm::parallelForEach(chunks, [&](const Chunk &chunk) {
    for (int64_t k = chunk.begin; k < chunk.end; ++k) {
      int64_t page = chunk.request, slot = k;
      if (isPaged()) {
        page = pages[chunk.request][k / spec.pageSize];
        slot = k % spec.pageSize;
      }
      for (int64_t head = 0; head < spec.numKVHeads; ++head) {
        auto offsetOf = [&](const Tensor &t) {
          return page * t.stride[0] + slot * t.stride[1] + head * t.stride[2];
        };
        makeRow(format,
                Random({options.seed, KeyStream, requestId(chunk.request),
                        uint64_t(k), uint64_t(head)}),
                k, offsetOf(format.whole), offsetOf(format.rope));
      }
    }
  });
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tables and lengths
//===----------------------------------------------------------------------===//

Error Generator::addVector(StringRef name, DType dtype,
                           const std::vector<int64_t> &values) {
  if (dtype == DType::I32)
    for (int64_t value : values)
      if (value > std::numeric_limits<int32_t>::max())
        return fail("tensor '{0}': requires values within i32, but got {1}",
                    name, value);
  Expected<Tensor> tensor = set.add(name, dtype, int64_t(values.size()));
  if (!tensor)
    return tensor.takeError();
  for (auto [i, value] : llvm::enumerate(values))
    writeElement(tensor->data, dtype, i, value);
  return Error::success();
}

Error Generator::addTable() {
  // Which request has which row; -1: none.
  std::vector<int64_t> rowOf(batch), requestOf(batch);
  if (spec.tableRows)
    requestOf.resize(batch + options.spareTableRows);
  const int64_t numRows = requestOf.size();
  for (int64_t row = 0; row < numRows; ++row)
    requestOf[row] = row < batch ? row : -1;
  if (spec.tableRows) {
    Random random({options.seed, RowStream});
    for (int64_t i = numRows - 1; i > 0; --i)
      std::swap(requestOf[i], requestOf[random.below(i + 1)]);
  }
  for (int64_t row = 0; row < numRows; ++row)
    if (requestOf[row] >= 0)
      rowOf[requestOf[row]] = row;

  int64_t numInvalid = 0;
  auto invalidId = [&]() -> int64_t {
    return numInvalid++ % 2 ? -1 : 0x7FFFFFFF;
  };
  if (spec.layout == KVLayout::CSR) {
    std::vector<int64_t> indptr = {0}, indices;
    for (int64_t request : requestOf) {
      if (request >= 0)
        llvm::append_range(indices, pages[request]);
      for (int64_t i = 0; i < options.spareColumns; ++i)
        indices.push_back(invalidId());
      indptr.push_back(indices.size());
    }
    if (Error error = addVector("kv_indptr", spec.tableDType, indptr))
      return error;
    if (Error error = addVector("kv_indices", spec.tableDType, indices))
      return error;
  } else {
    int64_t columns =
        llvm::divideCeil(longest(), spec.pageSize) + options.spareColumns;
    int64_t rowStride = columns + options.tableGap;
    Expected<Tensor> table =
        set.add("table", spec.tableDType, {numRows, columns}, {rowStride, 1});
    if (!table)
      return table.takeError();
    int64_t numElements =
        set.storage("table").size() / byteSize(spec.tableDType);
    for (int64_t at = 0; at < numElements; ++at) {
      int64_t request = requestOf[at / rowStride], column = at % rowStride;
      bool used = request >= 0 && column < pagesOf(request);
      writeElement(table->data, spec.tableDType, at,
                   used ? pages[request][column] : invalidId());
    }
  }
  if (!spec.tableRows)
    return Error::success();
  return addVector("table_rows", spec.tableDType, rowOf);
}

Error Generator::addLengths() {
  return addVector("seq_lens", spec.lengthDType, options.seqLens);
}

void Generator::addMetadata() {
  double scale = options.softmaxScale
                     ? options.softmaxScale
                     : findModel("deepseek-v3")->softmaxScale();
  char scaleText[32];
  std::snprintf(scaleText, sizeof scaleText, "%.9g", scale);
  StringRef layouts[] = {"dense", "paged", "csr"};
  set.metadata = {{"softmax_scale", scaleText},
                  {"seed", std::to_string(options.seed)},
                  {"layout", layouts[int(spec.layout)].str()},
                  {"mask", spec.mask},
                  {"head_dim_v", std::to_string(spec.headDimV)},
                  {"page_size", std::to_string(spec.pageSize)}};
}

Expected<TensorSet> Generator::run() {
  if (Error error = addQueries())
    return error;
  if (Error error = addKeys())
    return error;
  if (isPaged())
    if (Error error = addTable())
      return error;
  if (Error error = addLengths())
    return error;
  addMetadata();
  return std::move(set);
}

Expected<TensorSet> mla_jit::generateInputs(const Spec &spec,
                                            const GenOptions &options) {
  if (Error error = checkGenerate(spec, options))
    return error;
  return Generator(spec, options).run();
}
