//===- TileEntry.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileEntry.h"
#include "mla/Dataflow/GPUProblem.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;

/// The only op of a kind in a function; null after an error if there are others
/// or none.
template <typename OpT> static OpT findOnly(func::FuncOp func) {
  SmallVector<OpT> ops;
  func.walk([&](OpT op) { ops.push_back(op); });
  if (ops.size() == 1)
    return ops.front();
  func.emitError("requires one ")
      << OpT::getOperationName() << " to be lowered to a GPU, but got "
      << ops.size();
  return {};
}

static Type elementType(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

/// Gives each use of a constant in the code one of its own: common
/// subexpression elimination takes some out of one loop over tiles, and not out
/// of the other.
static void sinkConstants(ScoreOp score) {
  auto isConstant = [](Operation *op) {
    return op && op->hasTrait<OpTrait::ConstantLike>();
  };
  SmallVector<Operation *> users;
  score.getBody().walk([&](Operation *op) { users.push_back(op); });
  for (Operation *user : users)
    for (OpOperand &operand : user->getOpOperands())
      if (Operation *constant = operand.get().getDefiningOp();
          isConstant(constant))
        operand.set(OpBuilder(user).clone(*constant)->getResult(0));
  for (Operation *op : users)
    if (isConstant(op) && op->use_empty())
      op->erase();
}

/// Checks one loop over tiles: its ops are those of mla-tile, chained. `first`
/// is a loop that was checked before, which this one has to repeat but for the
/// mask; null for the first.
static LogicalResult checkLoop(scf::ForOp loop, PlanOp plan, scf::ForOp first) {
  auto find = [&](auto tag) {
    using OpT = decltype(tag);
    auto ops = loop.getBody()->getOps<OpT>();
    return llvm::hasSingleElement(ops) ? *ops.begin() : OpT();
  };
  auto load = find(LoadKVOp());
  auto qk = find(QKOp());
  auto score = find(ScoreOp());
  auto step = find(SoftmaxStepOp());
  auto pv = find(PVOp());
  if (!load || !qk || !score || !step || !pv)
    return loop.emitOpError("requires one mla.load_kv, mla.qk, mla.score, "
                            "mla.softmax_step and mla.pv in a loop over tiles");
  auto mask = step.getScores().getDefiningOp<MaskOp>();
  Value scores = mask ? mask.getScores() : step.getScores();
  if (scores != score.getResult() || score.getScores() != qk.getResult() ||
      qk.getKv() != load.getResult() || pv.getKv() != load.getResult() ||
      pv.getP() != step.getP() || pv.getAlpha() != step.getAlpha())
    return loop.emitOpError("requires scores, weights and products of a tile "
                            "that follow each other as mla-tile makes them");
  if (mask && mask.getPlan() != plan.getPlan())
    return mask.emitOpError("requires the plan of its work loop");
  if (!mask && !loop.getLowerBound().getDefiningOp<FullTilesOp>())
    return loop.emitOpError("requires an mla.mask, or the range of an "
                            "mla.full_tiles");
  if (!first)
    return success();
  auto firstLoad = *first.getBody()->getOps<LoadKVOp>().begin();
  auto firstScore = *first.getBody()->getOps<ScoreOp>().begin();
  bool same = load.getK() == firstLoad.getK() &&
              load.getKRope() == firstLoad.getKRope() &&
              load.getTable() == firstLoad.getTable() &&
              load.getKvIndptr() == firstLoad.getKvIndptr() &&
              load.getKvIndices() == firstLoad.getKvIndices() &&
              load.getTableRows() == firstLoad.getTableRows();
  if (!same || !OperationEquivalence::isRegionEquivalentTo(
                   &score.getBody(), &firstScore.getBody(),
                   OperationEquivalence::IgnoreLocations))
    return loop.emitOpError("requires the keys and score code of the other "
                            "loop over tiles");
  return success();
}

/// Finds what the loops over tiles have in common.
static LogicalResult analyzeLoops(TileEntry &entry) {
  entry.work.getBody().walk(sinkConstants);
  scf::ForOp first;
  for (scf::ForOp loop : entry.work.getBody().getOps<scf::ForOp>()) {
    if (failed(checkLoop(loop, entry.plan, first)))
      return failure();
    if (!first)
      first = loop;
  }
  if (!first)
    return entry.work.emitOpError("requires a loop over tiles");
  entry.loadKV = *first.getBody()->getOps<LoadKVOp>().begin();
  entry.score = *first.getBody()->getOps<ScoreOp>().begin();
  return success();
}

/// Checks that what a dataflow reads in its roles is there: arguments.
static LogicalResult checkOperands(TileEntry &entry) {
  SmallVector<Operation *> ops = {entry.loadQ, entry.loadKV, entry.store};
  if (entry.storePartial)
    ops.push_back(entry.storePartial);
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) &&
          !llvm::is_contained(entry.func.getArguments(), operand))
        return op->emitOpError("requires memory that is an argument of the "
                               "function");
  return success();
}

FailureOr<TileEntry> mla::analyzeTileEntry(func::FuncOp func,
                                           TargetAttr target) {
  TileEntry entry;
  entry.func = func;
  entry.target = target;
  entry.schedule = func->getAttrOfType<ScheduleAttr>(MLADialect::kSchedule);
  if (!entry.schedule || !entry.schedule.isGPU())
    return func.emitError("requires an '")
           << MLADialect::kSchedule << "' of a GPU to be lowered to one";
  if (!func.getBody().hasOneBlock())
    return func.emitError("requires an entry of one block");
  entry.plan = findOnly<PlanOp>(func);
  entry.work = entry.plan ? findOnly<ForWorkOp>(func) : ForWorkOp();
  entry.loadQ = entry.work ? findOnly<LoadQOp>(func) : LoadQOp();
  entry.store = entry.loadQ ? findOnly<StoreOp>(func) : StoreOp();
  if (!entry.store)
    return failure();
  func.walk([&](StorePartialOp op) { entry.storePartial = op; });
  if (failed(analyzeLoops(entry)) || failed(checkOperands(entry)))
    return failure();

  entry.rows = entry.plan.getBlockM();
  entry.keys = entry.plan.getBlockN();
  if (entry.rows != entry.schedule.getBlockM() ||
      entry.keys != entry.schedule.getBlockN())
    return entry.plan.emitOpError("requires the tile of the schedule, ")
           << entry.schedule.getBlockM() << " x " << entry.schedule.getBlockN()
           << ", but got " << entry.rows << " x " << entry.keys;
  KVTileType tile = entry.loadKV.getResult().getType();
  entry.headDim = tile.getHeadDim();
  entry.headDimV = tile.getHeadDimV();
  entry.kvHeads = entry.plan.getKvHeads();
  entry.group = entry.plan.getGroup();
  entry.type = elementType(entry.loadKV.getK());
  entry.outType = elementType(entry.store.getOut());
  for (Value part : {entry.loadKV.getK(), entry.loadKV.getKRope()})
    if (part)
      entry.partWidths.push_back(
          cast<MemRefType>(part.getType()).getShape().back());

  if (elementType(entry.loadQ.getQ()) != entry.type)
    return markUnsupported(
               entry.loadQ.emitOpError("requires q of the type of k, "))
           << entry.type << ", but got " << elementType(entry.loadQ.getQ());
  if (std::optional<std::string> reason =
          checkWidths(entry.partWidths, entry.headDimV, entry.type))
    return markUnsupported(
               entry.loadKV.emitOpError("cannot be lowered to a GPU: "))
           << *reason;
  return entry;
}
