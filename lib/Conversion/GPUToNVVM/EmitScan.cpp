//===- EmitScan.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_gpu.scan: chunks of as many numbers as the CTA has threads. A warp adds
// up its own by shuffles; then warps exchange through shared memory, once a
// chunk.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace {

/// Emits one scan.
class ScanEmitter {
public:
  ScanEmitter(NVVMEmitter &e, ScanOp op)
      : e(e), op(op), counts(op.getNumResults()), zero(e.i32(0)),
        i32(e.b.getI32Type()), bytes(counts * kWarpThreads * sizeof(int32_t)),
        // A chunk's exchange may still be read when the next one begins.
        scratch(e.sharedAddress(e.reserveScratch(2 * bytes, sizeof(int32_t)))) {
    for (StringRef kind : op.getKinds().getAsValueRange<StringAttr>())
      isMax.push_back(kind == "max");
  }
  LogicalResult emit();

private:
  using Values = SmallVector<Value>;

  Values ownCounts(Value number, Value active);
  /// What the warp's numbers up to this thread's come to.
  Value scanWarp(Value own, bool isMax);
  Value reduceWarp(Value value, bool isMax) {
    return e
        .ptx(isMax ? "redux.sync.max.s32 $0, $1, -1;"
                   : "redux.sync.add.s32 $0, $1, -1;",
             "=r,r", i32, value)
        .front();
  }
  Value combine(Value x, Value y, bool isMax) {
    return isMax ? Value(arith::MaxSIOp::create(e.b, e.loc, x, y))
                 : e.add(x, y);
  }
  /// Of warp `warp` in a chunk's exchange.
  Value address(Value buffer, int64_t count, Value warp) {
    Value offset =
        e.add(e.shl(warp, 2), e.i32(count * kWarpThreads * sizeof(int32_t)));
    return e.add(buffer, offset);
  }
  LogicalResult emitThen(Value number, ValueRange before, ValueRange own);

  NVVMEmitter &e;
  ScanOp op;
  int64_t counts;
  Value zero;
  Type i32;
  int64_t bytes; ///< of an exchange
  Value scratch;
  SmallVector<bool> isMax;
  LogicalResult result = success();
};

SmallVector<Value> ScanEmitter::ownCounts(Value number, Value active) {
  SmallVector<Type> types(counts, i32);
  return e.emitIf(
      active, types,
      [&] {
        Block &block = op.getValues().front();
        e.map(block.getArgument(0), number);
        Values own;
        if (failed(e.emitBlock(block))) {
          result = failure();
          return Values(counts, zero);
        }
        for (Value value : block.getTerminator()->getOperands())
          own.push_back(e.scalar(value));
        return own;
      },
      [&] { return Values(counts, zero); });
}

Value ScanEmitter::scanWarp(Value own, bool isMax) {
  Value sum = own;
  for (int distance = 1; distance < kWarpThreads; distance *= 2) {
    // Its predicate: whether there is such a lane.
    std::string text = "{\n.reg .b32 other;\n.reg .pred exists;\n"
                       "shfl.sync.up.b32 other|exists, $1, " +
                       std::to_string(distance) + ", 0, -1;\n" +
                       "mov.b32 $0, $1;\n@exists " +
                       (isMax ? "max.s32" : "add.s32") + " $0, $1, other;\n}";
    sum = e.ptx(text, "=&r,r", i32, sum).front();
  }
  return sum;
}

LogicalResult ScanEmitter::emitThen(Value number, ValueRange before,
                                    ValueRange own) {
  Block &block = op.getThen().front();
  e.map(block.getArgument(0), number);
  for (int64_t k = 0; k < counts; ++k) {
    e.map(block.getArgument(1 + k), before[k]);
    e.map(block.getArgument(1 + counts + k), own[k]);
  }
  return e.emitBlock(block);
}

LogicalResult ScanEmitter::emit() {
  OpBuilder &b = e.b;
  Value count = e.scalar(op.getCount());
  bool hasThen = !op.getThen().empty();
  int64_t warps = e.threadsOfCTA() / kWarpThreads;

  // State: totals of the chunks before, and where this one is exchanged.
  Values init(counts, zero);
  init.push_back(zero);
  auto loop =
      scf::ForOp::create(b, e.loc, zero, count, e.i32(e.threadsOfCTA()), init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange totals = loop.getRegionIterArgs().drop_back();
    Value turn = loop.getRegionIterArgs().back();
    Value number = e.add(loop.getInductionVar(), e.threadOfCTA());
    Value active = e.cmp(arith::CmpIPredicate::slt, number, count);
    Values own = ownCounts(number, active), upTo(counts), next;

    Value buffer = e.add(scratch, turn);
    for (int64_t k = 0; k < counts; ++k) {
      upTo[k] =
          hasThen ? scanWarp(own[k], isMax[k]) : reduceWarp(own[k], isMax[k]);
      Value isLast =
          e.cmp(arith::CmpIPredicate::eq, e.lane(), e.i32(kWarpThreads - 1));
      e.ptx("@$2 st.shared.b32 [$0], $1;", "r,r,b", {},
            {address(buffer, k, e.warp()), upTo[k], isLast});
    }
    e.roleBarrier();
    Values before;
    for (int64_t k = 0; k < counts; ++k) {
      Value exists = e.cmp(arith::CmpIPredicate::slt, e.lane(), e.i32(warps));
      Value ofWarp =
          e.ptx("mov.b32 $0, 0;\n@$2 ld.shared.b32 $0, [$1];", "=&r,r,b", i32,
                {address(buffer, k, e.lane()), exists})
              .front();
      next.push_back(
          combine(totals[k], reduceWarp(ofWarp, isMax[k]), isMax[k]));
      if (!hasThen)
        continue;
      Value isEarlier = e.cmp(arith::CmpIPredicate::slt, e.lane(), e.warp());
      Value earlier = reduceWarp(e.select(isEarlier, ofWarp, zero), isMax[k]);
      Value inWarp = isMax[k] ? e.ptx("shfl.sync.up.b32 $0, $1, 1, 0, -1;",
                                      "=r,r", i32, upTo[k])
                                    .front()
                              : e.sub(upTo[k], own[k]);
      if (isMax[k]) {
        Value isFirst = e.cmp(arith::CmpIPredicate::eq, e.lane(), zero);
        inWarp = e.select(isFirst, zero, inWarp);
      }
      before.push_back(
          combine(combine(totals[k], earlier, isMax[k]), inWarp, isMax[k]));
    }
    if (hasThen)
      e.emitIf(active, [&] {
        if (failed(emitThen(number, before, own)))
          result = failure();
      });
    next.push_back(e.xori(turn, e.i32(bytes)));
    scf::YieldOp::create(b, e.loc, next);
  }
  if (hasThen) {
    Value any = e.cmp(arith::CmpIPredicate::sgt, count, zero);
    e.emitIf(any, [&] { e.roleBarrier(); });
  }
  for (int64_t k = 0; k < counts; ++k)
    e.map(op.getResult(k), loop.getResult(k));
  return result;
}

} // namespace

LogicalResult NVVMEmitter::emitScan(ScanOp op) {
  return ScanEmitter(*this, op).emit();
}
