//===- EmitMerge.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_gpu.merge. A warp does 32 runs of 4 columns, of one row or of several,
// and keeps loads of 8 pieces in flight; of few pieces, those of 2 or 3 such
// runs. Where there are many pieces, 2, 4 or 8 warps do every second, fourth or
// eighth piece each, and exchange once. The order of sums depends on nothing
// but the number of pieces.
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace {

constexpr int64_t kRun = 4;      // columns of a load of 16 bytes
constexpr int64_t kInFlight = 8; // loads of a thread
/// Of at most `pieces`, a thread does several runs at once.
struct Few {
  int64_t pieces, runs;
};
/// Blocks of many rows often have 3 or 4 pieces. One kind of code for each: it
/// has to be fetched, too.
constexpr int64_t kManyRows = 64;
constexpr Few kFewOfManyRows = {4, 2}, kFewOfFewRows = {2, 3};
constexpr int64_t kOthers = 4;       // partials of other warps that it adds
constexpr int64_t kMaxLogGroups = 3; // of warps that share the pieces of a run
constexpr int64_t kRunBytes = 16, kStateBytes = 8;
constexpr float kNoMaximum = -1.0e30f; // finite: differences are no NaN

/// A thread's part of a run: sum of 2^(lse - maximum) times it, and of the
/// factors.
struct Partial {
  Value maximum, sum;
  SmallVector<Value, 4> run;

  SmallVector<Value> flat() const {
    SmallVector<Value> all = {maximum, sum};
    llvm::append_range(all, run);
    return all;
  }
  static Partial of(ValueRange values) {
    return {values[0], values[1], llvm::to_vector<4>(values.drop_front(2))};
  }
};

class MergeEmitter {
public:
  MergeEmitter(NVVMEmitter &e, MergeOp op)
      : e(e), op(op), b(e.b), i32(b.getI32Type()), f32(b.getF32Type()),
        zero(e.i32(0)), rows(type(op.getPartialOut()).getDimSize(1)),
        columns(type(op.getPartialOut()).getDimSize(2)),
        few(rows >= kManyRows ? kFewOfManyRows : kFewOfFewRows),
        warps(e.threadsOfCTA() / kWarpThreads) {}
  LogicalResult emit();

private:
  static MemRefType type(Value memref) {
    return cast<MemRefType>(memref.getType());
  }
  Value mulf(Value x, Value y) { return arith::MulFOp::create(b, e.loc, x, y); }
  Value addf(Value x, Value y) { return arith::AddFOp::create(b, e.loc, x, y); }
  Value maxf(Value x, Value y) {
    return arith::MaximumFOp::create(b, e.loc, x, y);
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, e.loc, x, y, z);
  }
  Value shift(Value x, Value bits) {
    return arith::ShLIOp::create(b, e.loc, x, bits);
  }
  Value shiftDown(Value x, Value bits) {
    return arith::ShRUIOp::create(b, e.loc, x, bits);
  }
  /// Two elements of 16 bits, the first one low.
  Value pack(Value x, Value y) {
    auto bits = [&](Value value) -> Value {
      value = arith::BitcastOp::create(b, e.loc, b.getI16Type(), value);
      return arith::ExtUIOp::create(b, e.loc, i32, value);
    };
    return arith::OrIOp::create(b, e.loc, bits(x), e.shl(bits(y), 16));
  }
  /// 2^(x - y)
  Value factor(Value x, Value y) {
    Value difference = arith::SubFOp::create(b, e.loc, x, y);
    return math::Exp2Op::create(b, e.loc, difference);
  }

  /// A run of all that the op does, by number; the first one where there is
  /// none.
  struct Place {
    Value valid, row, column;
  };
  Place placeOf(Value number);

  /// Runs first, first + stride, ... of few pieces.
  void mergeFew(Value first, Value stride, Value end);
  Value logGroups();
  /// The pieces `first`, `first` + step, ...
  Partial mergePieces(Value first, Value logStep, Value row, Value column,
                      Value valid);
  std::pair<Value, SmallVector<Value>> loadPiece(Value piece, Value row,
                                                 Value column, Value valid);
  /// Adds others to what there is, all scaled to the same maximum.
  Partial add(const Partial &partial, ArrayRef<Partial> others);
  /// The exchange of partials among warps: the runs of all threads, and then
  /// their maxima and sums.
  void store(const Partial &partial);
  Partial load(Value thread);
  /// Adds what the other warps of a group have.
  Partial addOthers(const Partial &partial, Value groups);
  Value runAddress(Value thread);
  Value stateAddress(Value thread);
  void storeResult(const Partial &partial, Value row, Value column);
  void storeRun(Value row, Value column, ArrayRef<Value> run);

  NVVMEmitter &e;
  MergeOp op;
  OpBuilder &b;
  Type i32, f32;
  Value zero;
  Value exchange; ///< i32: its address
  int64_t rows, columns;
  Few few;
  int64_t warps;
};

} // namespace

/// Log2 of the warps that share a run's pieces: as many as keep each at one
/// round of loads.
Value MergeEmitter::logGroups() {
  Value pieces = e.scalar(op.getPieces()), result = zero;
  int64_t most = std::min<int64_t>(kMaxLogGroups, llvm::Log2_64(warps));
  for (int64_t log = 1; log <= most; ++log) {
    Value isMore =
        e.cmp(arith::CmpIPredicate::sgt, pieces, e.i32(kInFlight << (log - 1)));
    result = e.select(isMore, e.i32(log), result);
  }
  return result;
}

std::pair<Value, SmallVector<Value>>
MergeEmitter::loadPiece(Value piece, Value row, Value column, Value valid) {
  Value isFirst = e.cmp(arith::CmpIPredicate::eq, piece, zero);
  Value later = e.add(e.scalar(op.getNext()),
                      e.mul(e.sub(piece, e.i32(1)), e.scalar(op.getStride())));
  Value slot = e.select(isFirst, e.scalar(op.getFirst()), later);
  Value exists =
      e.cmp(arith::CmpIPredicate::slt, piece, e.scalar(op.getPieces()));
  exists = arith::AndIOp::create(b, e.loc, exists, valid);
  Value predicate = arith::ExtUIOp::create(b, e.loc, i32, exists);
  Value lse =
      e.ptx("{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b32 $0, 0fFF800000; "
            "@p ld.global.cg.f32 $0, [$1]; }",
            "=&f,l,r", f32,
            {e.elementPointer(e.memory(op.getPartialLse()), {slot, row}),
             predicate})
          .front();
  SmallVector<Type> types(kRun, f32);
  SmallVector<Value> run = e.ptx(
      "{ .reg .pred p; setp.ne.b32 p, $5, 0; mov.b32 $0, 0; mov.b32 $1, 0; "
      "mov.b32 $2, 0; mov.b32 $3, 0; "
      "@p ld.global.cg.v4.f32 {$0, $1, $2, $3}, [$4]; }",
      "=&f,=&f,=&f,=&f,l,r", types,
      {e.elementPointer(e.memory(op.getPartialOut()), {slot, row, column}),
       predicate});
  return {lse, run};
}

Partial MergeEmitter::add(const Partial &partial, ArrayRef<Partial> others) {
  Partial result = partial;
  for (const Partial &other : others)
    result.maximum = maxf(result.maximum, other.maximum);
  Value scale = factor(partial.maximum, result.maximum);
  result.sum = mulf(partial.sum, scale);
  for (Value &value : result.run)
    value = mulf(value, scale);
  for (const Partial &other : others) {
    Value weight = factor(other.maximum, result.maximum);
    result.sum = other.sum ? fma(other.sum, weight, result.sum)
                           : addf(weight, result.sum);
    for (auto [value, more] : llvm::zip_equal(result.run, other.run))
      value = fma(more, weight, value);
  }
  return result;
}

Partial MergeEmitter::mergePieces(Value first, Value logStep, Value row,
                                  Value column, Value valid) {
  SmallVector<Value> none(2 + kRun, e.f32(0));
  none[0] = e.f32(kNoMaximum);
  auto loop = scf::ForOp::create(b, e.loc, first, e.scalar(op.getPieces()),
                                 shift(e.i32(kInFlight), logStep), none);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Partial> pieces;
  for (int64_t i = 0; i < kInFlight; ++i) {
    Value piece = e.add(loop.getInductionVar(), shift(e.i32(i), logStep));
    auto [lse, run] = loadPiece(piece, row, column, valid);
    pieces.push_back({lse, Value(), llvm::to_vector<4>(run)});
  }
  Partial next = add(Partial::of(loop.getRegionIterArgs()), pieces);
  scf::YieldOp::create(b, e.loc, next.flat());
  return Partial::of(loop.getResults());
}

Value MergeEmitter::runAddress(Value thread) {
  return e.add(exchange, e.mul(thread, e.i32(kRunBytes)));
}

Value MergeEmitter::stateAddress(Value thread) {
  return e.add(e.add(exchange, e.i32(e.threadsOfCTA() * kRunBytes)),
               e.mul(thread, e.i32(kStateBytes)));
}

void MergeEmitter::store(const Partial &partial) {
  SmallVector<Value> run = {runAddress(e.thread())};
  llvm::append_range(run, partial.run);
  e.ptx("st.shared.v4.f32 [$0], {$1, $2, $3, $4};", "r,f,f,f,f", {}, run);
  e.ptx("st.shared.v2.f32 [$0], {$1, $2};", "r,f,f", {},
        {stateAddress(e.thread()), partial.maximum, partial.sum});
}

Partial MergeEmitter::load(Value thread) {
  SmallVector<Type> types(kRun, f32);
  SmallVector<Value> run = e.ptx("ld.shared.v4.f32 {$0, $1, $2, $3}, [$4];",
                                 "=f,=f,=f,=f,r", types, runAddress(thread));
  SmallVector<Value> state = e.ptx("ld.shared.v2.f32 {$0, $1}, [$2];",
                                   "=f,=f,r", {f32, f32}, stateAddress(thread));
  return {state[0], state[1], llvm::to_vector<4>(run)};
}

Partial MergeEmitter::addOthers(const Partial &partial, Value groups) {
  auto loop = scf::ForOp::create(b, e.loc, e.i32(1), groups, e.i32(kOthers),
                                 partial.flat());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Partial> others;
  for (int64_t i = 0; i < kOthers; ++i) {
    Value member = e.add(loop.getInductionVar(), e.i32(i));
    Value exists = e.cmp(arith::CmpIPredicate::slt, member, groups);
    // Its own warp's again where there is none, which is then left out.
    Value distance = e.select(exists, e.shl(member, 5), zero);
    Partial other = load(e.add(e.thread(), distance));
    other.maximum = e.select(exists, other.maximum,
                             e.f32(-std::numeric_limits<float>::infinity()));
    others.push_back(other);
  }
  Partial next = add(Partial::of(loop.getRegionIterArgs()), others);
  scf::YieldOp::create(b, e.loc, next.flat());
  return Partial::of(loop.getResults());
}

void MergeEmitter::storeRun(Value row, Value column, ArrayRef<Value> run) {
  PackedRows out(e, op.getOut(), op.getRow(), Value(), op.getCount());
  out.beginAtColumnZero();
  Value pointer = out.pointer(row, column);
  Type element = type(op.getOut()).getElementType();
  SmallVector<Value> rounded(run);
  if (!element.isF32())
    for (Value &value : rounded)
      value = arith::TruncFOp::create(b, e.loc, element, value);
  auto storeEach = [&] {
    for (auto [i, value] : llvm::enumerate(rounded)) {
      Value at = LLVM::GEPOp::create(b, e.loc, pointer.getType(), element,
                                     pointer, LLVM::GEPArg(int32_t(i)));
      LLVM::StoreOp::create(b, e.loc, value, at);
    }
    return SmallVector<Value>();
  };
  auto storeAll = [&] {
    SmallVector<Value> inputs = {pointer};
    if (element.isF32()) {
      llvm::append_range(inputs, rounded);
      e.ptx("st.global.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f", {},
            inputs);
    } else {
      for (int64_t i = 0; i < kRun; i += 2)
        inputs.push_back(pack(rounded[i], rounded[i + 1]));
      e.ptx("st.global.v2.b32 [$0], {$1, $2};", "l,r,r", {}, inputs);
    }
    return SmallVector<Value>();
  };
  if (op.getAligned()) {
    storeAll();
    return;
  }
  if (Value aligned = out.areAligned(kRun * out.elementBytes()))
    e.emitIf(aligned, {}, storeAll, storeEach);
  else
    storeEach();
}

void MergeEmitter::storeResult(const Partial &partial, Value row,
                               Value column) {
  Value isSome = arith::CmpFOp::create(b, e.loc, arith::CmpFPredicate::OGT,
                                       partial.sum, e.f32(0));
  Value inverse = arith::DivFOp::create(b, e.loc, e.f32(1), partial.sum);
  inverse = e.select(isSome, inverse, e.f32(0));
  SmallVector<Value> run;
  for (Value value : partial.run)
    run.push_back(mulf(value, inverse));

  storeRun(row, column, run);
  if (!op.getLse())
    return;
  PackedRows lse(e, op.getLse(), op.getRow(), Value(), op.getCount());
  Value isFirst = e.cmp(arith::CmpIPredicate::eq, column, zero);
  Value isWanted = isNotNull(e, op.getLse());
  e.emitIf(arith::AndIOp::create(b, e.loc, isWanted, isFirst), [&] {
    constexpr float kLn2 = 0.693147180559945f;
    Value log = math::Log2Op::create(b, e.loc, partial.sum);
    Value unit = e.f32(kLn2);
    Value none = e.f32(-std::numeric_limits<float>::infinity());
    if (op.getLseScale()) {
      unit = mulf(unit, e.scalar(op.getLseScale()));
      none = e.scalar(op.getLseEmpty());
    }
    Value value = mulf(addf(partial.maximum, log), unit);
    LLVM::StoreOp::create(b, e.loc, e.select(isSome, value, none),
                          lse.pointer(row, Value()));
  });
}

MergeEmitter::Place MergeEmitter::placeOf(Value number) {
  Value width = e.i32(columns / kRun);
  Value runs = e.mul(e.scalar(op.getCount()), width);
  Value valid = e.cmp(arith::CmpIPredicate::slt, number, runs);
  number = e.select(valid, number, zero);
  Value column =
      e.mul(arith::RemUIOp::create(b, e.loc, number, width), e.i32(kRun));
  return {valid, arith::DivUIOp::create(b, e.loc, number, width), column};
}

void MergeEmitter::mergeFew(Value first, Value stride, Value end) {
  auto loop =
      scf::ForOp::create(b, e.loc, first, end, e.mul(stride, e.i32(few.runs)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = e.add(loop.getInductionVar(), e.thread());
  SmallVector<std::pair<Place, SmallVector<Partial>>> all;
  for (int64_t i = 0; i < few.runs; ++i) {
    auto &[place, pieces] = all.emplace_back();
    place = placeOf(number);
    for (int64_t piece = 0; piece < few.pieces; ++piece) {
      auto [lse, run] =
          loadPiece(e.i32(piece), place.row, place.column, place.valid);
      pieces.push_back({lse, Value(), llvm::to_vector<4>(run)});
    }
    number = e.add(number, stride);
  }
  SmallVector<Value, 4> none(kRun, e.f32(0));
  for (auto &[place, pieces] : all)
    e.emitIf(place.valid, [&] {
      storeResult(add({e.f32(kNoMaximum), e.f32(0), none}, pieces), place.row,
                  place.column);
    });
}

LogicalResult MergeEmitter::emit() {
  if (columns % kRun)
    return op.emitOpError("requires columns in multiples of ")
           << kRun << ", but got " << columns;
  if (!llvm::isPowerOf2_64(warps))
    return op.emitOpError("requires a power of two of warps, but got ")
           << warps;
  Value log = logGroups();
  Value groups = shift(e.i32(1), log);
  Value isShared = e.cmp(arith::CmpIPredicate::ne, log, zero);
  Value member =
      arith::AndIOp::create(b, e.loc, e.warp(), e.sub(groups, e.i32(1)));
  Value isLeader = e.cmp(arith::CmpIPredicate::eq, member, zero);
  // What all warps of the CTA do at a time: warps / groups times 32 runs.
  Value width = e.i32(columns / kRun);
  Value runs = e.mul(e.scalar(op.getCount()), width);
  Value atATime = e.shl(shiftDown(e.i32(warps), log), 5);
  Value mine = e.add(e.shl(shiftDown(e.warp(), log), 5), e.lane());
  int64_t bytes = e.threadsOfCTA() * (kRunBytes + kStateBytes);
  exchange = e.sharedAddress(e.reserveShared(bytes, kRunBytes));

  Value first = e.mul(e.scalar(op.getPart()), atATime);
  Value stride = e.mul(e.scalar(op.getParts()), atATime);
  Value isFew = e.cmp(arith::CmpIPredicate::sle, e.scalar(op.getPieces()),
                      e.i32(few.pieces));
  e.emitIf(isFew, [&] { mergeFew(first, stride, runs); });
  auto loop =
      scf::ForOp::create(b, e.loc, first, e.select(isFew, zero, runs), stride);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto [valid, row, column] = placeOf(e.add(loop.getInductionVar(), mine));
  Partial partial = mergePieces(member, log, row, column, valid);

  e.emitIf(isShared, [&] {
    store(partial);
    e.roleBarrier();
  });
  e.emitIf(arith::AndIOp::create(b, e.loc, valid, isLeader),
           [&] { storeResult(addOthers(partial, groups), row, column); });
  // The next exchange takes the place of this one.
  e.emitIf(isShared, [&] { e.roleBarrier(); });
  return success();
}

LogicalResult NVVMEmitter::emitMerge(MergeOp op) {
  return MergeEmitter(*this, op).emit();
}
