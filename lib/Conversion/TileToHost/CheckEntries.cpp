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

static LogicalResult checkPlan(PlanOp plan, ScheduleAttr schedule) {
  int64_t rows = plan.getBlockM(), keys = plan.getBlockN();
  if (rows == schedule.getBlockM() && keys == schedule.getBlockN())
    return success();
  return plan.emitOpError("requires the tile of the schedule, ")
         << schedule.getBlockM() << " x " << schedule.getBlockN()
         << ", but got " << rows << " x " << keys;
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
    return entry.emitError("has a schedule that cannot be lowered: ")
           << *reason;
  if (entry.getOps<PlanOp>().empty())
    return entry.emitError("requires an mla.plan to be lowered to the host");

  for (Operation &op : entry.front()) {
    if (auto plan = dyn_cast<PlanOp>(op))
      if (failed(checkPlan(plan, schedule)))
        return failure();
    if (!isa<ForWorkOp, ForSplitOp>(op))
      continue;
    WalkResult result = op.walk([&](Operation *inner) -> WalkResult {
      // Score code is scalar; its arguments are not tiles.
      if (inner == &op || inner->getParentOfType<ScoreOp>())
        return WalkResult::advance();
      return checkTileOp(inner, &op, schedule);
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}
