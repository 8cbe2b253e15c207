//===- MergeToHost.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla.merge on the host: each worker does every so many rows. What a row reads
// is read before its results are written.
//
//===----------------------------------------------------------------------===//

#include "../Work/IndexMath.h"
#include "../Work/MergeEntry.h"
#include "HostEmitter.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::mla;

namespace {

class HostMerge {
public:
  HostMerge(OpBuilder &b, const MergeEntry &entry, int64_t lanes)
      : b(b), entry(entry), op(entry.merge), loc(op.getLoc()), ix{b, loc},
        lanes(lanes), f32(b.getF32Type()) {}
  void emit();

private:
  using Values = SmallVector<Value>;
  Value number(float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value isEqual(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  }
  Value spread(Value scalar, VectorType type) {
    return vector::BroadcastOp::create(b, loc, type.clone(scalar.getType()),
                                       scalar);
  }
  /// Over the parts.
  Value forParts(Value init, llvm::function_ref<Value(Value, Value)> body);
  /// Whether a part counts in a row, and its natural logarithm, -inf if not.
  std::pair<Value, Value> lseOf(Value part);
  Value weightOf(Value lse) {
    return buildExp(b, loc, arith::SubFOp::create(b, loc, lse, reference));
  }
  void emitRow();
  void emitColumns(Value column, int64_t width);

  OpBuilder &b;
  const MergeEntry &entry;
  MergeOp op;
  Location loc;
  IndexMath ix;
  int64_t lanes;
  Type f32;
  Value row, head, reference, inverse; ///< of the row
};

} // namespace

Value HostMerge::forParts(Value init,
                          llvm::function_ref<Value(Value, Value)> body) {
  Value count = memref::DimOp::create(b, loc, op.getParts(), int64_t(0));
  auto loop =
      scf::ForOp::create(b, loc, ix.constant(0), count, ix.constant(1), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(b, loc, next);
  return loop.getResult(0);
}

std::pair<Value, Value> HostMerge::lseOf(Value part) {
  Value given = memref::LoadOp::create(b, loc, op.getLseParts(),
                                       ValueRange{part, row, head});
  Value none = number(-std::numeric_limits<float>::infinity());
  Value isEmpty = arith::OrIOp::create(b, loc, isEqual(given, none),
                                       isEqual(given, op.getLseEmpty()));
  Value natural = arith::DivFOp::create(b, loc, given, op.getLseScale());
  return {isEmpty, ix.select(isEmpty, none, natural)};
}

void HostMerge::emitColumns(Value column, int64_t width) {
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  auto type = VectorType::get(width, f32), stored = type.clone(element);
  Value zero = spread(number(0), type);
  Value sum = forParts(zero, [&](Value part, Value sum) -> Value {
    auto [isEmpty, lse] = lseOf(part);
    Value values = vector::LoadOp::create(b, loc, stored, op.getParts(),
                                          ValueRange{part, row, head, column});
    if (element != f32)
      values = arith::ExtFOp::create(b, loc, type, values);
    // What an empty part holds may be NaN.
    values =
        arith::SelectOp::create(b, loc, spread(isEmpty, type), zero, values);
    Value weight = arith::MulFOp::create(b, loc, weightOf(lse), inverse);
    return vector::FMAOp::create(b, loc, spread(weight, type), values, sum);
  });
  if (element != f32)
    sum = arith::TruncFOp::create(b, loc, stored, sum);
  vector::StoreOp::create(b, loc, sum, op.getOut(),
                          ValueRange{row, head, column});
}

void HostMerge::emitRow() {
  Value none = number(-std::numeric_limits<float>::infinity());
  Value max = forParts(none, [&](Value part, Value max) -> Value {
    // A NaN stays.
    return arith::MaximumFOp::create(b, loc, lseOf(part).second, max);
  });
  reference = buildSafeMax(b, loc, max);
  Value sum = forParts(number(0), [&](Value part, Value sum) -> Value {
    return arith::AddFOp::create(b, loc, sum, weightOf(lseOf(part).second));
  });
  Value isEmpty = isEqual(sum, number(0));
  inverse = ix.select(isEmpty, number(0),
                      arith::DivFOp::create(b, loc, number(1), sum));
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getShape().back();
  int64_t whole = columns / lanes * lanes;
  if (whole) {
    auto loop = scf::ForOp::create(b, loc, ix.constant(0), ix.constant(whole),
                                   ix.constant(lanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitColumns(loop.getInductionVar(), lanes);
  }
  if (columns > whole)
    emitColumns(ix.constant(whole), columns - whole);

  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, op.getLse());
  auto wanted = scf::IfOp::create(
      b, loc, ix.compare(arith::CmpIPredicate::ne, pointer, ix.constant(0)),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(wanted.thenBlock());
  Value total = arith::AddFOp::create(b, loc, reference,
                                      math::LogOp::create(b, loc, sum));
  total = arith::MulFOp::create(b, loc, total, op.getLseScale());
  memref::StoreOp::create(b, loc, ix.select(isEmpty, op.getLseEmpty(), total),
                          op.getLse(), ValueRange{row, head});
}

void HostMerge::emit() {
  b.setInsertionPoint(op);
  Value heads =
      ix.constant(cast<MemRefType>(op.getOut().getType()).getDimSize(1));
  Value rows = memref::DimOp::create(b, loc, op.getOut(), int64_t(0));
  auto loop = scf::ForOp::create(b, loc, entry.worker, ix.mul(rows, heads),
                                 entry.numWorkers);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  row = ix.floorDiv(loop.getInductionVar(), heads);
  head = arith::RemUIOp::create(b, loc, loop.getInductionVar(), heads);
  emitRow();
}

LogicalResult mla::convertMergeToHost(ModuleOp module, TargetAttr target) {
  FailureOr<std::optional<MergeEntry>> entry = makeMergeEntry(module);
  if (failed(entry))
    return failure();
  if (!*entry)
    return success();
  OpBuilder builder(module.getContext());
  HostMerge(builder, **entry, target.getVectorBits() / 32).emit();
  (*entry)->merge.erase();
  module->setAttr(MLADialect::kKernel,
                  describeMerge(**entry, describeHostEntry((*entry)->func)));
  return success();
}
