//===- TensorMap.cpp - TMA descriptors ------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMap.h"

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);

unsigned mla_jit::cuda::byteSize(ElementType type) {
  switch (type) {
  case ElementType::U8:
    return 1;
  case ElementType::U16:
  case ElementType::F16:
  case ElementType::BF16:
    return 2;
  case ElementType::U32:
  case ElementType::I32:
  case ElementType::F32:
    return 4;
  case ElementType::U64:
  case ElementType::I64:
  case ElementType::F64:
    return 8;
  }
  return 0;
}

/// Widest inner box side, in bytes; 0 if any.
static uint64_t swizzleBytes(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 0;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  case Swizzle::B128:
    return 128;
  }
  return 0;
}

// The rules are those of cuTensorMapEncodeTiled in the driver API's manual.
Error mla_jit::cuda::checkTensorMap(const TensorMapSpec &spec) {
  auto bad = [](const Twine &required, const Twine &given) {
    return refuse(ErrorKind::Invalid, "a tensor map", required, given);
  };
  unsigned elementBytes = byteSize(spec.type);
  if (!elementBytes)
    return bad("a known element type",
               "number " + Twine(static_cast<int>(spec.type)));
  if (spec.rank < 1 || spec.rank > TensorMapSpec::kMaxRank)
    return bad("rank 1 to 5", "rank " + Twine(spec.rank));
  if (!spec.base || spec.base % TensorMapSpec::kBaseAlignment)
    return bad("a base address that is a multiple of 16",
               "0x" + llvm::Twine::utohexstr(spec.base));
  for (unsigned i = 0; i < spec.rank; ++i)
    if (spec.dims[i] < 1 || spec.dims[i] > uint64_t(1) << 32)
      return bad("1 to 2^32 elements in dimension " + Twine(i),
                 Twine(spec.dims[i]));
  for (unsigned i = 1; i < spec.rank; ++i) {
    uint64_t stride = spec.strides[i - 1];
    if (stride % 16)
      return bad("a stride of dimension " + Twine(i) +
                     " that is a multiple of 16 bytes",
                 Twine(stride));
    if (stride >= uint64_t(1) << 40)
      return bad("a stride of dimension " + Twine(i) + " below 2^40 bytes",
                 Twine(stride));
  }
  for (unsigned i = 0; i < spec.rank; ++i)
    if (spec.box[i] < 1 || spec.box[i] > 256)
      return bad("1 to 256 elements in dimension " + Twine(i) + " of the box",
                 Twine(spec.box[i]));
  uint64_t inner = uint64_t(spec.box[0]) * elementBytes;
  if (inner % 16)
    return bad("an inner box side that is a multiple of 16 bytes",
               Twine(inner));
  uint64_t widest = swizzleBytes(spec.swizzle);
  if (widest && inner > widest)
    return bad("an inner box side of at most " + Twine(widest) +
                   " bytes with a swizzle of " + Twine(widest) + " bytes",
               Twine(inner));
  return Error::success();
}

Expected<TensorMap> mla_jit::cuda::encodeTensorMap(const Context &context,
                                                   const TensorMapSpec &spec) {
  if (Error error = checkTensorMap(spec))
    return std::move(error);
  // The driver asks for a current context, though its manual does not.
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  return encodeCheckedTensorMap(*scope, context, spec);
}

Expected<TensorMap> mla_jit::cuda::encodeCheckedTensorMap(
    const ContextScope &, const Context &context, const TensorMapSpec &spec) {
  const Driver &driver = context.driver();
  TensorMap map;
  const std::array<uint32_t, TensorMapSpec::kMaxRank> ones = {1, 1, 1, 1, 1};
  if (Error error = driver.check(
          driver.call().tensorMapEncodeTiled(
              &map, spec.type, spec.rank, reinterpret_cast<void *>(spec.base),
              spec.dims.data(), spec.strides.data(), spec.box.data(),
              ones.data(), Interleave::None, spec.swizzle, L2Promotion::None,
              OutOfBoundsFill::Zero),
          "cuTensorMapEncodeTiled",
          "rank " + Twine(spec.rank) + " at 0x" +
              llvm::Twine::utohexstr(spec.base)))
    return std::move(error);
  return map;
}
