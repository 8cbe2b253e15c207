//===- RowsAsMSoftmax.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Role "softmax": S = Q K^T of each tile, P = 2^(S - m), and the factors by
// which O has to be rescaled.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "RowsAsM.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

/// The reference of exp moves when a row has outgrown it by 2^8.
static constexpr float kSlack = 8;
/// Reference of a row that has seen no key: finite, so that -inf minus it is
/// not NaN, and below any score that is.
static constexpr float kNoMax = -1e30f;
/// Sum of a row without keys, to divide by.
static constexpr float kTiny = 1e-30f;

static Value exp2(RoleBuilder &b, Value x) {
  return math::Exp2Op::create(b, x);
}
static Value mulf(RoleBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}
static Value addf(RoleBuilder &b, Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}
static Value subf(RoleBuilder &b, Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}

void RowsAsM::emitSoftmaxRole() {
  scores.emitSetup(b);
  Value noMax = b.splat(s.row(f32), kNoMax), noSum = b.splat(s.lanes(f32), 0);
  auto [begin, end] = entry.readRange(b);
  b.loop(begin, end, b.index(0),
         [&](Value piece, ValueRange carried) -> SmallVector<Value> {
           b.named("piece", piece);
           b.named("query", carried[0]);
           WorkItem work = read(piece);
           Value tiles = countTiles(work), last = b.sub(tiles, b.index(1));
           Query query;
           SmallVector<Value *> fragments;
           Outline take(b, "take_query", {}, [&](ValueRange) {
             query = takeQuery(carried[0]);
             SmallVector<Value> results;
             for (Value *part :
                  {&query.left, &query.right, &query.last, &query.rope})
               if (*part && isa<RankedTensorType>(part->getType())) {
                 fragments.push_back(part);
                 results.push_back(*part);
               }
             return results;
           });
           for (auto [part, value] : llvm::zip(fragments, take.call(b, {})))
             *part = value;
           scores.beginPiece(b, work.item);
           Value first = b.add(carried[0], b.index(1));
           SmallVector<Value> sums =
               b.loop(b.index(0), tiles, {noMax, noSum},
                      [&](Value tile, ValueRange state) {
                        b.named("tile", tile);
                        b.named("max", state[0]);
                        b.named("sum", state[1]);
                        Value number = b.named("number", b.add(first, tile));
                        Value raw = multiplyKeys(query, number,
                                                 b.isNot(tile, b.index(0)));
                        // Registers are few: what masks take is read where it
                        // is used.
                        TileScores masked =
                            scores.emitTile(b, raw, b.add(work.firstTile, tile),
                                            [&] { return read(piece).item; });
                        return emitWeights(masked, number, b.isSame(tile, last),
                                           state);
                      });
           Value next = b.add(first, tiles);
           Value lastNumber = b.sub(next, b.index(1));
           handOver(lastNumber);
           storeSums(piece, sums[0], sums[1]);
           return {next};
         });
}

//===----------------------------------------------------------------------===//
// Q K^T
//===----------------------------------------------------------------------===//

RowsAsM::Query RowsAsM::takeQuery(Value number) {
  auto take = [&](Value tile, int64_t begin, int64_t end) -> Value {
    if (begin == end)
      return {};
    FragmentTypes type(
        MmaLayoutAttr::get(b.getContext(), MDim::Rows, {entry.rows, 16, 16}),
        entry.rows, end - begin);
    return LoadSharedOp::create(b, type.matrix(entry.type),
                                b.view(tile, begin, end));
  };
  Value left = b.wait(pipes.left, number)[0];
  Value right = b.wait(pipes.right, number)[0];
  // What does not fit the registers goes first, while they are free.
  int64_t half = columns.half, inTile = half - columns.qInTile;
  Query query;
  if (pipes.rope) {
    query.rope = take(b.wait(pipes.rope, number)[0], 0, columns.rope);
    if (qRopeTile) {
      StoreSharedOp::create(b, query.rope, qRopeTile);
      query.rope = qRopeTile;
    }
  }
  if (qLastTile)
    StoreSharedOp::create(b, take(right, inTile, half), qLastTile);
  query.left = take(left, 0, half);
  query.right = take(right, 0, inTile - columns.last);
  query.last = take(right, inTile - columns.last, inTile);
  // The slot goes on without a P.
  if (pipes.rope)
    ReleaseOp::create(b, pipes.rope, number);
  AcquireOp::create(b, pipes.weights, number);
  handOver(number);
  return query;
}

Value RowsAsM::multiplyKeys(const Query &query, Value number, Value isLater) {
  Value before = b.sub(number, b.index(1));
  Value product;
  auto multiply = [&](Value lhs, Value keys) {
    if (lhs)
      product = b.multiply(lhs, keys, product, s.matrix(f32),
                           /*transposed=*/true);
  };
  Value keysLeft = b.wait(pipes.left, number)[0];
  multiply(query.left, keysLeft);
  // What fences and arrivals take hides behind this product.
  b.when(isLater, [&] { publish(before); });
  Value keysRight = b.wait(pipes.right, number)[0];
  int64_t inTile = columns.half - columns.qInTile;
  int64_t last = inTile - columns.last;
  if (query.right)
    multiply(query.right, b.view(keysRight, 0, last));
  if (pipes.rope)
    multiply(query.rope, b.wait(pipes.rope, number)[0]);
  if (qLastTile)
    multiply(qLastTile, b.view(keysRight, inTile, columns.half));
  Value allButLast = product;
  multiply(query.last, b.view(keysRight, last, inTile));
  // P V of the tile before queues behind the last steps, not between others.
  b.drain(allButLast);
  b.when(isLater, [&] { CommitOp::create(b, pipes.turn, before); });
  Value scores = b.finish(product);
  if (pipes.rope)
    ReleaseOp::create(b, pipes.rope, number);
  return scores;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

SmallVector<Value> RowsAsM::emitWeights(TileScores scores, Value number,
                                        Value isLast, ValueRange state) {
  RankedTensorType matrix = s.matrix(f32), row = s.row(f32),
                   lanes = s.lanes(f32);
  Value one = b.splat(row, 1), max = state[0];
  Value most = b.reduce(Reduction::Max, scores.scores, lanes);
  if (scores.factor)
    most = mulf(b, most, b.spread(scores.factor, lanes));
  Value bound = addf(b, b.spread(max, lanes), b.splat(lanes, kSlack));
  Value grew = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, most, bound);
  SmallVector<Value> moved =
      b.ifAny(grew, {max, one, state[1]}, [&]() -> SmallVector<Value> {
        Value newMax = arith::MaximumFOp::create(
            b, max, b.reduce(Reduction::Max, most, row));
        Value alpha = exp2(b, subf(b, max, newMax));
        return {newMax, alpha, mulf(b, state[1], b.spread(alpha, lanes))};
      });
  Value reference = b.spread(moved[0], matrix), exponents;
  if (scores.factor)
    exponents =
        math::FmaOp::create(b, scores.scores, b.spread(scores.factor, matrix),
                            arith::NegFOp::create(b, reference));
  else
    exponents = subf(b, scores.scores, reference);
  ValueRange tiles = b.acquire(pipes.weights, number);
  auto weigh = [&](Value &sum) {
    Value weights = exp2(b, exponents);
    sum = addf(b, moved[2], b.reduce(Reduction::Sum, weights, lanes));
    return weights;
  };
  auto store = [&](Value weights, Value alpha) {
    Value rounded = arith::TruncFOp::create(b, s.matrix(entry.type), weights);
    StoreSharedOp::create(b, rounded, tiles[0]);
    StoreSharedOp::create(b, alpha, tiles[1]);
  };
  // The last P and scales also normalise: P V needs no row sums. Others are
  // stored as they come, each while the next ones are computed: so both ways
  // have all of it.
  Value total = b.branch(
      isLast,
      [&] {
        Outline last(b, "store_last_p", {}, [&](ValueRange) {
          Value sum, weights = weigh(sum);
          Value total = b.reduce(Reduction::Sum, sum, row);
          Value some = arith::MaximumFOp::create(b, total, b.splat(row, kTiny));
          Value inverse = arith::DivFOp::create(b, b.splat(row, 1), some);
          store(mulf(b, weights, b.spread(inverse, matrix)),
                mulf(b, moved[1], inverse));
          return SmallVector<Value>{sum};
        });
        return last.call(b, {});
      },
      [&]() -> SmallVector<Value> {
        Value sum, weights = weigh(sum);
        store(weights, moved[1]);
        return {sum};
      })[0];
  return {moved[0], total};
}

void RowsAsM::publish(Value number) {
  CommitOp::create(b, pipes.weights, number);
  ReleaseOp::create(b, pipes.left, number);
  ReleaseOp::create(b, pipes.right, number);
  AcquireOp::create(b, pipes.turn, number);
}

void RowsAsM::handOver(Value number) {
  publish(number);
  CommitOp::create(b, pipes.turn, number);
}

void RowsAsM::storeSums(Value piece, Value max, Value sum) {
  Value total = b.reduce(Reduction::Sum, sum, s.row(f32));
  Value lse = addf(b, max, math::Log2Op::create(b, total)); // base 2
  Outline store(b, "store_lse", {}, [&](ValueRange) {
    storeRows(piece, /*column=*/{}, lse,
              [&] { return buildLse(b, entry.store, lse); });
    return SmallVector<Value>();
  });
  store.call(b, {});
}
