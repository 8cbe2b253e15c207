//===- DevicePlanner.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlanner.h"
#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::mla;

/// Fewer tiles a piece than sqrt(tiles of all units x row_blocks / this) cost
/// more in partial results of 64 rows, written and read, than they save.
/// Measured on an H200 for 64 x 512 f32; partial results of less rows are so
/// cheap that one tile is enough.
static constexpr double kTilesPerMerge = 20;
static constexpr int64_t kRowsPerMerge = 64;
/// What a change of the unit costs a CTA in tiles where rows are many: it loads
/// queries and stores partial results.
static constexpr int64_t kTilesPerChange = 3;

DevicePlanner::DevicePlanner(OpBuilder &builder, PlanOp plan, int64_t rowBlocks,
                             bool pairs)
    : plan(plan), ix(builder, plan.getLoc(), plan), zero(ix.zero), one(ix.one),
      rowBlocks(plan.getSplit() == SplitPolicy::RowLocal ? 1 : rowBlocks),
      pairs(pairs && plan.getSplit() == SplitPolicy::Balanced &&
            !plan.getQOffsets()),
      numWorkers(plan.getWorkers()) {
  emitGroups();
  // Where units are known before lengths are, so is what follows from them.
  if (!isRagged())
    emitRatios(numbers);
  emitTotals();
  if (isRagged())
    emitRatios(totalUnits);
  choosePolicy();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

bool DevicePlanner::isConstant(Value flag, bool value) {
  APInt constant;
  return matchPattern(flag, m_ConstantInt(&constant)) &&
         constant.getBoolValue() == value;
}

SmallVector<Value> DevicePlanner::branch(Value condition, unsigned count,
                                         llvm::function_ref<State()> emitThen,
                                         llvm::function_ref<State()> emitElse) {
  if (isConstant(condition, true))
    return emitThen();
  if (isConstant(condition, false))
    return emitElse();
  SmallVector<Type> types(count, ix.b.getIndexType());
  auto op = scf::IfOp::create(ix.b, ix.loc, types, condition,
                              /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(ix.b, ix.loc, emitThen());
  ix.b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(ix.b, ix.loc, emitElse());
  return State(op.getResults());
}

void DevicePlanner::when(Value condition, llvm::function_ref<void()> emitBody) {
  if (isConstant(condition, true))
    return emitBody();
  if (isConstant(condition, false))
    return;
  auto op = scf::IfOp::create(ix.b, ix.loc, condition,
                              /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(op.thenBlock());
  emitBody();
}

SmallVector<Value> DevicePlanner::scan(
    Value count, ArrayRef<StringRef> kinds,
    llvm::function_ref<State(Value)> values,
    llvm::function_ref<void(Value, ValueRange, ValueRange)> then) {
  OpBuilder &b = ix.b;
  SmallVector<Type> types(kinds.size(), b.getIndexType());
  auto op = mla_gpu::ScanOp::create(b, ix.loc, types, count,
                                    b.getStrArrayAttr(kinds));
  OpBuilder::InsertionGuard guard(b);
  auto addBlock = [&](Region &region, size_t arguments) {
    SmallVector<Type> all(arguments, b.getIndexType());
    return b.createBlock(&region, {}, all,
                         SmallVector<Location>(arguments, ix.loc));
  };
  Block *block = addBlock(op.getValues(), 1);
  mla_gpu::YieldOp::create(b, ix.loc, values(block->getArgument(0)));
  if (then) {
    block = addBlock(op.getThen(), 1 + 2 * kinds.size());
    ValueRange counts = block->getArguments().drop_front();
    then(block->getArgument(0), counts.take_front(kinds.size()),
         counts.drop_front(kinds.size()));
    mla_gpu::YieldOp::create(b, ix.loc, ValueRange());
  }
  return State(op.getResults());
}

//===----------------------------------------------------------------------===//
// Groups and units
//===----------------------------------------------------------------------===//

void DevicePlanner::emitGroups() {
  byCount = ix.flag(plan.getSplit() == SplitPolicy::RowLocal);
  pieceCount = one;
  if (plan.getSplit() == SplitPolicy::RowLocal)
    pieceCount = ix.constant(kMaxRowLocalSplits);
  if (plan.getSplits() && !isWhole()) {
    Value given = ix.cast(plan.getSplits());
    Value isGiven = ix.less(zero, given);
    pieceCount = ix.select(isGiven, given, pieceCount);
    if (plan.getSplit() == SplitPolicy::Balanced)
      byCount = isGiven;
  }

  groupSize = one, groups = numWorkers;
  if (rowBlocks > 1) {
    Value size = ix.constant(rowBlocks);
    narrow = ix.either(ix.less(numWorkers, size), byCount);
    groupSize = ix.select(narrow, one, size);
    groups = ix.select(narrow, numWorkers, ix.floorDiv(numWorkers, size));
  }
  groups = ix.min(groups, ix.constant(kMaxGroups));

  numbers = ix.batch();
  if (isRagged())
    return;
  ItemValues any;
  any.qLen = plan.getQueries();
  uniformBlocks = blocksOf(any);
  uniformUnits = unitsOf(uniformBlocks);
  perRequest = ix.mul(uniformUnits, ix.kvHeads);
  numbers = ix.mul(numbers, perRequest);
}

Value DevicePlanner::blocksOf(const ItemValues &request) {
  return ix.ceilDiv(ix.rows(request), ix.blockM);
}

Value DevicePlanner::unitsOf(Value blocks) {
  if (!narrow)
    return blocks;
  return ix.select(narrow, blocks, ix.ceilDiv(blocks, ix.constant(rowBlocks)));
}

DevicePlanner::Unit DevicePlanner::unitAt(ItemValues request, Value index,
                                          Value units, Value blocks) {
  Unit unit;
  unit.item = request;
  unit.item.kvHead = zero;
  if (plan.getKvHeads() > 1) {
    unit.item.kvHead = ix.floorDiv(index, units);
    index = ix.sub(index, ix.mul(unit.item.kvHead, units));
  }
  Value firstBlock = ix.mul(index, groupSize);
  unit.item.firstRow = ix.mul(firstBlock, ix.blockM);
  unit.blocks = ix.min(ix.sub(blocks, firstBlock), groupSize);
  ix.fillRows(unit.item, ix.mul(groupSize, ix.blockM));
  unit.tiles = ix.max(unit.item.numTiles, one);
  return unit;
}

SmallVector<Value>
DevicePlanner::forUnits(Value number, ValueRange init,
                        llvm::function_ref<State(Unit &, ValueRange)> visit) {
  if (!isRagged()) {
    // Mostly a request is one unit, and needs no division.
    State place = branch(
        ix.equal(perRequest, one), 2, [&] { return State{number, zero}; },
        [&] {
          Value request = ix.floorDiv(number, perRequest);
          return State{request, ix.sub(number, ix.mul(request, perRequest))};
        });
    Unit unit =
        unitAt(ix.request(place[0]), place[1], uniformUnits, uniformBlocks);
    return visit(unit, init);
  }
  ItemValues request = ix.request(number);
  Value blocks = blocksOf(request);
  Value units = unitsOf(blocks);
  auto loop = scf::ForOp::create(ix.b, ix.loc, zero, ix.mul(units, ix.kvHeads),
                                 one, init);
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPointToStart(loop.getBody());
  Unit unit = unitAt(request, loop.getInductionVar(), units, blocks);
  State next = visit(unit, loop.getRegionIterArgs());
  // A loop without a state has its terminator already.
  if (!init.empty())
    scf::YieldOp::create(ix.b, ix.loc, next);
  return State(loop.getResults());
}

//===----------------------------------------------------------------------===//
// The line
//===----------------------------------------------------------------------===//

void DevicePlanner::emitRatios(Value units) {
  unitsPerGroup = ix.ceilDiv(units, groups);
  groupsPerUnit = ix.max(ix.floorDiv(groups, ix.max(units, one)), one);
}

void DevicePlanner::emitTotals() {
  SmallVector<StringRef> kinds = {"sum", "max"};
  if (isRagged())
    kinds.push_back("sum");
  State totals = scan(
      numbers, kinds,
      [&](Value number) {
        return forUnits(number, State(kinds.size(), zero),
                        [&](Unit &unit, ValueRange state) {
                          State next = {ix.add(state[0], unit.tiles),
                                        ix.max(state[1], unit.tiles)};
                          if (isRagged())
                            next.push_back(ix.add(state[2], one));
                          return next;
                        });
      },
      nullptr);
  totalTiles = totals[0], longest = totals[1];
  totalUnits = isRagged() ? totals[2] : numbers;
}

Value DevicePlanner::leastPiece() {
  if (plan.getBlockM() < uint64_t(kRowsPerMerge))
    return one;
  OpBuilder &b = ix.b;
  double factor = rowBlocks * plan.getBlockM() / kRowsPerMerge / kTilesPerMerge;
  Type f32 = b.getF32Type();
  auto constant = [&](double value) {
    return arith::ConstantOp::create(b, ix.loc, b.getF32FloatAttr(value));
  };
  Value tiles =
      arith::IndexCastOp::create(b, ix.loc, b.getI32Type(), totalTiles);
  Value real = arith::SIToFPOp::create(b, ix.loc, f32, tiles);
  real = arith::MulFOp::create(b, ix.loc, real, constant(factor));
  real = math::SqrtOp::create(b, ix.loc, real);
  // Rounds up, all but exactly.
  real = arith::AddFOp::create(b, ix.loc, real, constant(0.999));
  return ix.cast(arith::FPToSIOp::create(b, ix.loc, b.getI32Type(), real));
}

void DevicePlanner::choosePolicy() {
  Value T = totalTiles, U = totalUnits, G = groups;
  Value mean = ix.ceilDiv(T, G);
  Value meanOfRanges = ix.ceilDiv(ix.add(T, U), G);
  isCut = isPaired = ix.flag(false);
  if (isWhole()) {
    roundTo = one, extra = one, share = ix.max(meanOfRanges, one);
  } else {
    Value aim = ix.max(mean, leastPiece());
    // As many whole units for each group, unless one then has 1/16 too much.
    Value wholeShare = ix.mul(unitsPerGroup, longest);
    Value slack = ix.add(ix.floorDiv(aim, ix.constant(16)), one);
    Value isWhole = ix.lessEqual(wholeShare, ix.add(aim, slack));

    // The shortest piece with which each group has one at the most is hard to
    // find; these two are long enough, for units of a length or of many: G / U
    // pieces of each unit; and p with sum ceil(n / p) <= (T - U) / p + U <= G.
    Value even = ix.ceilDiv(longest, groupsPerUnit);
    Value spare = ix.sub(G, U);
    Value uneven = ix.ceilDiv(ix.sub(T, U), ix.max(spare, one));
    uneven = ix.select(ix.less(zero, spare), uneven, even);
    Value piece = ix.max(aim, ix.min(even, uneven));
    Value most = ix.add(aim, ix.floorDiv(aim, ix.constant(4)));
    if (plan.getBlockM() >= uint64_t(kRowsPerMerge))
      most = ix.add(most, ix.constant(kTilesPerChange));
    Value isAligned = ix.both(ix.lessEqual(U, G), ix.lessEqual(piece, most));

    roundTo = ix.select(isWhole, longest, ix.select(isAligned, piece, one));
    extra = ix.select(ix.either(isWhole, isAligned), zero, one);
    share = ix.select(isWhole, wholeShare,
                      ix.select(isAligned, piece, ix.max(meanOfRanges, aim)));
    if (mayCount()) {
      roundTo = ix.select(byCount, one, roundTo);
      extra = ix.select(byCount, zero, extra);
      share = ix.select(byCount, mean, share);
    }
    if (pairs)
      choosePairs(isWhole, aim);
    share = ix.max(share, one);
    Value isKept = ix.either(ix.either(isWhole, byCount), isPaired);
    isCut = ix.compare(arith::CmpIPredicate::eq, isKept, ix.flag(false));
  }
}

void DevicePlanner::choosePairs(Value isWhole, Value aim) {
  Value two = ix.constant(2);
  Value half = ix.ceilDiv(longest, two);
  // What a launch knows, which makes clusters then: Arguments::hasPairs.
  Value isEven = ix.equal(ix.mul(ix.floorDiv(groups, two), two), groups);
  Value hasTwo = ix.both(ix.equal(groupsPerUnit, two), isEven);
  // The merge that is saved is worth some imbalance: half of the mean.
  Value most = ix.add(aim, ix.floorDiv(aim, two));
  isPaired = ix.both(hasTwo, ix.lessEqual(half, most));
  Value isOther = ix.either(isWhole, byCount);
  isPaired = ix.select(isOther, ix.flag(false), isPaired);
  roundTo = ix.select(isPaired, ix.mul(half, two), roundTo);
  extra = ix.select(isPaired, zero, extra);
  share = ix.select(isPaired, half, share);
}

Value DevicePlanner::weight(const Unit &unit) {
  if (isWhole())
    return ix.add(unit.tiles, one);
  Value divides = ix.both(ix.less(one, roundTo), ix.less(roundTo, unit.tiles));
  Value rounded = branch(
      divides, 1,
      [&] { return State{ix.mul(ix.ceilDiv(unit.tiles, roundTo), roundTo)}; },
      [&] { return State{ix.max(unit.tiles, roundTo)}; })[0];
  return ix.add(rounded, extra);
}

DevicePlanner::Cut DevicePlanner::cut(const Unit &unit) {
  Value size = ix.ceilDiv(unit.tiles, pieceCount);
  if (plan.getSplit() == SplitPolicy::RowLocal)
    size = ix.max(size, ix.constant(plan.getSplitTiles()));
  return {size, unit.pieces ? unit.pieces : ix.ceilDiv(unit.tiles, size)};
}
