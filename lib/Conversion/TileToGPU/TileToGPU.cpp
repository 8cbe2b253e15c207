//===- TileToGPU.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   mla.plan, mla.for_work {...}
//
// becomes
//
//   mla_gpu.grid_wait
//   mla_gpu.plan_work: every CTA finds its pieces of work, from the lengths
//   mla_gpu.warp_specialize: the roles of the schedule's dataflow
//
// and the second entry the merge of what was split. Under `cluster = 2` the
// first one is lowered twice: for launches without clusters, and for those with
// clusters, whose CTAs may merge in pairs. Under `plan = shared` an entry of
// its own plans for all, and they do not.
//
//===----------------------------------------------------------------------===//

#include "Combine.h"
#include "Plan.h"
#include "Rows.h"
#include "TileEntry.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dataflow/Dataflow.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_CONVERTTILETOGPU
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

using EmitDataflow = LogicalResult (*)(TileEntry &);

static EmitDataflow findEmitter(StringRef dataflow) {
  return llvm::StringSwitch<EmitDataflow>(dataflow)
      .Case("keys_as_m", emitKeysAsM)
      .Case("rows_as_m", emitRowsAsM)
      .Default(nullptr);
}

static StringAttr nameOf(func::FuncOp func, unsigned argument) {
  return func.getArgAttrOfType<StringAttr>(argument, MLADialect::kName);
}

/// Lets arguments be printed by their names.
static void nameArguments(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (StringAttr name = nameOf(func, argument.getArgNumber()))
      if (!isa<mla_gpu::TensorMapType>(argument.getType()))
        argument.setLoc(NameLoc::get(name, argument.getLoc()));
}

/// What a workspace buffer is counted by; nothing for other arguments.
static std::optional<BufferScope> findScope(StringRef name) {
  return llvm::StringSwitch<std::optional<BufferScope>>(name)
      .Cases({argument_names::kPartialOut, argument_names::kPartialLse},
             BufferScope::Slot)
      .Cases({argument_names::kWorkList, argument_names::kSplitList},
             BufferScope::Piece)
      .Cases({argument_names::kWorkRange, argument_names::kSplitCount},
             BufferScope::Worker)
      .Default(std::nullopt);
}

using NameSet = llvm::SmallDenseSet<StringAttr>;

/// The tensors whose rows launches have to align.
static NameSet findAligned(TileEntry &main) {
  NameSet names;
  for (Value tensor :
       {main.loadQ.getQ(), main.loadQ.getQRope(), main.loadKV.getK(),
        main.loadKV.getKRope(), main.store.getOut()})
    if (tensor && promisesAlignedRows(main.schedule, tensor))
      names.insert(
          nameOf(main.func, cast<BlockArgument>(tensor).getArgNumber()));
  return names;
}

/// The kernel as far as it is known: parameters and launches of the entries are
/// the next lowering's.
static KernelAttr describeKernel(ArrayRef<func::FuncOp> entries,
                                 TileEntry &main) {
  PlanOp plan = main.plan;
  MLIRContext *context = plan.getContext();
  NameSet aligned = findAligned(main);
  SmallVector<ArgumentAttr> arguments;
  SmallVector<BufferAttr> workspace;
  NameSet seen;
  for (func::FuncOp entry : entries)
    for (BlockArgument argument : entry.getArguments()) {
      StringAttr name = nameOf(entry, argument.getArgNumber());
      Type type = argument.getType();
      if (type.isIndex() || isa<mla_gpu::TensorMapType>(type))
        continue; // the CTA's number, or a tensor again
      if (!seen.insert(name).second)
        continue;
      if (std::optional<BufferScope> scope = findScope(name))
        workspace.push_back(BufferAttr::get(context, name, *scope, type));
      else
        arguments.push_back(ArgumentAttr::get(
            context, name, type, aligned.contains(name) ? kRowAlignment : 1));
    }
  SmallVector<EntryAttr> entryAttrs;
  for (func::FuncOp entry : entries)
    entryAttrs.push_back(EntryAttr::get(context, entry.getSymNameAttr(), {}));
  return KernelAttr::get(context, arguments, entryAttrs, workspace,
                         main.schedule, plan.getMask(), plan.getKvHeads(),
                         plan.getGroup());
}

/// Clones the main entry, behind it, as the one of launches in clusters.
static FailureOr<TileEntry> clonePairsEntry(const TileEntry &main) {
  func::FuncOp original = main.func;
  OpBuilder b(original);
  b.setInsertionPointAfter(original);
  auto func = cast<func::FuncOp>(b.clone(*original));
  func.setSymName((original.getSymName() + "_pairs").str());
  func->setAttr("mla_gpu.cluster",
                b.getI64IntegerAttr(main.schedule.getCluster()));
  FailureOr<TileEntry> entry = analyzeTileEntry(func, main.target);
  if (failed(entry))
    return failure();
  entry->pairs = true;
  // A launch that gives a count of splits starts the other one.
  entry->plan.getSplitsMutable().clear();
  return entry;
}

namespace {
struct ConvertTileToGPU
    : public mla::impl::ConvertTileToGPUBase<ConvertTileToGPU> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(convert()))
      signalPassFailure();
  }

  LogicalResult convert() {
    ModuleOp module = getOperation();
    if (module->hasAttr(MLADialect::kKernel))
      return success(); // is at the gpu level already
    FailureOr<SmallVector<func::FuncOp>> collected = collectEntries(module);
    if (failed(collected))
      return failure();
    SmallVector<func::FuncOp> entries = *collected;
    if (entries.empty())
      return convertMergeToGPU(module);
    auto target = module->getAttrOfType<TargetAttr>(MLADialect::kTarget);
    if (!target || !target.isCuda())
      return module.emitError("requires a cuda '")
             << MLADialect::kTarget << "' (see mla-attach-target)";

    FailureOr<TileEntry> entry = analyzeTileEntry(entries.front(), target);
    if (failed(entry) || failed(checkEntries(entries, *entry)))
      return failure();
    StringRef name = entry->schedule.getDataflow();
    const Dataflow *dataflow = findDataflow(name);
    EmitDataflow emit = findEmitter(name);
    if (!dataflow || !emit)
      return entry->func.emitError("requires a dataflow of a GPU, but got '")
             << name << "'";
    if (std::optional<std::string> reason =
            dataflow->check(target, entry->schedule))
      return markUnsupported(entry->func.emitError(
                 "has a schedule that cannot be lowered: "))
             << *reason;

    for (func::FuncOp func : entries)
      nameArguments(func);
    func::FuncOp combine = entries.size() > 1 ? entries.back() : nullptr;
    bool hasPairs = combine && entry->schedule.getCluster() > 1;
    SmallVector<TileEntry, 2> mains = {*entry};
    entries.clear();
    if (entry->schedule.getPlan() == PlanPolicy::Shared) {
      FailureOr<func::FuncOp> planner = makePlanEntry(*entry, hasPairs);
      if (failed(planner))
        return failure();
      entries.push_back(*planner);
    }
    if (hasPairs) {
      FailureOr<TileEntry> pairs = clonePairsEntry(*entry);
      if (failed(pairs))
        return failure();
      mains.push_back(*pairs);
    }
    for (TileEntry &main : mains) {
      if (failed(emitPlan(main)) || failed(emit(main)))
        return failure();
      entries.push_back(main.func);
    }
    if (combine) {
      if (failed(emitCombine(combine, entry->schedule)))
        return failure();
      entries.push_back(combine);
    }
    OpBuilder b(module);
    for (auto [i, func] : llvm::enumerate(entries))
      func->setAttr(MLADialect::kEntry, b.getI64IntegerAttr(i));
    module->setAttr(MLADialect::kKernel, describeKernel(entries, *entry));
    for (TileEntry &main : mains) {
      main.work.erase();
      finishPlan(main.plan);
    }
    return success();
  }

  /// Checks that partial results have an entry that merges them.
  static LogicalResult checkEntries(ArrayRef<func::FuncOp> entries,
                                    const TileEntry &main) {
    for (func::FuncOp entry : entries)
      for (BlockArgument argument : entry.getArguments())
        if (!nameOf(entry, argument.getArgNumber()))
          return entry.emitError("requires argument ")
                 << argument.getArgNumber() << " of an entry to have an '"
                 << MLADialect::kName << "'";
    size_t expected = main.storePartial ? 2 : 1;
    if (entries.size() == expected)
      return success();
    func::FuncOp first = entries.front();
    return first.emitError("requires ")
           << (main.storePartial ? "a second entry that merges what it splits"
                                 : "to be the only entry, as it splits nothing")
           << ", but got " << entries.size() << " entries";
  }
};
} // namespace
