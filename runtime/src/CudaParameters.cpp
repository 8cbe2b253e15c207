//===- CudaParameters.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaParameters.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <optional>

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

size_t parameterBytes(const KernelInfo &info, const KernelInfo::Param &param) {
  switch (param.kind) {
  case KernelInfo::ParamKind::TensorMap:
    return sizeof(cuda::TensorMap);
  case KernelInfo::ParamKind::Scalar:
    return param.source == KernelInfo::Source::Argument
               ? byteSize(info.arguments[param.index].dtype)
               : sizeof(int64_t);
  case KernelInfo::ParamKind::Pointer:
  case KernelInfo::ParamKind::Offset:
  case KernelInfo::ParamKind::Size:
  case KernelInfo::ParamKind::Stride:
    return sizeof(int64_t);
  }
  return 0;
}

/// Checks that a tensor lies as the kernel was promised.
static llvm::Error checkAlignment(const ArgumentInfo &argument,
                                  const Tensor &tensor) {
  if (argument.alignment == 1 || !tensor.data || !tensor.numElements())
    return llvm::Error::success();
  auto refuse = [&](const std::string &given) {
    return unsupported(
        ofArgument(argument.name),
        "requires memory and strides at multiples of {0} bytes, but {1}; {2}",
        argument.alignment, given, kUnalignedKernel);
  };
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % argument.alignment)
    return refuse(formatv("{0} begins at {1:x}", tensor.describe(), address));
  for (int dim = 0; dim + 1 < tensor.rank; ++dim) {
    auto stride =
        tensor.stride[dim] * static_cast<int64_t>(byteSize(tensor.dtype));
    if (tensor.shape[dim] > 1 && stride % argument.alignment)
      return refuse(formatv("dimension {0} of {1} has a stride of {2}", dim,
                            tensor.describe(), stride));
  }
  return llvm::Error::success();
}

llvm::Error checkCudaParameters(const KernelInfo &info) {
  for (const KernelInfo::Entry &entry : info.entries) {
    size_t maps = 0;
    for (const KernelInfo::Param &param : entry.params) {
      if (param.source == KernelInfo::Source::Worker)
        return createStringError("entry '" + entry.symbol +
                                 "' of a GPU requires the worker's number not "
                                 "to be a parameter, but has it");
      bool isMap = param.kind == KernelInfo::ParamKind::TensorMap;
      maps += isMap;
      if (isMap && param.source == KernelInfo::Source::Argument &&
          info.arguments[param.index].rank < param.map.rank)
        return createStringError("the tensor map of '" +
                                 info.arguments[param.index].name +
                                 "' has more dimensions than the tensor");
    }
    if (maps > CudaParameters::kMaxMaps)
      return createStringError(
          formatv("entry '{0}' has {1} tensor maps, over the limit of {2}",
                  entry.symbol, maps, CudaParameters::kMaxMaps));
    if (entry.launch.threads <= 0 || entry.launch.ctasPerWorker <= 0)
      return createStringError("entry '" + entry.symbol +
                               "' of a GPU requires a launch, but has none");
  }
  // Entries that a launch starts instead of another.
  size_t first = info.hasPlanEntry ? 1 : 0;
  for (size_t e = 0; e < info.entries.size(); ++e)
    if (info.entries[e].launch.cluster > 1 &&
        (e <= first || info.entries[e - 1].launch.cluster > 1))
      return createStringError("entry '" + info.entries[e].symbol +
                               "' with clusters requires one without before "
                               "it, but has none");
  return llvm::Error::success();
}

ParameterRecipe::ParameterRecipe(const KernelInfo &info,
                                 const KernelInfo::Entry &entry) {
  for (const KernelInfo::Param &param : entry.params) {
    if (param.kind == KernelInfo::ParamKind::TensorMap)
      mapParams.push_back(&param);
    else if (param.kind == KernelInfo::ParamKind::Pointer &&
             param.source == KernelInfo::Source::Argument &&
             info.arguments[param.index].alignment > 1)
      promised.push_back(&param);
  }
  // Maps first, as they are aligned to more than words.
  size_t map = 0, word = mapParams.size() * sizeof(cuda::TensorMap);
  for (const KernelInfo::Param &param : entry.params) {
    bool isMap = param.kind == KernelInfo::ParamKind::TensorMap;
    size_t &next = isMap ? map : word;
    offsets.push_back(static_cast<uint32_t>(next));
    next += isMap ? sizeof(cuda::TensorMap) : sizeof(int64_t);
    if (!isMap)
      words.push_back(LaunchValues::placeOf(param));
  }
  numBytes = word;
}

llvm::Error
ParameterRecipe::fill(CudaParameters &parameters, const LaunchValues &values,
                      int64_t numCTAs, const cuda::ContextScope &scope,
                      const cuda::Context &context,
                      llvm::MutableArrayRef<EncodedMap> last) const {
  for (const KernelInfo::Param *param : promised)
    if (llvm::Error error =
            checkAlignment(values.argument(*param), values.tensor(*param)))
      return error;
  char *to = parameters.storage.data();
  for (auto [i, param] : llvm::enumerate(mapParams)) {
    std::optional<EncodedMap> once;
    EncodedMap &map = last.empty() ? once.emplace() : last[i];
    if (llvm::Error error = map.update(param->map, values.tensor(*param),
                                       values.name(*param), scope, context))
      return error;
    std::memcpy(to + i * sizeof(cuda::TensorMap), &map.map(),
                sizeof(cuda::TensorMap));
  }
  char *word = to + mapParams.size() * sizeof(cuda::TensorMap);
  LaunchValues::Words from(values, numCTAs);
  for (ParameterPlace place : words) {
    int64_t value = from[place];
    std::memcpy(word, &value, sizeof(value));
    word += sizeof(value);
  }
  for (size_t i = 0; i < offsets.size(); ++i)
    parameters.addresses[i] = to + offsets[i];
  parameters.count = offsets.size();
  parameters.numBytes = numBytes;
  return llvm::Error::success();
}

} // namespace mla_jit
