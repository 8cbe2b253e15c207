//===- ArgumentContents.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What tensors of a launch hold that kernels trust: lengths, tables, offsets.
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Kernel.h"
#include "MaskRange.h"
#include "mla/Target/Contained.h"

namespace mla_jit {

/// Element `i` of a rank 1 integer tensor.
static int64_t intAt(const Tensor &tensor, int64_t i) {
  const char *address = static_cast<const char *>(tensor.data) +
                        i * tensor.stride[0] * byteSize(tensor.dtype);
  return tensor.dtype == DType::I64
             ? *reinterpret_cast<const int64_t *>(address)
             : *reinterpret_cast<const int32_t *>(address);
}

static Tensor rowOf(const Tensor &table, int64_t row) {
  Tensor result = table;
  result.data = static_cast<char *>(table.data) +
                row * table.stride[0] * byteSize(table.dtype);
  result.rank = 1;
  result.shape[0] = table.shape[1];
  result.stride[0] = table.stride[1];
  return result;
}

/// The page list of a request: entries [begin, begin + count) of `pages`.
struct PageList {
  Tensor pages;
  int64_t begin, count;
};

static llvm::Expected<PageList> pagesOf(const Arguments &arguments,
                                        int64_t request) {
  int64_t row = request;
  if (Tensor rows = arguments.tensor("table_rows"); rows.given()) {
    row = intAt(rows, request);
    Tensor table = arguments.tensor("table");
    int64_t limit = table.given() ? table.shape[0]
                                  : arguments.tensor("kv_indptr").shape[0] - 1;
    if (row < 0 || row >= limit)
      return invalid(ofArgument("table_rows"),
                     "requires rows in [0, {0}), but entry {1} is {2}", limit,
                     request, row);
  }
  if (Tensor table = arguments.tensor("table"); table.given())
    return PageList{rowOf(table, row), 0, table.shape[1]};
  Tensor indptr = arguments.tensor("kv_indptr"),
         indices = arguments.tensor("kv_indices");
  int64_t begin = intAt(indptr, row), end = intAt(indptr, row + 1);
  if (begin < 0 || end < begin || end > indices.shape[0])
    return invalid(ofArgument("kv_indptr"),
                   "requires rising offsets within the {0} entries of "
                   "kv_indices, but row {1} is [{2}, {3})",
                   indices.shape[0], row, begin, end);
  return PageList{indices, begin, end - begin};
}

llvm::Error Arguments::checkContents() const {
  // What a mask sees is asked of MLIR, which is not for the caller's thread.
  return mlir::mla::runContained("check",
                                 [this] { return checkContentsHere(); });
}

llvm::Error Arguments::checkContentsHere() const {
  Tensor lengths = tensor("seq_lens"), offsets = tensor("q_offsets"),
         q = tensor("q"), k = tensor("k");
  bool paged = tensor("table").given() || tensor("kv_indptr").given();
  auto range = MaskRange::create(info->mask);
  if (!range)
    return range.takeError();
  std::vector<int32_t> parameters;
  for (const std::string &name : range->parameterNames())
    parameters.push_back(static_cast<int32_t>(scalar(name, 0)));

  for (int64_t b = 0; b < batch(); ++b) {
    int64_t length = intAt(lengths, b);
    if (length < 0)
      return invalid(ofArgument("seq_lens"),
                     "requires lengths of at least 0, but entry {0} is {1}", b,
                     length);
    int64_t queries = q.rank == 4 ? q.shape[1] : 0;
    if (offsets.given()) {
      int64_t begin = intAt(offsets, b), end = intAt(offsets, b + 1);
      if (begin < 0 || end < begin || end > q.shape[0])
        return invalid(ofArgument("q_offsets"),
                       "requires rising offsets within the {0} queries of q, "
                       "but entries {1} and {2} are {3} and {4}",
                       q.shape[0], b, b + 1, begin, end);
      queries = end - begin;
    }
    if (!paged) {
      if (length > k.shape[1])
        return invalid(ofArgument("seq_lens"),
                       "requires lengths of at most {0} (the keys of k), but "
                       "entry {1} is {2}",
                       k.shape[1], b, length);
      continue;
    }
    // Requests without queries or keys read no table.
    if (length == 0 || queries == 0)
      continue;
    auto pages = pagesOf(*this, b);
    if (!pages)
      return pages.takeError();
    int64_t pageSize = k.shape[1];
    if (length > pages->count * pageSize)
      return invalid(ofArgument("seq_lens"),
                     "requires lengths of at most {0} ({1} pages of {2} keys), "
                     "but entry {3} is {4}",
                     pages->count * pageSize, pages->count, pageSize, b,
                     length);
    auto [begin, end] =
        range->visible(length - queries, length - 1, length, parameters);
    for (int64_t page = begin / pageSize; page * pageSize < end; ++page) {
      int64_t entry = intAt(pages->pages, pages->begin + page);
      if (entry < 0 || entry >= k.shape[0])
        return invalid(
            ofArgument(tensor("table").given() ? "table" : "kv_indices"),
            "requires pages in [0, {0}), but page {1} of request {2} is {3}",
            k.shape[0], page, b, entry);
    }
  }
  return llvm::Error::success();
}

} // namespace mla_jit
