//===- HostEmitter.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEmitter.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mla;

HostEmitter::HostEmitter(OpBuilder &builder, TargetAttr target,
                         ScheduleAttr schedule, PlanOp plan,
                         Value scratchArgument, Value worker)
    : builder(builder), loc(scratchArgument.getLoc()), target(target),
      schedule(schedule), plan(plan), lanes(target.getLanes()),
      rowLanes(std::min(lanes, schedule.getBlockM())),
      f32(builder.getF32Type()) {
  // The argument is [workers, bytes of each].
  SmallVector<ReassociationIndices> both = {{0, 1}};
  scratch =
      memref::CollapseShapeOp::create(builder, loc, scratchArgument, both);
  Value bytes = memref::DimOp::create(builder, loc, scratchArgument, 1);
  scratchBase = mul(worker, bytes);
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult HostEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    loc = op.getLoc();
    if (failed(emitOp(op)))
      return failure();
  }
  return success();
}

/// Tiles are updated in place, so a value that an op takes over must have no
/// other use.
static LogicalResult requireSingleUse(Operation &op, ValueRange taken) {
  for (Value value : taken)
    if (!value.hasOneUse()) {
      InFlightDiagnostic diag =
          op.emitOpError("requires values that it updates in place to have a "
                         "single use, but one has ")
          << std::distance(value.use_begin(), value.use_end());
      diag.attachNote(value.getLoc()) << "this value";
      return diag;
    }
  return success();
}

LogicalResult HostEmitter::emitOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp o) { return emitFor(o); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](ScoreOp o) {
        return failed(requireSingleUse(op, o.getScores())) ? failure()
                                                           : emit(o);
      })
      .Case([&](MaskOp o) {
        return failed(requireSingleUse(op, o.getScores())) ? failure()
                                                           : emit(o);
      })
      .Case([&](SoftmaxStepOp o) {
        if (failed(requireSingleUse(op, o.getOperands())))
          return failure();
        emit(o);
        return success();
      })
      .Case([&](PVOp o) {
        if (failed(requireSingleUse(op, {o.getO(), o.getAlpha()})))
          return failure();
        emit(o);
        return success();
      })
      .Case([&](FinalizeOp o) {
        if (failed(requireSingleUse(op, o.getOperands())))
          return failure();
        emit(o);
        return success();
      })
      .Case<LoadQOp, LoadKVOp, QKOp, InitOp, CombineOp, StoreOp,
            StorePartialOp>([&](auto o) {
        emit(o);
        return success();
      })
      .Case([&](FullTilesOp o) {
        auto [begin, end] =
            expandFullTiles(builder, o, plan, itemOf(o.getItem()),
                            mapping.lookupOrDefault(o.getFirst()),
                            mapping.lookupOrDefault(o.getLast()));
        mapping.map(o.getBegin(), begin);
        mapping.map(o.getEnd(), end);
        return success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (isa_and_nonnull<MLADialect>(o->getDialect()))
          return o->emitOpError("has no lowering to the host");
        builder.clone(*o, mapping);
        return success();
      });
}

LogicalResult HostEmitter::emitFor(scf::ForOp op) {
  for (auto [argument, init] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getInitArgs())) {
    if (!isa<RankedTensorType>(argument.getType()))
      return op.emitOpError(
                 "requires loop-carried values of tile tensors, but got ")
             << argument.getType();
    update(argument, init);
  }
  auto loop = scf::ForOp::create(builder, loc,
                                 mapping.lookupOrDefault(op.getLowerBound()),
                                 mapping.lookupOrDefault(op.getUpperBound()),
                                 mapping.lookupOrDefault(op.getStep()));
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  for (auto [result, argument, next] :
       llvm::zip_equal(op.getResults(), op.getRegionIterArgs(),
                       op.getBody()->getTerminator()->getOperands())) {
    if (buffers.at(next).memref != buffers.at(argument).memref)
      return op.emitOpError(
          "requires to yield each loop-carried value in its own place");
    update(result, argument);
  }
  return success();
}

LogicalResult HostEmitter::emitIf(scf::IfOp op) {
  if (op.getNumResults())
    return op.emitOpError("requires no results to be lowered to the host");
  auto branch = scf::IfOp::create(builder, loc,
                                  mapping.lookupOrDefault(op.getCondition()),
                                  op.elseBlock() != nullptr);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitBlock(*op.thenBlock())))
    return failure();
  if (!op.elseBlock())
    return success();
  builder.setInsertionPointToStart(branch.elseBlock());
  return emitBlock(*op.elseBlock());
}

//===----------------------------------------------------------------------===//
// Small pieces of IR
//===----------------------------------------------------------------------===//

Value HostEmitter::allocate(ArrayRef<int64_t> shape, Type elementType) {
  constexpr int64_t kAlignment = 64;
  auto type = MemRefType::get(shape, elementType);
  int64_t elementBytes =
      elementType.isIndex() ? 8 : elementType.getIntOrFloatBitWidth() / 8;
  Value offset = add(scratchBase, index(scratchBytes));
  scratchBytes +=
      llvm::alignTo(type.getNumElements() * elementBytes, kAlignment);
  return memref::ViewOp::create(builder, loc, type, scratch, offset,
                                ValueRange());
}

Value HostEmitter::f32Constant(float value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

Value HostEmitter::convertFloat(Value value, Type elementType) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == elementType)
    return value;
  Type to = elementType;
  if (auto vectorType = dyn_cast<VectorType>(value.getType()))
    to = vectorType.clone(elementType);
  if (from.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  return arith::TruncFOp::create(builder, loc, to, value);
}

Value HostEmitter::loadVector(Value memref, ValueRange indices, int64_t width) {
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  Value loaded = vector::LoadOp::create(
      builder, loc, VectorType::get(width, elementType), memref, indices);
  return convertFloat(loaded, f32);
}

void HostEmitter::storeVector(Value vector, Value memref, ValueRange indices) {
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  vector::StoreOp::create(builder, loc, convertFloat(vector, elementType),
                          memref, indices);
}

void HostEmitter::forLoop(Value low, Value high, int64_t step,
                          llvm::function_ref<void(Value)> body) {
  forLoop(low, high, step, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> HostEmitter::forLoop(
    Value low, Value high, int64_t step, ValueRange init,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, low, high, index(step), init);
  OpBuilder::InsertionGuard guard(builder);
  if (init.empty()) // has its terminator already
    builder.setInsertionPointToStart(loop.getBody());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void HostEmitter::forRowVectors(const ItemValues &item,
                                llvm::function_ref<void(Value)> body) {
  forLoop(index(0), item.numRows, rowLanes, body);
}

void HostEmitter::forVectors(int64_t columns,
                             llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = columns / lanes * lanes;
  if (whole)
    forLoop(index(0), index(whole), lanes,
            [&](Value column) { body(column, lanes); });
  if (columns > whole)
    body(index(whole), columns - whole);
}
