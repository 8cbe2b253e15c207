//===- RoleBuilder.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla_gpu;

Location mla_gpu::nameLoc(Location loc, const Twine &name) {
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

RankedTensorType FragmentTypes::matrix(Type element) const {
  return RankedTensorType::get({rows, columns}, element, layout);
}

RankedTensorType FragmentTypes::row(Type element) const {
  return RankedTensorType::get(
      {rows}, element, SliceLayoutAttr::get(layout.getContext(), 1, layout));
}

RankedTensorType FragmentTypes::lanes(Type element) const {
  return RankedTensorType::get(
      {rows, layout.getThreadsPerRow()}, element,
      LanesLayoutAttr::get(layout.getContext(), layout));
}

RoleBuilder::RoleBuilder(Location loc, func::FuncOp func)
    : ImplicitLocOpBuilder(loc, func.getContext()), func(func) {
  setInsertionPointToEnd(&func.getBody().front());
}

Value RoleBuilder::named(StringRef name, Value value) {
  value.setLoc(nameLoc(value.getLoc(), name));
  return value;
}

Value RoleBuilder::index(int64_t value) {
  Value &constant = indices[value];
  if (!constant) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(&func.getBody().front());
    constant = arith::ConstantIndexOp::create(*this, value);
  }
  return constant;
}

Value RoleBuilder::add(Value x, Value y) {
  return arith::AddIOp::create(*this, x, y);
}
Value RoleBuilder::sub(Value x, Value y) {
  return arith::SubIOp::create(*this, x, y);
}
Value RoleBuilder::mul(Value x, Value y) {
  return arith::MulIOp::create(*this, x, y);
}
Value RoleBuilder::floorDiv(Value x, Value y) {
  return arith::DivUIOp::create(*this, x, y);
}
Value RoleBuilder::rem(Value x, Value y) {
  return arith::RemUIOp::create(*this, x, y);
}
Value RoleBuilder::max(Value x, Value y) {
  return arith::MaxSIOp::create(*this, x, y);
}
Value RoleBuilder::min(Value x, Value y) {
  return arith::MinSIOp::create(*this, x, y);
}
Value RoleBuilder::less(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, x, y);
}
Value RoleBuilder::isSame(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, x, y);
}
Value RoleBuilder::isNot(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, x, y);
}
Value RoleBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(*this, condition, x, y);
}

Value RoleBuilder::load(Value list, ValueRange indices) {
  Value value = memref::LoadOp::create(*this, list, indices);
  return arith::IndexCastOp::create(*this, getIndexType(), value);
}

SmallVector<Value> RoleBuilder::loop(Value begin, Value end, ValueRange carried,
                                     LoopBody body) {
  auto loop = scf::ForOp::create(
      *this, begin, end, index(1), carried,
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        // The op is being built: this builder has to be where it is.
        InsertionGuard guard(*this);
        setInsertionPointToEnd(number.getParentBlock());
        scf::YieldOp::create(*this, body(number, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> RoleBuilder::branch(Value condition, Branch yes, Branch no) {
  auto filled = [&](Branch fill) {
    return [this, fill](OpBuilder &nested, Location) {
      InsertionGuard guard(*this);
      setInsertionPointToEnd(nested.getInsertionBlock());
      scf::YieldOp::create(*this, fill());
    };
  };
  auto branch = scf::IfOp::create(*this, condition, filled(yes), filled(no));
  return SmallVector<Value>(branch.getResults());
}

void RoleBuilder::when(Value condition, llvm::function_ref<void()> yes) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  yes();
}

Value RoleBuilder::splat(RankedTensorType type, float value) {
  return arith::ConstantOp::create(*this, DenseElementsAttr::get(type, value));
}

Value RoleBuilder::spread(Value value, RankedTensorType type) {
  return BroadcastOp::create(*this, type, value);
}

Value RoleBuilder::reduce(Reduction kind, Value value, RankedTensorType type) {
  return RowReduceOp::create(*this, type, kind, value);
}

SmallVector<Value> RoleBuilder::ifAny(Value condition, ValueRange old,
                                      Branch yes) {
  auto op = IfAnyOp::create(*this, old.getTypes(), condition, old);
  InsertionGuard guard(*this);
  createBlock(&op.getBody());
  YieldOp::create(*this, yes());
  return SmallVector<Value>(op.getResults());
}

Value RoleBuilder::multiply(Value lhs, Value rhs, Value acc,
                            RankedTensorType type, bool transposed) {
  return MmaOp::create(*this, InflightType::get(getContext(), type), lhs, rhs,
                       acc, transposed);
}

Value RoleBuilder::finish(Value inflight) {
  Type type = cast<InflightType>(inflight.getType()).getValue();
  return MmaWaitOp::create(*this, type, inflight).getResult();
}

void RoleBuilder::drain(Value inflight) {
  MmaWaitOp::create(*this, Type(), inflight);
}

Value RoleBuilder::view(Value tile, int64_t begin, int64_t end) {
  auto type = cast<TileType>(tile.getType());
  if (begin == 0 && end == type.getColumns())
    return tile;
  return ViewOp::create(*this, tile, uint64_t(begin), uint64_t(end));
}
