//===- EncodedMap.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EncodedMap.h"
#include "Engine.h"
#include "llvm/Support/MathExtras.h"

namespace mla_jit {

static cuda::ElementType elementTypeOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return cuda::ElementType::BF16;
  case DType::F16:
    return cuda::ElementType::F16;
  case DType::F32:
    return cuda::ElementType::F32;
  case DType::I32:
    return cuda::ElementType::I32;
  case DType::I64:
  case DType::None:
    return cuda::ElementType::I64;
  }
  return cuda::ElementType::I64;
}

static cuda::Swizzle swizzleOf(int64_t bytes) {
  switch (bytes) {
  case 32:
    return cuda::Swizzle::B32;
  case 64:
    return cuda::Swizzle::B64;
  case 128:
    return cuda::Swizzle::B128;
  default:
    return cuda::Swizzle::None;
  }
}

/// What TMA asks strides to be multiples of.
static constexpr int64_t kStrideBytes = 16;

namespace {
/// Adds the dimensions of a map, innermost first.
class MapBuilder {
public:
  explicit MapBuilder(cuda::TensorMapSpec &spec) : spec(spec) {}

  /// `stride` in bytes; of dimension 0 it is not asked for.
  void add(int64_t size, int64_t stride, int64_t box) {
    if (spec.rank == cuda::TensorMapSpec::kMaxRank) {
      full = true;
      return;
    }
    spec.dims[spec.rank] = size;
    spec.box[spec.rank] = static_cast<uint32_t>(box);
    if (spec.rank)
      spec.strides[spec.rank - 1] = stride;
    ++spec.rank;
  }
  bool overflowed() const { return full; }

private:
  cuda::TensorMapSpec &spec;
  bool full = false;
};
} // namespace

/// A tensor of the same shape with at least one element, contiguous, at an
/// address that nothing reads.
static Tensor nonEmpty(Tensor tensor) {
  constexpr uintptr_t kNowhere = 256;
  tensor.data = reinterpret_cast<void *>(kNowhere);
  int64_t stride = 1;
  for (int dim = tensor.rank - 1; dim >= 0; --dim) {
    tensor.shape[dim] = std::max<int64_t>(tensor.shape[dim], 1);
    tensor.stride[dim] = stride;
    stride *= tensor.shape[dim];
  }
  return tensor;
}

llvm::Expected<cuda::TensorMapSpec>
makeTensorMapSpec(const KernelInfo::TensorMap &map, const Tensor &given,
                  const std::string &name) {
  Tensor tensor = given.data && given.numElements() ? given : nonEmpty(given);
  auto bytes = static_cast<int64_t>(byteSize(tensor.dtype));
  cuda::TensorMapSpec spec;
  spec.type = elementTypeOf(tensor.dtype);
  spec.base = reinterpret_cast<uintptr_t>(tensor.data);
  spec.swizzle = swizzleOf(map.swizzle);

  int columnDim = map.dims[map.rank - 1], rowDim = map.dims[map.rank - 2];
  int64_t columns = tensor.shape[columnDim];
  auto refuse = [&](const llvm::Twine &text) {
    return unsupported(ofArgument(name), "is read by TMA, which {0}; {1}", text,
                       kUnalignedKernel);
  };
  if (columns > 1 && tensor.stride[columnDim] != 1)
    return refuse("requires contiguous columns, but they have stride " +
                  llvm::Twine(tensor.stride[columnDim]));
  for (int i = 0; i + 1 < map.rank; ++i) {
    int dim = map.dims[i];
    if (tensor.shape[dim] > 1 && tensor.stride[dim] * bytes % kStrideBytes)
      return refuse(
          "requires strides of multiples of 16 bytes, but dimension " +
          llvm::Twine(dim) + " of " + given.describe() + " has a stride of " +
          llvm::Twine(tensor.stride[dim] * bytes));
  }
  // Where a dimension has one element its stride may be anything; TMA looks at
  // it all the same.
  auto strideOf = [&](int dim) {
    int64_t aligned = llvm::alignTo(columns * bytes, kStrideBytes);
    return tensor.shape[dim] == 1 ? aligned : tensor.stride[dim] * bytes;
  };

  MapBuilder builder(spec);
  int64_t tileColumns = map.swizzle / bytes;
  bool tiled = map.swizzle && map.boxColumns > tileColumns;
  if (tiled && (columns % tileColumns || map.boxColumns % tileColumns))
    return refuse("requires columns in tiles of " + llvm::Twine(tileColumns) +
                  ", but there are " + llvm::Twine(columns));
  builder.add(tiled ? tileColumns : columns, 0,
              tiled ? tileColumns : map.boxColumns);
  builder.add(tensor.shape[rowDim], strideOf(rowDim), map.boxRows);
  if (tiled)
    builder.add(columns / tileColumns, map.swizzle,
                map.boxColumns / tileColumns);
  for (int i = map.rank - 3; i >= 0; --i)
    builder.add(tensor.shape[map.dims[i]], strideOf(map.dims[i]), 1);
  if (builder.overflowed())
    return refuse("requires at most 5 dimensions, but the tensor map has 6");
  if (llvm::Error error = cuda::checkTensorMap(spec))
    return refuse("refuses " + given.describe() + ": " +
                  llvm::toString(std::move(error)));
  return spec;
}

/// Whether only the address may differ, and memory is there in both.
bool EncodedMap::isOfShape(const Tensor &tensor) const {
  return isKnown && tensor.data && of.data && tensor.shape == of.shape &&
         tensor.stride == of.stride;
}

llvm::Error EncodedMap::update(const KernelInfo::TensorMap &recipe,
                               const Tensor &tensor, const std::string &name,
                               const cuda::ContextScope &scope,
                               const cuda::Context &context) {
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  bool isSame = isOfShape(tensor);
  if (isSame && tensor.data == of.data)
    return llvm::Error::success();
  isKnown = false;
  // Of what was checked, an address can break one rule.
  if (isSame && spec.base == reinterpret_cast<uintptr_t>(of.data) &&
      address % cuda::TensorMapSpec::kBaseAlignment == 0) {
    spec.base = address;
  } else {
    auto made = makeTensorMapSpec(recipe, tensor, name);
    if (!made)
      return made.takeError();
    spec = *made;
  }
  auto map = cuda::encodeCheckedTensorMap(scope, context, spec);
  if (!map)
    return map.takeError();
  encoded = *map;
  of = tensor;
  isKnown = true;
  return llvm::Error::success();
}

} // namespace mla_jit
