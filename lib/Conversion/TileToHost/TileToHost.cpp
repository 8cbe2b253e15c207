//===- TileToHost.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tile ops become loops over register blocks (scf, vector, memref), the work
// loops become the scheduler, and the module gets its #mla.kernel.
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_CONVERTTILETOHOST
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

/// Converts the work loop `op` of an entry. Returns the bytes of scratch that a
/// worker needs.
template <typename LoopOp>
static FailureOr<int64_t> convertLoop(LoopOp op, TargetAttr target) {
  auto func = op->template getParentOfType<func::FuncOp>();
  auto plan = op.getPlan().template getDefiningOp<PlanOp>();
  auto schedule =
      func->template getAttrOfType<ScheduleAttr>(MLADialect::kSchedule);
  Value scratch = appendArgument(
      func, argument_names::kScratch,
      MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                      IntegerType::get(op.getContext(), 8)));
  OpBuilder builder(op);
  HostEmitter emitter(builder, target, schedule, plan, scratch, op.getWorker());
  LogicalResult result = success();
  auto emitBody = [&](const ItemValues &item) {
    emitter.bindItem(op.getItem(), item);
    result = emitter.emitBlock(op.getBody().front());
  };
  if constexpr (std::is_same_v<LoopOp, ForWorkOp>)
    expandForWork(
        builder, op, plan,
        [&](const ItemValues &item, Value first, Value end, Value whole) {
          emitter.getMapping().map(op.getFirst(), first);
          emitter.getMapping().map(op.getEnd(), end);
          emitter.getMapping().map(op.getWhole(), whole);
          emitBody(item);
        });
  else
    expandForSplit(builder, op, plan,
                   [&](const ItemValues &item, Value pieces) {
                     emitter.getMapping().map(op.getPieces(), pieces);
                     emitBody(item);
                   });
  if (failed(result))
    return failure();
  op.erase();
  if (plan->use_empty())
    plan.erase();
  return emitter.getScratchBytes();
}

EntryAttr mla::describeHostEntry(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  SmallVector<ParamAttr> params;
  for (BlockArgument argument : func.getArguments()) {
    auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  MLADialect::kName);
    auto append = [&](ParamKind kind, int64_t dim = 0) {
      params.push_back(ParamAttr::get(context, name, kind, dim));
    };
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (!memref) {
      append(ParamKind::Scalar);
      continue;
    }
    append(ParamKind::Pointer);
    append(ParamKind::Pointer);
    append(ParamKind::Offset);
    for (ParamKind kind : {ParamKind::Size, ParamKind::Stride})
      for (int64_t dim = 0; dim < memref.getRank(); ++dim)
        append(kind, dim);
  }
  return EntryAttr::get(context, func.getSymNameAttr(), params);
}

namespace {
struct ConvertTileToHost
    : public mla::impl::ConvertTileToHostBase<ConvertTileToHost> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(convert()))
      signalPassFailure();
  }

  LogicalResult convert() {
    ModuleOp module = getOperation();
    if (module->hasAttr(MLADialect::kKernel))
      return success(); // is at the host level already
    FailureOr<SmallVector<func::FuncOp>> collected = collectEntries(module);
    if (failed(collected))
      return failure();
    SmallVector<func::FuncOp> entries = *collected;
    auto target = module->getAttrOfType<TargetAttr>(MLADialect::kTarget);
    bool isHost = target && target.isHost();
    if (entries.empty())
      return isHost ? convertMergeToHost(module, target) : success();
    if (!isHost)
      return module.emitError("requires a host '")
             << MLADialect::kTarget << "' (see mla-attach-target)";
    for (func::FuncOp entry : entries)
      if (failed(checkHostEntry(entry, target)))
        return failure();
    if (failed(checkHostEntries(entries)))
      return failure();

    func::FuncOp main = entries.front();
    auto schedule = main->getAttrOfType<ScheduleAttr>(MLADialect::kSchedule);
    PlanOp plan = *main.getOps<PlanOp>().begin();
    MaskAttrInterface mask = plan.getMask();
    int64_t kvHeads = plan.getKvHeads(), group = plan.getGroup();

    int64_t scratchBytes = 0;
    SmallVector<EntryAttr> entryAttrs;
    for (func::FuncOp entry : entries) {
      for (Operation &op : llvm::make_early_inc_range(entry.front())) {
        FailureOr<int64_t> bytes = 0;
        if (auto work = dyn_cast<ForWorkOp>(op))
          bytes = convertLoop(work, target);
        else if (auto split = dyn_cast<ForSplitOp>(op))
          bytes = convertLoop(split, target);
        if (failed(bytes))
          return failure();
        scratchBytes = std::max(scratchBytes, *bytes);
      }
      entryAttrs.push_back(describeHostEntry(entry));
    }
    module->setAttr(MLADialect::kKernel,
                    describeKernel(main, entryAttrs, schedule, scratchBytes,
                                   mask, kvHeads, group));
    return success();
  }

  static KernelAttr describeKernel(func::FuncOp main,
                                   ArrayRef<EntryAttr> entries,
                                   ScheduleAttr schedule, int64_t scratchBytes,
                                   MaskAttrInterface mask, int64_t kvHeads,
                                   int64_t group) {
    MLIRContext *context = main.getContext();
    SmallVector<ArgumentAttr> arguments;
    SmallVector<BufferAttr> workspace;
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    MLADialect::kName);
      if (name == argument_names::kWorker ||
          name == argument_names::kNumWorkers)
        continue;
      if (name == argument_names::kPartialOut ||
          name == argument_names::kPartialLse)
        workspace.push_back(BufferAttr::get(context, name, BufferScope::Slot,
                                            argument.getType()));
      else if (name == argument_names::kScratch)
        workspace.push_back(BufferAttr::get(
            context, name, BufferScope::Worker,
            MemRefType::get({ShapedType::kDynamic, scratchBytes},
                            IntegerType::get(context, 8))));
      else
        arguments.push_back(
            ArgumentAttr::get(context, name, argument.getType()));
    }
    return KernelAttr::get(context, arguments, entries, workspace, schedule,
                           mask, kvHeads, group);
  }
};
} // namespace
