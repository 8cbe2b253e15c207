//===- RowsAsMOutput.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Roles "left" and "right": O += P V for half of V's columns each, and the
// loads of these columns, `stages` tiles ahead of what is multiplied, so that
// they run on into the next piece. "right" also loads the rope columns.
//
//===----------------------------------------------------------------------===//

#include "RowsAsM.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

void RowsAsM::emitOutputRoles(Value half, Value column) {
  Value zero = b.index(0), o0 = b.splat(o.matrix(f32), 0);
  // Loads what was located, and says what comes next.
  auto loadTile = [&](Value number, Position at, const WorkItem &work) {
    load(half, column, number);
    Position after = next(at, work);
    return SmallVector<Value>{after.piece, after.tile};
  };

  auto [begin, end] = readRange();
  // Fills the slots.
  SmallVector<Value> ahead = b.loop(
      zero, b.index(stages), {begin, zero}, [&](Value number, ValueRange at) {
        return b.branch(
            b.less(at[0], end),
            [&] {
              Position first = {at[0], at[1]};
              return loadTile(number, first, locate(first));
            },
            [&] { return SmallVector<Value>(at); });
      });

  Value lastPiece = b.sub(end, b.index(1));
  b.loop(begin, end, {zero, ahead[0], ahead[1]},
         [&](Value piece, ValueRange carried) -> SmallVector<Value> {
           WorkItem work = read(piece);
           Value slots = countSlots(work);
           Value firstKey = b.mul(work.firstTile, b.index(entry.keys));
           SmallVector<Value> done = b.loop(
               zero, slots, {o0, carried[1], carried[2]},
               [&](Value tile, ValueRange state) -> SmallVector<Value> {
                 Value number = b.add(carried[0], tile);
                 Value key = b.add(firstKey, b.mul(tile, b.index(entry.keys)));
                 Value product =
                     multiplyValues(half, number, work.item, key, state[0]);
                 // Finds the next tile while P V runs. Behind the last one of
                 // all, finds one that is not loaded.
                 Position at = {state[1], state[2]};
                 WorkItem work = locate({b.min(at.piece, lastPiece), at.tile});
                 Value sum = b.finish(product);
                 for (Value pipe : {half, pipes.weights, pipes.turn})
                   ReleaseOp::create(b, pipe, number);
                 SmallVector<Value> later = b.branch(
                     b.less(at.piece, end),
                     [&] {
                       return loadTile(b.add(number, b.index(stages)), at,
                                       work);
                     },
                     [&] { return SmallVector<Value>{at.piece, at.tile}; });
                 return {sum, later[0], later[1]};
               });
           storeOutput(piece, column, done[0]);
           return {b.add(carried[0], slots), done[1], done[2]};
         });
}

//===----------------------------------------------------------------------===//
// P V
//===----------------------------------------------------------------------===//

Value RowsAsM::multiplyValues(Value half, Value number, const ItemValues &item,
                              Value firstKey, Value sum) {
  ValueRange weights = b.wait(pipes.weights, number);
  Value alpha = LoadSharedOp::create(b, o.row(f32), weights[1]);
  Value changed = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, alpha,
                                        b.splat(o.row(f32), 1));
  Value scaled = b.ifAny(changed, sum, [&]() -> SmallVector<Value> {
    return {arith::MulFOp::create(b, sum, b.spread(alpha, o.matrix(f32)))};
  })[0];
  Value values = b.wait(half, number)[0];
  loads.clearUnseen(b, item, values, firstKey);
  b.wait(pipes.turn, number);
  return b.multiply(weights[0], values, scaled, o.matrix(f32));
}

void RowsAsM::storeOutput(Value piece, Value column, Value sum) {
  storeRows(piece, column, sum, [&]() -> Value {
    if (entry.outType == f32)
      return sum;
    return arith::TruncFOp::create(b, o.matrix(entry.outType), sum);
  });
}

//===----------------------------------------------------------------------===//
// Loads of keys
//===----------------------------------------------------------------------===//

WorkItem RowsAsM::locate(Position at) {
  WorkItem work = read(at.piece);
  loads.beginPiece(b, work.item, b.less(b.index(0), work.item.kvLen));
  loads.locate(b, b.add(work.firstTile, at.tile));
  return work;
}

void RowsAsM::load(Value half, Value column, Value number) {
  auto copy = [&](Value pipe, OpFoldResult firstColumn) {
    Value tile = b.acquire(pipe, number)[0];
    loads.load(b, tile, firstColumn);
    CommitOp::create(b, pipe, number);
  };
  copy(half, column);
  if (pipes.rope)
    b.when(b.isNot(column, b.index(0)),
           [&] { copy(pipes.rope, b.getIndexAttr(entry.headDimV)); });
}

RowsAsM::Position RowsAsM::next(Position at, const WorkItem &work) {
  Value tile = b.add(at.tile, b.index(1));
  Value isSame = b.less(tile, countSlots(work));
  return {b.select(isSame, at.piece, b.add(at.piece, b.index(1))),
          b.select(isSame, tile, b.index(0))};
}
