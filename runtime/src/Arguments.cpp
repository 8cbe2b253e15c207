//===- Arguments.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The values of a launch, and what can be checked of them.
//
//===----------------------------------------------------------------------===//

#include "ArgumentRules.h"
#include "MaskRange.h"
#include "mla/Target/Contained.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

template <typename... Ts>
static llvm::Error invalid(const char *format, Ts &&...values) {
  return createStringError(formatv(format, std::forward<Ts>(values)...));
}

int KernelInfo::find(std::string_view name) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == name)
      return static_cast<int>(i);
  return -1;
}

bool KernelInfo::isStarted(size_t entry, bool paired) const {
  auto hasClusters = [&](size_t index) {
    return index < entries.size() && entries[index].launch.cluster > 1;
  };
  if (hasClusters(entry))
    return paired;
  return !(paired && hasClusters(entry + 1));
}

Arguments::Arguments(std::shared_ptr<const KernelInfo> info)
    : Arguments(std::make_shared<const ArgumentRules>(std::move(info))) {}

Arguments::Arguments(std::shared_ptr<const ArgumentRules> given)
    : rules(std::move(given)), info(rules->info.get()),
      values(info->arguments.size()) {
  // What they are unless set: automatic, not early, base e, -inf.
  setIfThere(rules->numSplits, 0);
  setIfThere(rules->pdlTrigger, 0);
  setLSEForm(1, -std::numeric_limits<double>::infinity());
}

const std::shared_ptr<const KernelInfo> &Arguments::kernelInfo() const {
  return rules->info;
}

void Arguments::setIfThere(int index, double scalar) {
  if (index >= 0 && !info->arguments[index].isTensor)
    llvm::consumeError(setAt(index, scalar));
}

void Arguments::setLSEForm(double scale, double ofEmpty) {
  setIfThere(rules->lseScale, scale);
  setIfThere(rules->lseEmpty, ofEmpty);
}

llvm::Error Arguments::set(std::string_view name, const Tensor &tensor) {
  int index = info->find(name);
  return index < 0 ? invalid("the kernel takes no argument '{0}'", name)
                   : setAt(index, tensor);
}

/// Checks what is compiled in of a tensor.
static llvm::Error checkTensor(const ArgumentInfo &want, const Tensor &tensor) {
  std::string_view name = want.name;
  if (!want.isTensor)
    return invalid("argument '{0}' requires a scalar, but got a tensor {1}",
                   name, tensor.describe());
  if (tensor.dtype != want.dtype)
    return invalid("argument '{0}' requires element type {1}, but got {2}",
                   name, toString(want.dtype), tensor.describe());
  if (tensor.rank != want.rank)
    return invalid("argument '{0}' requires rank {1}, but got {2}", name,
                   want.rank, tensor.describe());
  for (int i = 0; i < want.rank; ++i) {
    if (tensor.shape[i] < 0 ||
        (want.shape[i] >= 0 && tensor.shape[i] != want.shape[i]))
      return invalid(
          "argument '{0}' requires dimension {1} to be {2}, but got {3}", name,
          i, want.shape[i] >= 0 ? std::to_string(want.shape[i]) : "at least 0",
          tensor.describe());
    if (want.stride[i] >= 0 && tensor.shape[i] > 1 &&
        tensor.stride[i] != want.stride[i])
      return invalid("argument '{0}' requires dimension {1} to have stride "
                     "{2}, but got {3} of {4}",
                     name, i, want.stride[i], tensor.stride[i],
                     tensor.describe());
  }
  if (!tensor.data && tensor.numElements() && name != "lse")
    return invalid(
        "argument '{0}' requires memory for {1}, but got a null pointer", name,
        tensor.describe());
  // Nearly all are aligned for any type.
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % sizeof(int64_t) && address % byteSize(tensor.dtype))
    return invalid("argument '{0}' requires memory aligned to its elements of "
                   "{1} bytes, but got "
                   "{2}",
                   name, byteSize(tensor.dtype), tensor.data);
  return llvm::Error::success();
}

llvm::Error Arguments::setAt(int index, const Tensor &tensor) {
  if (llvm::Error error = checkTensor(info->arguments[index], tensor))
    return error;
  values[index].tensor = tensor;
  values[index].set = true;
  return llvm::Error::success();
}

llvm::Error Arguments::setAt(int index) {
  if (llvm::Error error =
          checkTensor(info->arguments[index], values[index].tensor))
    return error;
  values[index].set = true;
  return llvm::Error::success();
}

llvm::Error Arguments::set(std::string_view name, double scalar) {
  int index = info->find(name);
  return index < 0 ? invalid("the kernel takes no argument '{0}'", name)
                   : setAt(index, scalar);
}

llvm::Error Arguments::setAt(int index, double scalar) {
  const ArgumentInfo &want = info->arguments[index];
  std::string_view name = want.name;
  if (want.isTensor)
    return invalid("argument '{0}' requires a tensor, but got the scalar {1}",
                   name, scalar);
  Value &value = values[index];
  bool integral = scalar == std::floor(scalar);
  switch (want.dtype) {
  case DType::F32:
    value.f32 = static_cast<float>(scalar);
    break;
  case DType::I32:
    if (!integral || scalar < INT32_MIN || scalar > INT32_MAX)
      return invalid("argument '{0}' requires a 32-bit integer, but got {1}",
                     name, scalar);
    value.i32 = static_cast<int32_t>(scalar);
    break;
  case DType::I64:
    if (!integral || std::abs(scalar) > 9007199254740992.0)
      return invalid(
          "argument '{0}' requires an integer of at most 2^53, but got {1}",
          name, scalar);
    value.i64 = static_cast<int64_t>(scalar);
    break;
  default:
    return invalid("argument '{0}' has a type that cannot be set: {1}", name,
                   toString(want.dtype));
  }
  value.set = true;
  return llvm::Error::success();
}

bool Arguments::letsDependentsBegin() const {
  return rules->pdlTrigger >= 0 && values[rules->pdlTrigger].i32;
}

const Tensor &Arguments::tensorAt(int index) const {
  static const Tensor none;
  return index < 0 ? none : values[index].tensor;
}

Tensor Arguments::tensor(std::string_view name) const {
  return tensorAt(info->find(name));
}

double Arguments::scalar(std::string_view name, double fallback) const {
  int index = info->find(name);
  if (index < 0 || !values[index].set)
    return fallback;
  switch (info->arguments[index].dtype) {
  case DType::F32:
    return values[index].f32;
  case DType::I32:
    return values[index].i32;
  case DType::I64:
    return static_cast<double>(values[index].i64);
  default:
    return fallback;
  }
}

int64_t Arguments::batch() const { return tensorAt(rules->seqLens).shape[0]; }

int64_t Arguments::givenSplits() const {
  int index = rules->numSplits;
  return index < 0 ? 0 : values[index].i32;
}

int64_t Arguments::totalQueries() const {
  const Tensor &q = tensorAt(rules->q);
  return q.rank == 3 ? q.shape[0] : q.shape[0] * q.shape[1];
}

int64_t Arguments::queriesEach() const {
  const Tensor &q = tensorAt(rules->q);
  return q.rank == 3 ? 0 : q.shape[1];
}

bool Arguments::isEmpty() const {
  return (info->isMerge ? tensorAt(rules->out).shape[0] : batch()) == 0;
}

int64_t Arguments::maxItems() const {
  const Tensor &q = tensorAt(rules->q);
  int64_t unit = info->blockM * info->rowBlocks; // rows of neighbouring blocks
  // Uniform: the same units for each request. Ragged: as many as the rows fill,
  // and a broken one for each request.
  int64_t units = q.rank == 4
                      ? batch() * ((q.shape[1] * info->group + unit - 1) / unit)
                      : q.shape[0] * info->group / unit + batch();
  return units * info->rowBlocks * info->kvHeads;
}

bool Arguments::hasPairs(int64_t workers) const {
  if (tensorAt(rules->q).rank != 4 || givenSplits() > 0 || workers % 2)
    return false;
  int64_t items = maxItems();
  return items > 0 && workers / items == 2;
}

llvm::Error Arguments::check() const {
  for (size_t i = 0; i < values.size(); ++i) {
    const ArgumentInfo &argument = info->arguments[i];
    if (!values[i].set)
      return invalid("argument '{0}' ({1}) is missing", argument.name,
                     argument.isTensor ? "a tensor" : "a scalar");
  }
  for (const ArgumentRules::SameSize &rule : rules->sameSizes) {
    const Tensor &tensor = values[rule.argument].tensor;
    int64_t want = values[rule.ofArgument].tensor.shape[rule.ofDim] + rule.more;
    if (tensor.shape[rule.dim] != want)
      return invalid(
          "argument '{0}' requires dimension {1} to be {2} ({3}), but got {4}",
          info->arguments[rule.argument].name, rule.dim, want, rule.why,
          tensor.describe());
  }
  if (givenSplits() < 0)
    return invalid(
        "argument 'num_splits' requires a number of at least 0, but got {0}",
        givenSplits());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

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
      return invalid("argument 'table_rows' requires rows in [0, {0}), but "
                     "entry {1} is {2}",
                     limit, request, row);
  }
  if (Tensor table = arguments.tensor("table"); table.given())
    return PageList{rowOf(table, row), 0, table.shape[1]};
  Tensor indptr = arguments.tensor("kv_indptr"),
         indices = arguments.tensor("kv_indices");
  int64_t begin = intAt(indptr, row), end = intAt(indptr, row + 1);
  if (begin < 0 || end < begin || end > indices.shape[0])
    return invalid("argument 'kv_indptr' requires rising offsets within the "
                   "{0} entries of "
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
      return invalid("argument 'seq_lens' requires lengths of at least 0, but "
                     "entry {0} is {1}",
                     b, length);
    int64_t queries = q.rank == 4 ? q.shape[1] : 0;
    if (offsets.given()) {
      int64_t begin = intAt(offsets, b), end = intAt(offsets, b + 1);
      if (begin < 0 || end < begin || end > q.shape[0])
        return invalid("argument 'q_offsets' requires rising offsets within "
                       "the {0} queries of q, "
                       "but entries {1} and {2} are {3} and {4}",
                       q.shape[0], b, b + 1, begin, end);
      queries = end - begin;
    }
    if (!paged) {
      if (length > k.shape[1])
        return invalid("argument 'seq_lens' requires lengths of at most {0} "
                       "(the keys of k), but "
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
      return invalid("argument 'seq_lens' requires lengths of at most {0} ({1} "
                     "pages of {2} keys), "
                     "but entry {3} is {4}",
                     pages->count * pageSize, pages->count, pageSize, b,
                     length);
    auto [begin, end] =
        range->visible(length - queries, length - 1, length, parameters);
    for (int64_t page = begin / pageSize; page * pageSize < end; ++page) {
      int64_t entry = intAt(pages->pages, pages->begin + page);
      if (entry < 0 || entry >= k.shape[0])
        return invalid("argument '{0}' requires pages in [0, {1}), but page "
                       "{2} of request {3} is "
                       "{4}",
                       tensor("table").given() ? "table" : "kv_indices",
                       k.shape[0], page, b, entry);
    }
  }
  return llvm::Error::success();
}

} // namespace mla_jit
