//===- EmitMergeRows.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_gpu.merge_rows. A warp does a row: its lanes divide the parts for the sum
// of weights, and then the columns. Results may lie where parts do, so a row's
// lse is written when all lanes have read those of the parts.
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// Columns of a lane whose loads are in flight together.
static constexpr int64_t kInFlight = 16;
static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kLn2 = 0.693147182f;

namespace {

class MergeRowsEmitter {
public:
  MergeRowsEmitter(NVVMEmitter &e, MergeRowsOp op)
      : e(e), op(op), b(e.b), f32(b.getF32Type()),
        outType(cast<MemRefType>(op.getOut().getType())),
        heads(outType.getDimSize(1)), columns(outType.getDimSize(2)) {}
  void emit();

private:
  Value mulf(Value x, Value y) { return arith::MulFOp::create(b, e.loc, x, y); }
  Value addf(Value x, Value y) { return arith::AddFOp::create(b, e.loc, x, y); }
  Value maxf(Value x, Value y) {
    return arith::MaximumFOp::create(b, e.loc, x, y);
  }
  Value isEqual(Value x, Value y) {
    return arith::CmpFOp::create(b, e.loc, arith::CmpFPredicate::OEQ, x, y);
  }
  /// Size of dimension 0, i32.
  Value sizeOf(Value memref);
  /// Over parts from `first` on, carrying values.
  SmallVector<Value>
  forParts(Value first, int64_t step, ValueRange init,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// Of all lanes.
  Value reduce(Value value, llvm::function_ref<Value(Value, Value)> join);
  /// Whether a part is left out, and its logarithm of base 2, -inf if so.
  std::pair<Value, Value> lseOf(Value part);
  Value weightOf(Value lse) {
    Value difference = arith::SubFOp::create(b, e.loc, lse, reference);
    return math::Exp2Op::create(b, e.loc, difference);
  }
  void emitRow();
  void emitColumns(int64_t begin);

  NVVMEmitter &e;
  MergeRowsOp op;
  OpBuilder &b;
  Type f32;
  MemRefType outType;
  int64_t heads, columns;
  Value unit;                          ///< base-2 logarithms by given ones
  Value row, head, reference, inverse; ///< of the row
};

} // namespace

Value MergeRowsEmitter::sizeOf(Value memref) {
  OpFoldResult size = e.memory(memref).sizes[0];
  if (auto attr = dyn_cast<Attribute>(size))
    return e.i32(cast<IntegerAttr>(attr).getInt());
  return arith::TruncIOp::create(b, e.loc, b.getI32Type(), cast<Value>(size));
}

SmallVector<Value> MergeRowsEmitter::forParts(
    Value first, int64_t step, ValueRange init,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, e.loc, first, sizeOf(op.getValues()),
                                 e.i32(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, e.loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value MergeRowsEmitter::reduce(Value value,
                               llvm::function_ref<Value(Value, Value)> join) {
  for (int64_t distance = kWarpThreads / 2; distance; distance /= 2) {
    Value other = e.ptx("shfl.sync.bfly.b32 $0, $1, " +
                            std::to_string(distance) + ", 31, -1;",
                        "=f,f", f32, value)
                      .front();
    value = join(value, other);
  }
  return value;
}

std::pair<Value, Value> MergeRowsEmitter::lseOf(Value part) {
  Value given = LLVM::LoadOp::create(
      b, e.loc, f32,
      e.elementPointer(e.memory(op.getLseValues()), {part, row, head}));
  Value none = e.f32(-kInfinity);
  Value isEmpty =
      arith::OrIOp::create(b, e.loc, isEqual(given, none),
                           isEqual(given, e.scalar(op.getLseEmpty())));
  return {isEmpty, e.select(isEmpty, none, mulf(given, unit))};
}

void MergeRowsEmitter::emitColumns(int64_t begin) {
  int64_t count = std::min<int64_t>(
      kInFlight, llvm::divideCeil(columns - begin, kWarpThreads));
  SmallVector<Value> mine, clamped;
  for (int64_t i = 0; i < count; ++i) {
    mine.push_back(e.add(e.lane(), e.i32(begin + i * kWarpThreads)));
    // What is loaded for a column that does not exist is not used.
    clamped.push_back(
        arith::MinSIOp::create(b, e.loc, mine.back(), e.i32(columns - 1)));
  }
  Type element = outType.getElementType();
  SmallVector<Value> zeros(count, e.f32(0));
  SmallVector<Value> sums =
      forParts(e.i32(0), 1, zeros, [&](Value part, ValueRange before) {
        auto [isEmpty, lse] = lseOf(part);
        Value weight = mulf(weightOf(lse), inverse);
        SmallVector<Value> values, next;
        for (Value column : clamped) {
          Value value =
              LLVM::LoadOp::create(b, e.loc, element,
                                   e.elementPointer(e.memory(op.getValues()),
                                                    {part, row, head, column}));
          if (!element.isF32())
            value = arith::ExtFOp::create(b, e.loc, f32, value);
          // What an empty part holds may be NaN.
          values.push_back(e.select(isEmpty, e.f32(0), value));
        }
        for (auto [value, sum] : llvm::zip_equal(values, before))
          next.push_back(math::FmaOp::create(b, e.loc, weight, value, sum));
        return next;
      });
  for (auto [column, sum] : llvm::zip_equal(mine, sums)) {
    Value exists = e.cmp(arith::CmpIPredicate::slt, column, e.i32(columns));
    e.emitIf(exists, [&] {
      Value value = sum;
      if (!element.isF32())
        value = arith::TruncFOp::create(b, e.loc, element, sum);
      LLVM::StoreOp::create(
          b, e.loc, value,
          e.elementPointer(e.memory(op.getOut()), {row, head, column}));
    });
  }
}

void MergeRowsEmitter::emitRow() {
  Value none = e.f32(-kInfinity), zero = e.f32(0);
  Value max = forParts(e.lane(), kWarpThreads, none,
                       [&](Value part, ValueRange max) -> SmallVector<Value> {
                         return {maxf(lseOf(part).second, max[0])};
                       })[0];
  max = reduce(max, [&](Value x, Value y) { return maxf(x, y); });
  reference = e.select(isEqual(max, none), zero, max);
  Value sum = forParts(e.lane(), kWarpThreads, zero,
                       [&](Value part, ValueRange sum) -> SmallVector<Value> {
                         return {addf(sum[0], weightOf(lseOf(part).second))};
                       })[0];
  sum = reduce(sum, [&](Value x, Value y) { return addf(x, y); });
  Value isEmpty = isEqual(sum, zero);
  inverse =
      e.select(isEmpty, zero, arith::DivFOp::create(b, e.loc, e.f32(1), sum));
  for (int64_t begin = 0; begin < columns; begin += kInFlight * kWarpThreads)
    emitColumns(begin);

  e.ptx("bar.warp.sync -1;", "", {}, {});
  Value isFirst = e.cmp(arith::CmpIPredicate::eq, e.lane(), e.i32(0));
  Value isWanted = isNotNull(e, op.getLse());
  e.emitIf(arith::AndIOp::create(b, e.loc, isFirst, isWanted), [&] {
    Value log = addf(reference, math::Log2Op::create(b, e.loc, sum));
    Value scale = mulf(e.scalar(op.getLseScale()), e.f32(kLn2));
    LLVM::StoreOp::create(
        b, e.loc,
        e.select(isEmpty, e.scalar(op.getLseEmpty()), mulf(log, scale)),
        e.elementPointer(e.memory(op.getLse()), {row, head}));
  });
}

void MergeRowsEmitter::emit() {
  int64_t warps = e.threadsOfCTA() / kWarpThreads;
  unit = arith::DivFOp::create(b, e.loc, e.f32(1 / kLn2),
                               e.scalar(op.getLseScale()));
  Value first = e.add(e.mul(e.scalar(op.getPart()), e.i32(warps)), e.warp());
  Value stride = e.mul(e.scalar(op.getParts()), e.i32(warps));
  Value end = e.mul(sizeOf(op.getOut()), e.i32(heads));
  auto loop = scf::ForOp::create(b, e.loc, first, end, stride);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  row = arith::DivUIOp::create(b, e.loc, number, e.i32(heads));
  head = arith::RemUIOp::create(b, e.loc, number, e.i32(heads));
  emitRow();
}

LogicalResult NVVMEmitter::emitMergeRows(MergeRowsOp op) {
  MergeRowsEmitter(*this, op).emit();
  return success();
}
