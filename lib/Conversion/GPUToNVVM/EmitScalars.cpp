//===- EmitScalars.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Control flow, scalar arithmetic and memrefs.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::mla_gpu;

LogicalResult NVVMEmitter::emitScalarOp(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitSCFIf(branch);
  if (isa<memref::MemRefDialect>(op.getDialect()))
    return emitMemRefOp(op);
  if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return emitArithOp(op);
  return op.emitOpError("requires a lowering to NVVM, but has none");
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> NVVMEmitter::terminatorRegisters(Block &block) {
  SmallVector<Value> result;
  for (Value operand : block.getTerminator()->getOperands())
    llvm::append_range(result, registers(operand));
  return result;
}

/// Tiles and memrefs are places, not values.
static LogicalResult checkCarried(Operation *op, TypeRange types) {
  for (Type type : types)
    if (isa<TileType, MemRefType, PipelineType>(type))
      return op->emitOpError(
                 "requires scalars and tensors as results, but got ")
             << type;
  return success();
}

LogicalResult NVVMEmitter::emitFor(scf::ForOp op) {
  if (failed(checkCarried(op, op.getResultTypes())))
    return failure();
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs())
    llvm::append_range(inits, registers(init));
  auto mapSlices = [&](ValueRange originals, ValueRange flat) {
    for (Value original : originals) {
      size_t count = convertType(original.getType()).size();
      map(original, flat.take_front(count));
      flat = flat.drop_front(count);
    }
  };
  Hazards before = hazards;
  assumeAccesses(op);
  int64_t barriersBefore = numBarriers;
  auto loop =
      scf::ForOp::create(b, loc, scalar(op.getLowerBound()),
                         scalar(op.getUpperBound()), scalar(op.getStep()),
                         inits, /*bodyBuilder=*/nullptr, op.getUnsignedCmp());
  {
    OpBuilder::InsertionGuard guard(b);
    Block &body = *loop.getBody();
    // Without values that it carries, the builder has put a yield there.
    if (!body.empty())
      body.back().erase();
    b.setInsertionPointToEnd(&body);
    map(op.getInductionVar(), opaque(loop.getInductionVar()));
    mapSlices(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(emitBlock(*op.getBody())))
      return failure();
    // So that a barrier of the next iteration need not fence for this one.
    if (hazards.unfenced && !before.unfenced && numBarriers > barriersBefore)
      fenceAsync();
    scf::YieldOp::create(b, loc, terminatorRegisters(*op.getBody()));
  }
  hazards.merge(before);
  mapSlices(op.getResults(), loop.getResults());
  return success();
}

LogicalResult NVVMEmitter::emitSCFIf(scf::IfOp op) {
  if (failed(checkCarried(op, op.getResultTypes())))
    return failure();
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    llvm::append_range(types, convertType(type));
  LogicalResult result = success();
  auto emitRegion = [&](Region &region) -> SmallVector<Value> {
    if (failed(result) || failed(emitBlock(region.front()))) {
      result = failure();
      return {};
    }
    return terminatorRegisters(region.front());
  };
  Value condition = scalar(op.getCondition());
  if (op.getElseRegion().empty()) {
    emitIf(condition, [&] { emitRegion(op.getThenRegion()); });
    return result;
  }
  SmallVector<Value> flat = emitIf(
      condition, types, [&] { return emitRegion(op.getThenRegion()); },
      [&] { return emitRegion(op.getElseRegion()); });
  ValueRange rest = flat;
  for (Value original : op.getResults()) {
    size_t count = convertType(original.getType()).size();
    map(original, rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// An integer as one of another width.
static Value resize(OpBuilder &b, Location loc, Value value, Type type,
                    bool isSigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from > to)
    return arith::TruncIOp::create(b, loc, type, value);
  if (isSigned)
    return arith::ExtSIOp::create(b, loc, type, value);
  return arith::ExtUIOp::create(b, loc, type, value);
}

LogicalResult NVVMEmitter::emitArithOp(Operation &op) {
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()),
                                SmallVector<Type>(op.getResultTypes())))
    if (!type.isIntOrIndexOrFloat() && !isa<TensorMapType>(type))
      return op.emitOpError("requires scalars, but got ") << type;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    map(op.getResult(0), resize(b, loc, scalar(op.getOperand(0)),
                                convertScalar(op.getResult(0).getType()),
                                isa<arith::IndexCastOp>(op)));
    return success();
  }
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constantOp.getValue();
    if (constantOp.getType().isIndex()) {
      int64_t number = cast<IntegerAttr>(value).getInt();
      if (!llvm::isInt<32>(number))
        return op.emitOpError("requires an index of 32 bits, but got ")
               << number;
      value = b.getI32IntegerAttr(number);
    }
    map(op.getResult(0), constant(value));
    return success();
  }
  OperationState state(loc, op.getName());
  for (Value operand : op.getOperands())
    state.operands.push_back(scalar(operand));
  for (Type type : op.getResultTypes())
    state.types.push_back(convertScalar(type));
  state.addAttributes(op.getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op.getPropertiesAsAttribute();
  Operation *copy = b.create(state);
  for (auto [original, result] : llvm::zip(op.getResults(), copy->getResults()))
    map(original, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

/// Whether each thread emits the op for an element or row of its own.
static bool isPerThread(Operation *op) {
  for (; op; op = op->getParentOp())
    if (isa<GatherOp, MapOp, ScanOp>(op))
      return true;
  return false;
}

LogicalResult NVVMEmitter::emitSharedMemRef(memref::AllocaOp op) {
  MemRefType type = op.getType();
  auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
  if (!space || space.getInt() != int64_t(kSharedSpace) ||
      !type.hasStaticShape())
    return op.emitOpError("requires a static shape in memory space ")
           << kSharedSpace << ", but got " << type;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  bool outlivesPlan = llvm::any_of(op->getUsers(), [](Operation *user) {
    return user->getParentOfType<WarpSpecializeOp>();
  });
  int64_t size = type.getNumElements() * bytes;
  int64_t offset =
      outlivesPlan ? reserveShared(size, bytes) : reserveScratch(size, bytes);
  GlobalMemory memory;
  memory.elementType = type.getElementType();
  memory.pointer = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace),
      sharedAddress(offset));
  auto [strides, unused] = type.getStridesAndOffset();
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    memory.sizes.push_back(b.getI64IntegerAttr(size));
    memory.strides.push_back(b.getI64IntegerAttr(stride));
  }
  mapMemory(op, std::move(memory));
  return success();
}

LogicalResult NVVMEmitter::emitMemRefOp(Operation &op) {
  auto indices = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return scalar(v); });
  };
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    Value pointer =
        elementPointer(memory(load.getMemRef()), indices(load.getIndices()));
    Type type = convertScalar(load.getType());
    bool isBool = type.isInteger(1);
    Value value = LLVM::LoadOp::create(
        b, loc, isBool ? Type(b.getI8Type()) : type, pointer);
    if (isa<IntegerType>(type) && role.hasMma && !isPerThread(&op))
      value = uniform(value);
    if (isBool)
      value = arith::TruncIOp::create(b, loc, type, value);
    map(load, value);
    return success();
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Value pointer =
        elementPointer(memory(store.getMemRef()), indices(store.getIndices()));
    Value value = scalar(store.getValue());
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
    LLVM::StoreOp::create(b, loc, value, pointer);
    return success();
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> number = dim.getConstantIndex();
    GlobalMemory &source = memory(dim.getSource());
    if (!number || *number < 0 || *number >= int64_t(source.sizes.size()))
      return op.emitOpError("requires the number of a dimension as a constant");
    OpFoldResult size = source.sizes[*number];
    if (auto attr = dyn_cast<Attribute>(size))
      map(dim, i32(cast<IntegerAttr>(attr).getInt()));
    else
      map(dim, Value(arith::TruncIOp::create(b, loc, b.getI32Type(),
                                             cast<Value>(size))));
    return success();
  }
  if (auto alloca = dyn_cast<memref::AllocaOp>(op))
    return emitSharedMemRef(alloca);
  if (auto cast = dyn_cast<memref::CastOp>(op)) {
    if (!isa<MemRefType>(cast.getType()))
      return op.emitOpError("requires a memref with a rank, but got ")
             << cast.getType();
    mapMemory(cast, GlobalMemory(memory(cast.getSource())));
    return success();
  }
  if (auto view = dyn_cast<memref::SubViewOp>(op)) {
    const GlobalMemory &source = memory(view.getSource());
    auto asI32 = [&](OpFoldResult value) -> Value {
      if (auto attr = dyn_cast<Attribute>(value))
        return i32(cast<IntegerAttr>(attr).getInt());
      return scalar(cast<Value>(value));
    };
    auto asI64 = [&](OpFoldResult value) -> OpFoldResult {
      if (isa<Attribute>(value))
        return value;
      return Value(arith::ExtSIOp::create(b, loc, b.getI64Type(),
                                          scalar(cast<Value>(value))));
    };
    GlobalMemory result;
    result.elementType = source.elementType;
    SmallVector<Value> offsets;
    for (OpFoldResult offset : view.getMixedOffsets())
      offsets.push_back(asI32(offset));
    result.pointer = elementPointer(source, offsets);
    llvm::SmallBitVector dropped = view.getDroppedDims();
    for (auto [i, size, step, stride] : llvm::enumerate(
             view.getMixedSizes(), view.getMixedStrides(), source.strides)) {
      if (dropped[i])
        continue;
      if (getConstantIntValue(step) != 1)
        return op.emitOpError("requires strides of 1");
      result.sizes.push_back(asI64(size));
      result.strides.push_back(stride);
    }
    mapMemory(view, std::move(result));
    return success();
  }
  return op.emitOpError("requires a lowering to NVVM, but has none");
}
