//===- RowsAsMOutput.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Roles "left" and "right": O += P V for half of V's columns each, and the
// loads of these columns, `stages` slots ahead of what is multiplied, so that
// they run on into the next piece. "right" also loads the rope columns.
//
//===----------------------------------------------------------------------===//

#include "RowsAsM.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

void RowsAsM::emitOutputRoles(Value half, Value column) {
  Value zero = b.index(0), one = b.index(1), o0 = b.splat(o.matrix(f32), 0);
  Type index = b.getIndexType();
  auto [begin, end] = entry.readRange(b);
  // What a slot is to hold is found before the slot is free.
  WorkItem found;
  Outline find(b, "find_turn", {{"piece", index}, {"turn", index}},
               [&](ValueRange at) -> SmallVector<Value> {
                 found = locate({at[0], at[1]});
                 return {};
               });
  Outline load(
      b, "load_turn", {{"number", index}, {"piece", index}, {"turn", index}},
      [&, end = end](ValueRange at) {
        return b.branch(
            b.less(at[1], end),
            [&] {
              return this->load(half, column, at[0], {at[1], at[2]}, found);
            },
            [&] { return SmallVector<Value>{at[1], at[2]}; });
      });
  find.giveTo(load);
  // Fills the slots.
  SmallVector<Value> ahead = b.loop(
      zero, b.index(stages), {begin, zero}, [&](Value number, ValueRange at) {
        b.named("number", number);
        b.named("next", at[0]);
        b.named("turn", at[1]);
        return b.branch(
            b.less(at[0], end),
            [&] {
              return load.call(b, {number, at[0], at[1]}, find.call(b, at));
            },
            [&] { return SmallVector<Value>(at); });
      });

  // Finds what comes next: behind the last one of all, what is not loaded.
  Value lastPiece = b.sub(end, one);
  auto findNext = [&](ValueRange at) {
    SmallVector<Value> next = find.call(b, {b.min(at[0], lastPiece), at[1]});
    b.named("found", next.front());
    return next;
  };
  // Lets a slot go, and loads what it is to hold next.
  auto refill = [&](Value number, ValueRange at, ValueRange next) {
    release(half, number);
    Value later = b.add(number, b.index(stages));
    return load.call(b, {later, at[0], at[1]}, next);
  };
  b.loop(begin, end, {zero, ahead[0], ahead[1]},
         [&](Value piece, ValueRange carried) -> SmallVector<Value> {
           b.named("piece", piece);
           Value query = b.named("query", carried[0]);
           b.named("next", carried[1]);
           b.named("turn", carried[2]);
           SmallVector<Value> next = findNext(carried.drop_front());
           for (Value pipe : {half, pipes.weights, pipes.turn})
             b.wait(pipe, query);
           SmallVector<Value> at = refill(query, carried.drop_front(), next);

           WorkItem work = read(piece);
           Value first = b.add(query, one), tiles = countTiles(work);
           SmallVector<Value> done = b.loop(
               zero, tiles, {o0, at[0], at[1]},
               [&](Value tile, ValueRange state) -> SmallVector<Value> {
                 b.named("o", state[0]);
                 b.named("next", state[1]);
                 b.named("turn", state[2]);
                 b.named("tile", tile);
                 Value number = b.named("number", b.add(first, tile));
                 Value key =
                     b.mul(b.add(work.firstTile, tile), b.index(entry.keys));
                 Value product =
                     multiplyValues(half, number, work.item, key, state[0]);
                 // Meanwhile.
                 SmallVector<Value> next = findNext(state.drop_front());
                 Value sum = b.finish(product);
                 SmallVector<Value> later =
                     refill(number, state.drop_front(), next);
                 return {sum, later[0], later[1]};
               });
           storeOutput(piece, column, done[0]);
           return {b.add(first, tiles), done[1], done[2]};
         });
}

//===----------------------------------------------------------------------===//
// P V
//===----------------------------------------------------------------------===//

Value RowsAsM::multiplyValues(Value half, Value number, const ItemValues &item,
                              Value firstKey, Value sum) {
  Value values = b.wait(half, number)[0];
  ValueRange weights = b.wait(pipes.weights, number);
  Value alpha = LoadSharedOp::create(b, o.row(f32), weights[1]);
  Value changed = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, alpha,
                                        b.splat(o.row(f32), 1));
  Value scaled = b.ifAny(changed, sum, [&]() -> SmallVector<Value> {
    return {arith::MulFOp::create(b, sum, b.spread(alpha, o.matrix(f32)))};
  })[0];
  loads.clearUnseen(b, item, values, firstKey);
  b.wait(pipes.turn, number);
  return b.multiply(weights[0], values, scaled, o.matrix(f32));
}

void RowsAsM::storeOutput(Value piece, Value column, Value sum) {
  Outline store(b, "store_output", {}, [&](ValueRange) {
    storeRows(piece, column, sum, [&]() -> Value {
      if (entry.outType == f32)
        return sum;
      return arith::TruncFOp::create(b, o.matrix(entry.outType), sum);
    });
    return SmallVector<Value>();
  });
  store.call(b, {});
}

void RowsAsM::release(Value half, Value number) {
  for (Value pipe : {half, pipes.weights, pipes.turn})
    ReleaseOp::create(b, pipe, number);
}

//===----------------------------------------------------------------------===//
// Loads of queries and keys
//===----------------------------------------------------------------------===//

WorkItem RowsAsM::locate(Position at) {
  WorkItem work = read(at.piece);
  loads.beginPiece(b, work.item, b.less(b.index(0), work.item.kvLen));
  Value tile = b.max(b.sub(at.turn, b.index(1)), b.index(0));
  loads.locate(b, b.add(work.firstTile, tile));
  return work;
}

SmallVector<Value> RowsAsM::load(Value half, Value column, Value number,
                                 Position at, const WorkItem &work) {
  Value one = b.index(1), zero = b.index(0);
  Value isQuery = b.isSame(at.turn, zero);
  auto copy = [&](Value pipe, OpFoldResult firstColumn) {
    Value tile = b.acquire(pipe, number)[0];
    b.branch(
        isQuery,
        [&] {
          queries.load(b, work.item, tile, firstColumn);
          return SmallVector<Value>();
        },
        [&] {
          loads.load(b, tile, firstColumn);
          return SmallVector<Value>();
        });
    CommitOp::create(b, pipe, number);
  };
  copy(half, column);
  if (pipes.rope)
    b.when(b.isNot(column, zero),
           [&] { copy(pipes.rope, b.getIndexAttr(entry.headDimV)); });

  Value isLast = b.isSame(at.turn, countTiles(work));
  return {b.select(isLast, b.add(at.piece, one), at.piece),
          b.select(isLast, zero, b.add(at.turn, one))};
}
