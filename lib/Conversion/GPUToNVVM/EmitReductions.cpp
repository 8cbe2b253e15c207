//===- EmitReductions.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::mla_gpu;

//===----------------------------------------------------------------------===//
// Row reductions
//===----------------------------------------------------------------------===//

static Value combine(NVVMEmitter &e, Reduction kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(x.getType());
  if (kind == Reduction::Sum) {
    if (isFloat)
      return arith::AddFOp::create(e.b, e.loc, x, y);
    return e.add(x, y);
  }
  if (isFloat)
    return LLVM::MaxNumOp::create(e.b, e.loc, x, y);
  return arith::MaxSIOp::create(e.b, e.loc, x, y);
}

/// Combines neighbours until one is left: short chains, and always one order.
static Value combineTree(NVVMEmitter &e, Reduction kind,
                         SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> half;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      half.push_back(combine(e, kind, values[i], values[i + 1]));
    if (values.size() % 2)
      half.push_back(values.back());
    values = std::move(half);
  }
  return values.front();
}

/// What the thread itself has of each of its rows.
static SmallVector<Value> reduceInThread(NVVMEmitter &e, RowReduceOp op) {
  FragmentLayout layout(cast<RankedTensorType>(op.getValue().getType()));
  ArrayRef<Value> registers = e.registers(op.getValue());
  SmallVector<SmallVector<Value>> rows;
  for (auto [i, value] : llvm::enumerate(registers)) {
    size_t row = layout.getSliceElement(1, i);
    if (rows.size() <= row)
      rows.resize(row + 1);
    rows[row].push_back(value);
  }
  SmallVector<Value> result;
  for (SmallVector<Value> &row : rows)
    result.push_back(combineTree(e, op.getKind(), row));
  return result;
}

/// Whether the result is one of rows that are spread over the role's warps.
static bool exchangesBetweenWarps(RowReduceOp op) {
  Attribute encoding =
      cast<RankedTensorType>(op.getResult().getType()).getEncoding();
  return isa<SliceLayoutAttr>(encoding) && !getMmaLayout(encoding).isRowsAsM();
}

/// Which of the roles that share a region this thread is of; null if there is
/// only one.
static Value numberOfRole(NVVMEmitter &e, Region &body) {
  auto roles = dyn_cast<WarpSpecializeOp>(body.getParentOp());
  if (!roles)
    return {};
  unsigned first = roles.getFirstRole(body), count = 0;
  while (first + count < roles.getNumRoles() &&
         &roles.getBody(first + count) == &body)
    ++count;
  if (count == 1)
    return {};
  int64_t warps = 0;
  for (unsigned role = 0; role < first; ++role)
    warps += roles.getWarps()[role];
  Value begin = e.i32(warps * kWarpThreads);
  return arith::DivUIOp::create(e.b, e.loc, e.sub(e.threadOfCTA(), begin),
                                e.i32(e.roleThreads()));
}

/// Reserves what the widest exchange of the role needs, twice.
static void prepareExchange(NVVMEmitter &e, Region &body,
                            RowExchange &exchange) {
  int64_t rows = 0;
  body.walk([&](RowReduceOp op) {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    if (exchangesBetweenWarps(op))
      rows = std::max(rows, type.getDimSize(0));
  });
  int64_t roles = 1;
  if (auto op = dyn_cast<WarpSpecializeOp>(body.getParentOp()))
    roles = op.getSharing()[body.getRegionNumber()];
  exchange.bytes = kWarpgroupWarps * rows * 4;
  exchange.offset = e.reserveShared(2 * exchange.bytes * roles, 16);

  // A variable of the thread, which becomes a register.
  OpBuilder::InsertionGuard guard(e.b);
  Operation *function = e.b.getInsertionBlock()->getParentOp();
  while (!isa<FunctionOpInterface>(function))
    function = function->getParentOp();
  e.b.setInsertionPointToStart(&function->getRegion(0).front());
  exchange.turn = LLVM::AllocaOp::create(
      e.b, e.loc, LLVM::LLVMPointerType::get(e.b.getContext()),
      e.b.getI32Type(), e.i32(1));
  LLVM::StoreOp::create(e.b, e.loc, e.i32(0), exchange.turn);
}

/// The half of the scratch that is next. Halves take turns each time that an
/// exchange is executed, whichever op does it, so one barrier is enough: who
/// writes a half again has passed the barrier of the exchange in between, and
/// to that all threads came after they had read this half.
static Value nextHalf(NVVMEmitter &e, Region &body) {
  RowExchange &exchange = e.rowExchange(&body);
  if (!exchange.turn)
    prepareExchange(e, body, exchange);
  Value turn =
      LLVM::LoadOp::create(e.b, e.loc, e.b.getI32Type(), exchange.turn);
  LLVM::StoreOp::create(e.b, e.loc, e.sub(e.i32(exchange.bytes), turn),
                        exchange.turn);
  Value address = e.add(e.sharedAddress(exchange.offset), turn);
  if (Value number = numberOfRole(e, body))
    address = e.add(address, e.mul(number, e.i32(2 * exchange.bytes)));
  return address;
}

/// Keys as M: each warp has the values of all rows, over its own keys. They lie
/// as warps x rows of 32 bits; each thread stores and reads pairs of rows.
static SmallVector<Value> reduceOverWarps(NVVMEmitter &e, RowReduceOp op,
                                          ArrayRef<Value> values) {
  Region *role = getRoleBody(op);
  Value address =
      nextHalf(e, role ? *role : op->getParentOfType<func::FuncOp>().getBody());
  ThreadPosition thread(e);
  int64_t rows = values.size() * 4;
  Value mine = sharedPointer(e, e.add(address, e.shl(thread.quad, 3)));
  Value first = e.cmp(arith::CmpIPredicate::ult, thread.lane, e.i32(4));
  e.emitIf(first, [&] {
    Value warp =
        LLVM::GEPOp::create(e.b, e.loc, mine.getType(), e.b.getI8Type(), mine,
                            LLVM::GEPArg(e.mul(thread.warp, e.i32(rows * 4))));
    for (size_t i = 0; i < values.size(); i += 2)
      storeWords(e, advance(e, warp, i * 16), {values[i], values[i + 1]});
  });
  e.roleBarrier();
  SmallVector<Value> result;
  for (size_t i = 0; i < values.size(); i += 2) {
    SmallVector<Value> low, high;
    for (int64_t warp = 0; warp < kWarpgroupWarps; ++warp) {
      SmallVector<Value> pair =
          loadWords(e, advance(e, mine, warp * rows * 4 + i * 16),
                    values[i].getType(), 2);
      low.push_back(pair[0]);
      high.push_back(pair[1]);
    }
    result.push_back(combineTree(e, op.getKind(), low));
    result.push_back(combineTree(e, op.getKind(), high));
  }
  return result;
}

LogicalResult mla_gpu::emitRowReduce(NVVMEmitter &e, RowReduceOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!type.getElementType().isF32() && !type.getElementType().isIndex() &&
      !type.getElementType().isInteger(32))
    return op.emitOpError("requires elements of f32, i32 or index, but got ")
           << type.getElementType();
  SmallVector<Value> values = reduceInThread(e, op);
  if (isa<SliceLayoutAttr>(type.getEncoding())) {
    // Lanes that share a row follow each other, or are 4 apart.
    bool rowsAsM = getMmaLayout(type.getEncoding()).isRowsAsM();
    for (int64_t mask = rowsAsM ? 1 : 4; mask < (rowsAsM ? 4 : 32); mask *= 2)
      for (Value &value : values)
        value = combine(e, op.getKind(), value, shuffleXor(e, value, mask));
    if (!rowsAsM)
      values = reduceOverWarps(e, op, values);
  }
  e.map(op.getResult(), values);
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static bool isPacked(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? FragmentLayout(tensor).isPacked()
                : isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
}

LogicalResult mla_gpu::emitBroadcast(NVVMEmitter &e, BroadcastOp op) {
  FragmentLayout layout(cast<RankedTensorType>(op.getResult().getType()));
  if (isPacked(op.getValue().getType()))
    return op.emitOpError("requires elements of 32 bits, but got ")
           << op.getValue().getType();
  ArrayRef<Value> values = e.registers(op.getValue());
  auto vector = dyn_cast<RankedTensorType>(op.getValue().getType());
  SmallVector<Value> result;
  for (int64_t i = 0; i < layout.getNumElements(); ++i) {
    int64_t from = 0;
    if (vector)
      from = layout.getSliceElement(
          cast<SliceLayoutAttr>(vector.getEncoding()).getDim(), i);
    result.push_back(values[from]);
  }
  e.map(op.getResult(), result);
  return success();
}

LogicalResult mla_gpu::emitIota(NVVMEmitter &e, IotaOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  FragmentLayout layout(type);
  Value own = ThreadPosition(e).get(layout.getThreadPart(op.getDim()),
                                    layout.isRowsAsM());
  Type element = e.convertScalar(type.getElementType());
  DenseMap<int64_t, Value> coordinates;
  SmallVector<Value> result;
  for (int64_t i = 0; i < layout.getNumElements(); ++i) {
    int64_t base = layout.getBase(op.getDim(), i);
    Value &value = coordinates[base];
    if (!value) {
      value = base ? e.add(own, e.i32(base)) : own;
      unsigned width = element.getIntOrFloatBitWidth();
      if (width > 32)
        value = arith::ExtUIOp::create(e.b, e.loc, element, value);
      else if (width < 32)
        value = arith::TruncIOp::create(e.b, e.loc, element, value);
    }
    result.push_back(value);
  }
  e.map(op.getResult(), result);
  return success();
}

LogicalResult mla_gpu::emitConvertLayout(NVVMEmitter &e, ConvertLayoutOp op) {
  auto from = cast<RankedTensorType>(op.getValue().getType());
  auto to = cast<RankedTensorType>(op.getResult().getType());
  if (!FragmentLayout(from).holdsSameAs(FragmentLayout(to)))
    return op.emitOpError("requires layouts that put elements in the same "
                          "threads, but got ")
           << from << " -> " << to;
  e.map(op.getResult(), llvm::to_vector(e.registers(op.getValue())));
  return success();
}

//===----------------------------------------------------------------------===//
// if_any
//===----------------------------------------------------------------------===//

/// Each warp asks its own threads. Where rows are M, it has the whole of its
/// rows. Where keys are, the condition is a slice: all warps have the same
/// values of all rows, so they agree, and may meet in the region.
LogicalResult mla_gpu::emitIfAny(NVVMEmitter &e, IfAnyOp op) {
  ArrayRef<Value> conditions = e.registers(op.getCondition());
  Value any = conditions.front();
  for (Value condition : conditions.drop_front())
    any = arith::OrIOp::create(e.b, e.loc, any, condition);
  any = NVVM::VoteSyncOp::create(e.b, e.loc, e.b.getI1Type(), e.i32(-1), any,
                                 NVVM::VoteSyncKind::any);

  auto registersOf = [&](ValueRange values) {
    SmallVector<Value> all;
    for (Value value : values)
      llvm::append_range(all, e.registers(value));
    return all;
  };
  SmallVector<Value> before = registersOf(op.getValues());
  Block &body = op.getBody().front();
  LogicalResult emitted = success();
  SmallVector<Value> flat = e.emitIf(
      any, ValueRange(before).getTypes(),
      [&]() -> SmallVector<Value> {
        emitted = e.emitBlock(body);
        if (failed(emitted))
          return before;
        return registersOf(body.getTerminator()->getOperands());
      },
      [&] { return before; });
  ArrayRef<Value> rest = flat;
  for (Value result : op.getResults()) {
    size_t count = e.convertType(result.getType()).size();
    e.map(result, rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return emitted;
}
