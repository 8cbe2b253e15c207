//===- KernelDescription.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDescription.h"
#include "Failure.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::createStringError;

namespace mla_jit {

template <typename T> static std::string textOf(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static DType dtypeOf(Type type) { return parseDType(textOf(type)); }

static llvm::Expected<ArgumentInfo>
describeArgument(mla::ArgumentAttr argument) {
  ArgumentInfo info;
  info.name = argument.getName().str();
  auto memref = dyn_cast<MemRefType>(argument.getType());
  info.isTensor = static_cast<bool>(memref);
  info.dtype = dtypeOf(memref ? memref.getElementType() : argument.getType());
  info.alignment = argument.getAlignment();
  if (argument.getType().isIndex())
    info.dtype = DType::I64;
  if (info.dtype == DType::None)
    return invalid(ofArgument(info.name),
                   "of type {0} cannot be passed at launch",
                   textOf(argument.getType()));
  if (!memref)
    return info;
  if (memref.getRank() > Tensor::kMaxRank)
    return invalid(ofArgument(info.name), "has rank {0}, over the limit of 4",
                   memref.getRank());
  info.rank = memref.getRank();
  auto [strides, offset] = memref.getStridesAndOffset();
  if (offset != 0 && !ShapedType::isDynamic(offset))
    return invalid(ofArgument(info.name), "requires offset 0, but has {0}",
                   offset);
  auto orDynamic = [](int64_t v) { return ShapedType::isDynamic(v) ? -1 : v; };
  for (int i = 0; i < info.rank; ++i) {
    info.shape[i] = orDynamic(memref.getDimSize(i));
    info.stride[i] = orDynamic(strides[i]);
  }
  return info;
}

static KernelInfo::Buffer describeBuffer(mla::BufferAttr buffer) {
  KernelInfo::Buffer info;
  auto type = cast<MemRefType>(buffer.getType());
  info.name = buffer.getName().str();
  switch (buffer.getScope()) {
  case mla::BufferScope::Worker:
    info.scope = KernelInfo::Scope::Worker;
    break;
  case mla::BufferScope::Slot:
    info.scope = KernelInfo::Scope::Slot;
    break;
  case mla::BufferScope::Piece:
    info.scope = KernelInfo::Scope::Piece;
    break;
  }
  info.rank = type.getRank();
  info.bytesEach = type.getElementTypeBitWidth() / 8;
  for (int i = 0; i < info.rank; ++i) {
    info.shape[i] = i ? type.getDimSize(i) : -1;
    if (i)
      info.bytesEach *= type.getDimSize(i);
  }
  return info;
}

static KernelInfo::ParamKind kindOf(mla::ParamKind kind) {
  switch (kind) {
  case mla::ParamKind::Pointer:
    return KernelInfo::ParamKind::Pointer;
  case mla::ParamKind::Offset:
    return KernelInfo::ParamKind::Offset;
  case mla::ParamKind::Size:
    return KernelInfo::ParamKind::Size;
  case mla::ParamKind::Stride:
    return KernelInfo::ParamKind::Stride;
  case mla::ParamKind::Scalar:
    return KernelInfo::ParamKind::Scalar;
  case mla::ParamKind::TensorMap:
    return KernelInfo::ParamKind::TensorMap;
  }
  llvm_unreachable("a kind that is not listed");
}

static llvm::Expected<KernelInfo::TensorMap> describeMap(mla::ParamAttr param) {
  KernelInfo::TensorMap map;
  mla::TensorMapAttr recipe = param.getMap();
  StringRef name = param.getName();
  if (!recipe || recipe.getDims().size() < 2 ||
      recipe.getDims().size() > Tensor::kMaxRank)
    return createStringError("the tensor map of '" + name +
                             "' requires 2 to 4 dimensions, but got " +
                             textOf(Attribute(param)));
  map.rank = static_cast<int>(recipe.getDims().size());
  for (auto [i, dim] : llvm::enumerate(recipe.getDims())) {
    if (dim < 0 || dim >= Tensor::kMaxRank)
      return createStringError("the tensor map of '" + name +
                               "' requires dimensions 0 to 3, but got " +
                               llvm::Twine(dim));
    map.dims[i] = static_cast<int>(dim);
  }
  map.boxRows = recipe.getBoxRows();
  map.boxColumns = recipe.getBoxColumns();
  map.swizzle = recipe.getSwizzle();
  return map;
}

static llvm::Expected<KernelInfo::Param> describeParam(mla::ParamAttr param,
                                                       const KernelInfo &info) {
  StringRef name = param.getName();
  KernelInfo::Param p{kindOf(param.getKind()), KernelInfo::Source::Argument, -1,
                      static_cast<int>(param.getDim())};
  if (p.kind == KernelInfo::ParamKind::TensorMap) {
    auto map = describeMap(param);
    if (!map)
      return map.takeError();
    p.map = *map;
  }
  if (name == mla::argument_names::kWorker) {
    p.source = KernelInfo::Source::Worker;
    return p;
  }
  if (name == mla::argument_names::kNumWorkers) {
    p.source = KernelInfo::Source::NumWorkers;
    return p;
  }
  if (p.index = info.find(name); p.index >= 0)
    return p;
  p.source = KernelInfo::Source::Workspace;
  for (auto [i, buffer] : llvm::enumerate(info.workspace))
    if (buffer.name == name)
      p.index = static_cast<int>(i);
  if (p.index < 0)
    return createStringError("parameter '" + name +
                             "' is neither an argument nor in the workspace");
  return p;
}

static llvm::Expected<KernelInfo::Entry> describeEntry(mla::EntryAttr entry,
                                                       const KernelInfo &info) {
  KernelInfo::Entry described{entry.getSymbol().str(), {}};
  for (mla::ParamAttr param : entry.getParams()) {
    auto p = describeParam(param, info);
    if (!p)
      return createStringError("entry '" + described.symbol +
                               "': " + llvm::toString(p.takeError()));
    described.params.push_back(*p);
  }
  if (mla::LaunchAttr launch = entry.getLaunch())
    described.launch = {
        static_cast<int>(launch.getThreads()), launch.getSharedBytes(),
        static_cast<int>(launch.getCtasPerWorker()), launch.getDependent(),
        static_cast<int>(launch.getCluster())};
  return described;
}

/// What the first entry writes, and the others read, is the plan.
static void describePlan(KernelInfo &info) {
  info.hasPlanEntry = true;
  for (const KernelInfo::Param &param : info.entries.front().params)
    if (param.source == KernelInfo::Source::Workspace)
      info.workspace[param.index].ofPlan = true;
}

llvm::Expected<std::shared_ptr<KernelInfo>> describeKernel(ModuleOp module) {
  auto kernel =
      module->getAttrOfType<mla::KernelAttr>(mla::MLADialect::kKernel);
  if (!kernel)
    return createStringError(
        "the module has no mla.decode and no tile entry to compile");
  auto info = std::make_shared<KernelInfo>();
  for (mla::ArgumentAttr argument : kernel.getArguments()) {
    auto described = describeArgument(argument);
    if (!described)
      return described.takeError();
    info->arguments.push_back(*described);
  }
  for (mla::BufferAttr buffer : kernel.getWorkspace())
    info->workspace.push_back(describeBuffer(buffer));

  for (mla::EntryAttr entry : kernel.getEntries()) {
    auto described = describeEntry(entry, *info);
    if (!described)
      return described.takeError();
    info->entries.push_back(std::move(*described));
  }
  info->kvHeads = kernel.getKvHeads();
  info->group = kernel.getGroup();
  if (!kernel.getSchedule()) {
    info->isMerge = true;
    info->blockM = 1;
    return info;
  }
  info->schedule = textOf(kernel.getSchedule());
  info->mask = textOf(kernel.getMask());
  info->rowBlocks = kernel.getSchedule().getRowBlocks();
  info->blockM = kernel.getSchedule().getBlockM();
  if (kernel.getSchedule().getSplit() == mla::SplitPolicy::RowLocal)
    info->defaultSplits = mla::kMaxRowLocalSplits;
  if (kernel.getSchedule().getPlan() == mla::PlanPolicy::Shared &&
      info->entries.size() > 1)
    describePlan(*info);
  return info;
}

} // namespace mla_jit
