//===- CheckEntries.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the tile level must be like to be lowered to the host: checked first, so
// that the emitters can rely on it.
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"
#include "mla/Dataflow/Dataflow.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::mla;

/// Whether `value` is a tile, or the item, of the work loop `work`.
static bool isMadeIn(Value value, Operation *work) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    return owner == work ||
           (isa<scf::ForOp>(owner) && work->isProperAncestor(owner));
  }
  Operation *def = value.getDefiningOp();
  return (isa<MLADialect>(def->getDialect()) || isa<scf::ForOp>(def)) &&
         work->isProperAncestor(def);
}

/// Checks an op in a work loop: where its tiles come from, and their shapes.
static LogicalResult checkTileOp(Operation *op, Operation *work,
                                 ScheduleAttr schedule) {
  auto isTile = [](Type type) {
    return isa<RankedTensorType, KVTileType, ItemType>(type);
  };
  for (Value operand : op->getOperands())
    if (isTile(operand.getType()) && !isMadeIn(operand, work))
      return op->emitOpError(
          "requires tile values that tile ops make in the same work loop");
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor &&
        (tensor.getRank() == 0 || tensor.getDimSize(0) != schedule.getBlockM()))
      return op->emitOpError("requires tiles of ")
             << schedule.getBlockM() << " rows, but got " << type;
    auto tile = dyn_cast<KVTileType>(type);
    if (tile && tile.getKeys() != schedule.getBlockN())
      return op->emitOpError("requires tiles of ")
             << schedule.getBlockN() << " keys, but got " << type;
  }
  return success();
}

/// Checks that scores come from mla.qk, step by step, and that P is f32.
static LogicalResult checkScores(Operation *op) {
  Value scores;
  if (auto score = dyn_cast<ScoreOp>(op))
    scores = score.getScores();
  else if (auto mask = dyn_cast<MaskOp>(op))
    scores = mask.getScores();
  else if (auto step = dyn_cast<SoftmaxStepOp>(op))
    scores = step.getScores();
  else
    return success();
  if (!scores.getDefiningOp<QKOp>() && !scores.getDefiningOp<ScoreOp>() &&
      !scores.getDefiningOp<MaskOp>())
    return op->emitOpError("requires scores of mla.qk, mla.score or mla.mask");
  if (auto step = dyn_cast<SoftmaxStepOp>(op))
    if (auto type = cast<RankedTensorType>(step.getP().getType());
        !type.getElementType().isF32())
      return op->emitOpError("requires weights of f32 on the host, but got ")
             << type;
  return success();
}

/// Checks that a plan is what the schedule and the arguments say: the runtime
/// sizes the workspace by these.
static LogicalResult checkPlan(func::FuncOp entry, PlanOp plan,
                               ScheduleAttr schedule) {
  int64_t rows = plan.getBlockM(), keys = plan.getBlockN();
  int64_t splitTiles = plan.getSplitTiles();
  if (rows != schedule.getBlockM() || keys != schedule.getBlockN())
    return plan.emitOpError("requires the tile of the schedule, ")
           << schedule.getBlockM() << " x " << schedule.getBlockN()
           << ", but got " << rows << " x " << keys;
  // A whole plan is right under any schedule: nothing was split.
  if (plan.getSplit() != SplitPolicy::Whole &&
      (plan.getSplit() != schedule.getSplit() ||
       splitTiles != schedule.getSplitTiles()))
    return plan.emitOpError("requires the split of the schedule, ")
           << stringifySplitPolicy(schedule.getSplit()) << " of "
           << schedule.getSplitTiles() << " tiles, but got "
           << stringifySplitPolicy(plan.getSplit()) << " of " << splitTiles;

  auto requireArgument = [&](Value operand, StringRef name) -> LogicalResult {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && argument.getOwner() == &entry.front() &&
        entry.getArgAttr(argument.getArgNumber(), MLADialect::kName) ==
            StringAttr::get(entry.getContext(), name))
      return success();
    return plan.emitOpError("requires the argument named '")
           << name << "' in its place, but got another value";
  };
  if (failed(requireArgument(plan.getSeqLens(), "seq_lens")) ||
      failed(requireArgument(plan.getWorkers(), argument_names::kNumWorkers)) ||
      (plan.getSplits() &&
       failed(requireArgument(plan.getSplits(), "num_splits"))) ||
      (plan.getQOffsets() &&
       failed(requireArgument(plan.getQOffsets(), "q_offsets"))))
    return failure();
  for (auto [name, parameter] : llvm::zip_equal(
           plan.getMask().getParameterNames(), plan.getMaskParams()))
    if (failed(requireArgument(parameter, name)))
      return failure();
  return success();
}

/// Checks that a tensor of rows, where it has static heads, has the plan's.
static LogicalResult checkHeads(Operation *op, Value rows, int64_t heads) {
  auto type = cast<MemRefType>(rows.getType());
  int64_t got = type.getRank() < 2 ? 0 : type.getDimSize(type.getRank() - 2);
  if (ShapedType::isDynamic(got) || got == heads)
    return success();
  return op->emitOpError("requires the ")
         << heads << " heads of the plan, but got " << type;
}

/// Checks an op against the plan of its work loop.
static LogicalResult checkAgainstPlan(Operation *op, PlanOp plan) {
  if (auto mask = dyn_cast<MaskOp>(op);
      mask && mask.getPlan() != plan.getPlan())
    return op->emitOpError("requires the plan of its work loop");
  if (auto full = dyn_cast<FullTilesOp>(op);
      full && full.getPlan() != plan.getPlan())
    return op->emitOpError("requires the plan of its work loop");
  if (auto load = dyn_cast<LoadQOp>(op))
    return checkHeads(op, load.getQ(), plan.getHeads());
  if (auto load = dyn_cast<LoadKVOp>(op))
    return checkHeads(op, load.getK(), plan.getKvHeads());
  if (auto store = dyn_cast<StoreOp>(op))
    return checkHeads(op, store.getOut(), plan.getHeads());
  return success();
}

/// Checks that entries agree on plan and schedule, and that partial results
/// have an entry that merges them.
LogicalResult mla::checkHostEntries(ArrayRef<func::FuncOp> entries) {
  func::FuncOp first = entries.front();
  PlanOp plan = *first.getOps<PlanOp>().begin();
  bool hasPartials = false, merges = false;
  for (func::FuncOp entry : entries) {
    if (entry->getAttr(MLADialect::kSchedule) !=
        first->getAttr(MLADialect::kSchedule))
      return entry.emitError("requires the schedule of the first entry");
    for (PlanOp other : entry.getOps<PlanOp>())
      if (other.getProperties() != plan.getProperties() ||
          other->getDiscardableAttrDictionary() !=
              plan->getDiscardableAttrDictionary())
        return other.emitOpError("requires the plan of the first entry");
    entry.walk([&](Operation *op) {
      hasPartials |= isa<StorePartialOp>(op);
      merges |= isa<CombineOp>(op);
    });
  }
  if (hasPartials && !merges)
    return first.emitError(
        "stores partial results, but no entry merges them by mla.combine");
  return success();
}

LogicalResult mla::checkHostEntry(func::FuncOp entry, TargetAttr target) {
  if (!entry.getBody().hasOneBlock())
    return entry.emitError("requires an entry of one block");
  for (BlockArgument argument : entry.getArguments())
    if (!entry.getArgAttr(argument.getArgNumber(), MLADialect::kName))
      return entry.emitError("requires argument ")
             << argument.getArgNumber() << " of an entry to have an '"
             << MLADialect::kName << "'";

  auto schedule = entry->getAttrOfType<ScheduleAttr>(MLADialect::kSchedule);
  if (!schedule)
    return entry.emitError("requires an '")
           << MLADialect::kSchedule << "' to be lowered to the host";
  const Dataflow *dataflow = findDataflow(schedule.getDataflow());
  if (!dataflow || !dataflow->supportsTarget(target))
    return entry.emitError("requires a dataflow of the host, but got '")
           << schedule.getDataflow().getValue() << "'";
  if (std::optional<std::string> reason = dataflow->check(target, schedule))
    return markUnsupported(
               entry.emitError("has a schedule that cannot be lowered: "))
           << *reason;
  if (entry.getOps<PlanOp>().empty())
    return entry.emitError("requires an mla.plan to be lowered to the host");

  for (Operation &op : entry.front()) {
    if (auto plan = dyn_cast<PlanOp>(op))
      if (failed(checkPlan(entry, plan, schedule)))
        return failure();
    PlanOp plan;
    if (auto work = dyn_cast<ForWorkOp>(op))
      plan = work.getPlan().getDefiningOp<PlanOp>();
    else if (auto split = dyn_cast<ForSplitOp>(op))
      plan = split.getPlan().getDefiningOp<PlanOp>();
    else if (WalkResult inner = op.walk([](Operation *nested) {
               return isa<ForWorkOp, ForSplitOp>(nested)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             });
             inner.wasInterrupted())
      return op.emitOpError("holds a work loop, but work loops are required at "
                            "the top of an entry");
    else
      continue;
    if (!plan)
      return op.emitOpError(
          "requires a plan that mla.plan makes in the same function");
    WalkResult result = op.walk([&](Operation *inner) -> WalkResult {
      // Score code is scalar; its arguments are not tiles.
      if (inner == &op || inner->getParentOfType<ScoreOp>())
        return WalkResult::advance();
      return failure(failed(checkTileOp(inner, &op, schedule)) ||
                     failed(checkScores(inner)) ||
                     failed(checkAgainstPlan(inner, plan)));
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}
