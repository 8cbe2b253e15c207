//===- EmitElementwise.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::mla_gpu;

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// `index` is i32, so that a cast may have nothing to do.
static Value emitIndexCast(NVVMEmitter &e, Value x, Type type, bool isSigned) {
  unsigned from = x.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (to < from)
    return arith::TruncIOp::create(e.b, e.loc, type, x);
  if (isSigned)
    return arith::ExtSIOp::create(e.b, e.loc, type, x);
  return arith::ExtUIOp::create(e.b, e.loc, type, x);
}

/// What an elementwise op computes of one element. Functions of math are
/// approximated afterwards, as those of scalars are.
static Value emitElement(NVVMEmitter &e, Operation &op, ValueRange operands) {
  Type result = e.convertScalar(getElementTypeOrSelf(op.getResult(0)));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return emitIndexCast(e, operands[0], result, isa<arith::IndexCastOp>(op));
  if (auto division = dyn_cast<arith::DivFOp>(op);
      division && matchPattern(division.getLhs(), m_OneFloat()))
    return e
        .ptx("rcp.approx.ftz.f32 $0, $1;", "=f,f", result, operands[1],
             /*pure=*/true)
        .front();
  // One instruction each: NaN never decides.
  if (result.isF32() && isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return LLVM::MaxNumOp::create(e.b, e.loc, operands[0], operands[1]);
  if (result.isF32() && isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    return LLVM::MinNumOp::create(e.b, e.loc, operands[0], operands[1]);
  OperationState state(e.loc, op.getName(), operands, result,
                       llvm::to_vector(op.getDiscardableAttrs()));
  state.propertiesAttr = op.getPropertiesAsAttribute();
  return e.b.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool isPacked(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && FragmentLayout(tensor).isPacked();
}

/// Two f32 registers to one.
static LogicalResult emitTruncF(NVVMEmitter &e, arith::TruncFOp op) {
  if (!getElementTypeOrSelf(op.getIn()).isF32())
    return op.emitOpError("requires elements of f32 to round, but got ")
           << op.getIn().getType();
  StringRef text = getElementTypeOrSelf(op.getType()).isBF16()
                       ? "cvt.rn.bf16x2.f32 $0, $1, $2;"
                       : "cvt.rn.f16x2.f32 $0, $1, $2;";
  ArrayRef<Value> in = e.registers(op.getIn());
  SmallVector<Value> out;
  for (size_t i = 0; i < in.size(); i += 2)
    out.push_back(e.ptx(text, "=r,f,f", e.b.getI32Type(), {in[i + 1], in[i]},
                        /*pure=*/true)
                      .front());
  e.map(op, out);
  return success();
}

/// One register to two of f32: bf16 is the high half of that.
static LogicalResult emitExtF(NVVMEmitter &e, arith::ExtFOp op) {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return op.emitOpError("requires a result of f32, but got ") << op.getType();
  Type f32 = e.b.getF32Type(), element = getElementTypeOrSelf(op.getIn());
  SmallVector<Value> out;
  for (Value pair : e.registers(op.getIn()))
    for (bool high : {false, true}) {
      if (element.isBF16()) {
        Value bits = high ? e.andi(pair, 0xffff0000) : e.shl(pair, 16);
        out.push_back(arith::BitcastOp::create(e.b, e.loc, f32, bits));
        continue;
      }
      Value half = arith::TruncIOp::create(e.b, e.loc, e.b.getI16Type(),
                                           e.shr(pair, high ? 16 : 0));
      half = arith::BitcastOp::create(e.b, e.loc, element, half);
      out.push_back(arith::ExtFOp::create(e.b, e.loc, f32, half));
    }
  e.map(op.getResult(), out);
  return success();
}

LogicalResult mla_gpu::emitElementwise(NVVMEmitter &e, Operation &op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
      !op.hasTrait<OpTrait::Elementwise>() || op.getNumResults() != 1)
    return op.emitOpError("has no lowering on fragments");
  auto result = cast<RankedTensorType>(op.getResult(0).getType());
  if (auto truncf = dyn_cast<arith::TruncFOp>(op); truncf && isPacked(result))
    return emitTruncF(e, truncf);
  if (auto extf = dyn_cast<arith::ExtFOp>(op);
      extf && isPacked(extf.getIn().getType()))
    return emitExtF(e, extf);
  if (isPacked(result) || llvm::any_of(op.getOperandTypes(), isPacked))
    return op.emitOpError("requires elements of 32 bits: 16-bit tensors are "
                          "rounded, extended, stored and multiplied only");
  SmallVector<Value> out;
  for (size_t i = 0, n = getFragmentTypes(result).size(); i < n; ++i) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      ArrayRef<Value> registers = e.registers(operand);
      bool tensor = isa<RankedTensorType>(operand.getType());
      operands.push_back(tensor ? registers[i] : registers.front());
    }
    out.push_back(emitElement(e, op, operands));
  }
  e.map(op.getResult(0), out);
  return success();
}

LogicalResult mla_gpu::emitSplat(NVVMEmitter &e, arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  auto type = cast<RankedTensorType>(op.getType());
  if (!elements || !elements.isSplat() || isPacked(type))
    return op.emitOpError("requires one value for all elements, of 32 bits, "
                          "but got ")
           << op.getValue();
  auto value = elements.getSplatValue<TypedAttr>();
  if (type.getElementType().isIndex())
    value = e.b.getI32IntegerAttr(cast<IntegerAttr>(value).getInt());
  Value all = arith::ConstantOp::create(e.b, e.loc, value);
  e.map(op, SmallVector<Value>(getFragmentTypes(type).size(), all));
  return success();
}

/// Whether the map goes on with what another one made, as a mask does with what
/// score code made. What both compute alike, as positions of keys, would be
/// kept from one to the other, a register for each element.
static bool followsMap(MapOp op) {
  return llvm::any_of(op.getValues(), [](Value value) {
    return bool(value.getDefiningOp<MapOp>());
  });
}

/// What the map's code captures of integers.
static SmallVector<Value> findCaptured(MapOp op) {
  llvm::SetVector<Value> captured;
  op.getBody().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getType().isIntOrIndex() &&
          !op.getBody().isAncestor(operand.getParentRegion()) &&
          !matchPattern(operand, m_Constant()))
        captured.insert(operand);
  });
  return captured.takeVector();
}

LogicalResult mla_gpu::emitMap(NVVMEmitter &e, MapOp op) {
  if (isPacked(op.getType()) ||
      llvm::any_of(op.getValues().getTypes(), isPacked))
    return op.emitOpError("requires elements of 32 bits");
  bool apart = followsMap(op);
  SmallVector<std::pair<Value, Value>> captured; // with their own values
  for (Value value : apart ? findCaptured(op) : SmallVector<Value>()) {
    Value before = e.scalar(value);
    if (!before.getType().isInteger(32))
      continue;
    captured.emplace_back(value, before);
    e.map(value, e.opaque(before));
  }
  llvm::SmallDenseMap<Value, Value> ofRows;
  SmallVector<SmallVector<Value>> operands;
  for (Value value : op.getValues()) {
    operands.emplace_back(e.registers(value));
    if (!apart || !value.getDefiningOp<BroadcastOp>())
      continue;
    for (Value &element : operands.back()) {
      Value &mine = ofRows[element];
      if (!mine)
        mine = e.opaque(element);
      element = mine;
    }
  }
  Block &body = op.getBody().front();
  SmallVector<Value> out;
  for (size_t i = 0, n = getFragmentTypes(op.getType()).size(); i < n; ++i) {
    for (auto [argument, registers] :
         llvm::zip_equal(body.getArguments(), operands))
      e.map(argument, registers[i]);
    if (failed(e.emitBlock(body)))
      return failure();
    out.push_back(e.scalar(body.getTerminator()->getOperand(0)));
  }
  for (auto [value, before] : captured)
    e.map(value, before);
  e.map(op.getResult(), out);
  return success();
}
