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
//   the plan: every CTA finds its pieces of work, from the lengths
//   mla_gpu.warp_specialize: the roles of the schedule's dataflow
//
// and the second entry the merge of what was split.
//
//===----------------------------------------------------------------------===//

#include "Combine.h"
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

/// The argument of that name.
static Value findArgument(func::FuncOp func, StringRef name) {
  for (BlockArgument argument : func.getArguments())
    if (nameOf(func, argument.getArgNumber()) == name)
      return argument;
  return {};
}

/// Makes what the plan is written to, and emits it.
static LogicalResult emitPlan(TileEntry &entry) {
  func::FuncOp func = entry.func;
  entry.worker = findArgument(func, argument_names::kWorker);
  Value numWorkers = findArgument(func, argument_names::kNumWorkers);
  if (!entry.worker || !numWorkers)
    return func.emitError("requires arguments named '")
           << argument_names::kWorker << "' and '"
           << argument_names::kNumWorkers << "'";
  OpBuilder builder(entry.plan);
  Location loc = entry.plan.getLoc();
  entry.buffers.workList = appendArgument(
      func, argument_names::kWorkList,
      MemRefType::get({ShapedType::kDynamic, 8}, builder.getI32Type()));
  entry.buffers.workRange = allocateShared(builder, loc, {1, 2});
  SplitBuffers splits;
  bool lists = entry.storePartial && listsSplits(entry.schedule);
  if (lists) {
    splits.splitList = appendArgument(
        func, argument_names::kSplitList,
        MemRefType::get({ShapedType::kDynamic, 8}, builder.getI32Type()));
    splits.staging = allocateShared(builder, loc, {kMaxGroups, 8});
  }
  mla_gpu::GridWaitOp::create(builder, loc);
  emitDevicePlan(builder, entry.plan, entry.schedule, entry.worker, numWorkers,
                 entry.buffers, lists ? &splits : nullptr);
  // Else the merge plans too, beside the roles: here it would delay them.
  if (entry.storePartial)
    mla_gpu::GridLaunchDependentsOp::create(builder, loc);
  return success();
}

/// What a workspace buffer is counted by; nothing for other arguments.
static std::optional<BufferScope> findScope(StringRef name) {
  return llvm::StringSwitch<std::optional<BufferScope>>(name)
      .Cases({argument_names::kPartialOut, argument_names::kPartialLse},
             BufferScope::Slot)
      .Cases({argument_names::kWorkList, argument_names::kSplitList},
             BufferScope::Piece)
      .Default(std::nullopt);
}

/// The kernel as far as it is known: parameters and launches of the entries are
/// the next lowering's.
static KernelAttr describeKernel(ArrayRef<func::FuncOp> entries,
                                 ScheduleAttr schedule, PlanOp plan) {
  MLIRContext *context = plan.getContext();
  SmallVector<ArgumentAttr> arguments;
  SmallVector<BufferAttr> workspace;
  llvm::SmallDenseSet<StringAttr> seen;
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
        arguments.push_back(ArgumentAttr::get(context, name, type));
    }
  SmallVector<EntryAttr> entryAttrs;
  for (func::FuncOp entry : entries)
    entryAttrs.push_back(EntryAttr::get(context, entry.getSymNameAttr(), {}));
  return KernelAttr::get(context, arguments, entryAttrs, workspace, schedule,
                         plan.getMask(), plan.getKvHeads(), plan.getGroup());
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
      return success();
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

    if (failed(emitPlan(*entry)) || failed(emit(*entry)))
      return failure();
    for (func::FuncOp combine : ArrayRef(entries).drop_front())
      if (failed(emitCombine(combine, entry->schedule)))
        return failure();
    module->setAttr(MLADialect::kKernel,
                    describeKernel(entries, entry->schedule, entry->plan));
    entry->work.erase();
    entry->plan.erase();
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
