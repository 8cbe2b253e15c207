//===- Arguments.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The values of a launch, and what can be checked of them without reading
// tensors.
//
//===----------------------------------------------------------------------===//

#include "ArgumentRules.h"
#include "Failure.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using llvm::formatv;

namespace mla_jit {

static llvm::Error takesNone(std::string_view name) {
  return toError(
      {.message = formatv("the kernel takes no argument '{0}'", name),
       .argument = std::string(name)});
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

int64_t KernelInfo::uniformItems(int64_t batch, int64_t queriesEach) const {
  int64_t unit = blockM * rowBlocks; // rows of neighbouring blocks
  return batch * ((queriesEach * group + unit - 1) / unit) * rowBlocks *
         kvHeads;
}

bool KernelInfo::hasPairs(int64_t batch, int64_t queriesEach,
                          int64_t workers) const {
  int64_t items = uniformItems(batch, queriesEach);
  return workers % 2 == 0 && items > 0 && workers / items == 2;
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
  return index < 0 ? takesNone(name) : setAt(index, tensor);
}

/// Whether the bytes between any two elements are a 64-bit number.
static bool isAddressable(const Tensor &tensor) {
  double reach = 0;
  for (int i = 0; i < tensor.rank; ++i)
    reach += std::abs((static_cast<double>(tensor.shape[i]) - 1) *
                      static_cast<double>(tensor.stride[i]));
  return reach * static_cast<double>(byteSize(tensor.dtype)) < 0x1p62;
}

static bool hasElements(const Tensor &tensor) {
  return !llvm::is_contained(
      llvm::ArrayRef(tensor.shape).take_front(tensor.rank), 0);
}

/// Checks what is compiled in of a tensor, and that it can be at all.
static llvm::Error checkTensor(const ArgumentInfo &want, const Tensor &tensor) {
  std::string_view name = want.name;
  if (!want.isTensor)
    return invalid(ofArgument(name), "requires a scalar, but got a tensor {0}",
                   tensor.describe());
  if (tensor.dtype != want.dtype)
    return invalid(ofArgument(name), "requires element type {0}, but got {1}",
                   toString(want.dtype), tensor.describe());
  if (tensor.rank != want.rank)
    return invalid(ofArgument(name), "requires rank {0}, but got {1}",
                   want.rank, tensor.describe());
  uint64_t numbers = 0;
  for (int i = 0; i < want.rank; ++i) {
    int64_t stride = tensor.stride[i];
    numbers |= tensor.shape[i] | (stride ^ stride >> 63);
    if (tensor.shape[i] < 0 ||
        (want.shape[i] >= 0 && tensor.shape[i] != want.shape[i]))
      return invalid(
          ofArgument(name), "requires dimension {0} to be {1}, but got {2}", i,
          want.shape[i] >= 0 ? std::to_string(want.shape[i]) : "at least 0",
          tensor.describe());
    if (want.stride[i] >= 0 && tensor.shape[i] > 1 && stride != want.stride[i])
      return invalid(
          ofArgument(name),
          "requires dimension {0} to have stride {1}, but got {2} of {3}", i,
          want.stride[i], stride, tensor.describe());
  }
  // Nearly all are so small that four products of two are.
  if (numbers >> 28 && !isAddressable(tensor))
    return invalid(ofArgument(name),
                   "requires elements less than 2^62 bytes apart, but got {0} "
                   "of strides [{1:$[, ]}]",
                   tensor.describe(),
                   llvm::make_range(tensor.stride.begin(),
                                    tensor.stride.begin() + tensor.rank));
  if (!tensor.data && name != "lse" && hasElements(tensor))
    return invalid(ofArgument(name),
                   "requires memory for {0}, but got a null pointer",
                   tensor.describe());
  // Nearly all are aligned for any type.
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % sizeof(int64_t) && address % byteSize(tensor.dtype))
    return invalid(
        ofArgument(name),
        "requires memory aligned to its elements of {0} bytes, but got {1}",
        byteSize(tensor.dtype), tensor.data);
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
  return index < 0 ? takesNone(name) : setAt(index, scalar);
}

llvm::Error Arguments::setAt(int index, double scalar) {
  const ArgumentInfo &want = info->arguments[index];
  std::string_view name = want.name;
  if (want.isTensor)
    return invalid(ofArgument(name),
                   "requires a tensor, but got the scalar {0}", scalar);
  Value &value = values[index];
  bool integral = scalar == std::floor(scalar);
  switch (want.dtype) {
  case DType::F32:
    value.f32 = static_cast<float>(scalar);
    break;
  case DType::I32:
    if (!integral || scalar < INT32_MIN || scalar > INT32_MAX)
      return invalid(ofArgument(name), "requires a 32-bit integer, but got {0}",
                     scalar);
    value.i32 = static_cast<int32_t>(scalar);
    break;
  case DType::I64:
    if (!integral || std::abs(scalar) > 9007199254740992.0)
      return invalid(ofArgument(name),
                     "requires an integer of at most 2^53, but got {0}",
                     scalar);
    value.i64 = static_cast<int64_t>(scalar);
    break;
  default:
    return invalid(ofArgument(name), "has a type that cannot be set: {0}",
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
  if (q.rank == 4)
    return info->uniformItems(batch(), q.shape[1]);
  // As many units as the rows fill, and a broken one for each request.
  int64_t unit = info->blockM * info->rowBlocks;
  int64_t units = q.shape[0] * info->group / unit + batch();
  return units * info->rowBlocks * info->kvHeads;
}

bool Arguments::hasPairs(int64_t workers) const {
  const Tensor &q = tensorAt(rules->q);
  return q.rank == 4 && givenSplits() <= 0 &&
         info->hasPairs(batch(), q.shape[1], workers);
}

llvm::Error Arguments::check() const {
  for (size_t i = 0; i < values.size(); ++i) {
    const ArgumentInfo &argument = info->arguments[i];
    if (!values[i].set)
      return invalid(ofArgument(argument.name), "({0}) is missing",
                     argument.isTensor ? "a tensor" : "a scalar");
  }
  for (const ArgumentRules::SameSize &rule : rules->sameSizes) {
    const Tensor &tensor = values[rule.argument].tensor;
    int64_t want = values[rule.ofArgument].tensor.shape[rule.ofDim] + rule.more;
    if (tensor.shape[rule.dim] != want)
      return invalid(ofArgument(info->arguments[rule.argument].name),
                     "requires dimension {0} to be {1} ({2}), but got {3}",
                     rule.dim, want, rule.why, tensor.describe());
  }
  if (givenSplits() < 0)
    return invalid(ofArgument("num_splits"),
                   "requires a number of at least 0, but got {0}",
                   givenSplits());
  return llvm::Error::success();
}

} // namespace mla_jit
