//===- KeysAsM.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Few rows: S^T = K Q^T and O^T = V^T P^T. Role "math" multiplies and does the
// softmax, "load" brings keys, "load_q" the next piece's queries.
//
//===----------------------------------------------------------------------===//

#include "Loads.h"
#include "Outline.h"
#include "Rows.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

static constexpr StringLiteral kMath = "math", kLoad = "load",
                               kLoadQ = "load_q";
/// Barriers, and what warps exchange.
static constexpr int64_t kReservedBytes = 4096;
/// Two CTAs of the merge, which then are ready when this one ends.
static constexpr int64_t kMergeBytes = 33 * 1024;
/// Warps that copy row by row; boxes need one. With the others these are two
/// warpgroups, so that a thread may have 255 registers.
static constexpr int64_t kGatherWarps = 3;
/// Reference of exp before the first key: finite, so that -inf minus it is not
/// NaN, and a row that sees no key keeps a sum of 0.
static constexpr float kNoMax = -1e30f;

namespace {
class KeysAsM {
public:
  explicit KeysAsM(TileEntry &entry);
  void emit();

private:
  void emitStorage();
  void emitMathRole();
  void emitLoadRole();
  void emitLoadQRole();
  /// A loop over the CTA's pieces of work; slots of keys are numbered over all
  /// of them, and `body` gets the first of the piece. Pieces count from 0 in
  /// `number`.
  void forPieces(llvm::function_ref<void(const WorkItem &work, Value number,
                                         Value firstSlot)>
                     body);
  /// O, row maximum and lanes' sums after tile `tile`, which is in slot `slot`.
  SmallVector<Value> emitTile(const WorkItem &work, Value query, Value tile,
                              Value slot, ValueRange state);
  /// `query` is the piece's slot `number` of queries, which is released.
  void storeRows(const WorkItem &work, Value query, Value number,
                 ValueRange state);
  /// The half that this CTA stores of what a pair has done.
  void storePair(const WorkItem &work, Value query, Value number, Value out,
                 Value lse);
  /// Rows that are done, or columns of them from `column` on.
  void storeOut(const ItemValues &item, Value out, Value column);
  void storeLse(const ItemValues &item, Value lse);

  TileEntry &entry;
  RoleBuilder b;
  Type f32;
  FragmentTypes s, o;
  KVLoads loads;
  ScoreEmitter scores;
  Value kv, q, p; // pipelines of keys and queries, the tile of P
};
} // namespace

KeysAsM::KeysAsM(TileEntry &entry)
    : entry(entry), b(entry.plan.getLoc(), entry.func), f32(b.getF32Type()),
      s(MmaLayoutAttr::get(b.getContext(), MDim::Keys,
                           {entry.keys, entry.rows, 16}),
        entry.rows, entry.keys),
      o(s.layout, entry.rows, entry.headDimV), loads(entry, /*boxColumns=*/0),
      scores(entry, s.matrix(f32)) {
  b.setInsertionPoint(entry.work);
}

void KeysAsM::emitStorage() {
  MLIRContext *context = b.getContext();
  int64_t swizzle = getSwizzle(entry);
  auto ringOf = [&](int64_t stages, int64_t rows) {
    return AllocOp::create(b,
                           SmemType::get(context, {stages, rows, entry.headDim},
                                         entry.type, swizzle));
  };
  auto pipelineOf = [&](Value ring, Writer writer, StringRef from) {
    return PipelineOp::create(b, ring, /*after=*/Value(), ArrayRef<int64_t>{0},
                              ArrayRef<int64_t>{entry.headDim},
                              /*slots=*/IntegerAttr(), writer, from,
                              b.getStrArrayAttr(kMath));
  };
  Value keys =
      b.named("k_ring", ringOf(entry.schedule.getStages(), entry.keys));
  auto weights =
      TileType::get(context, {entry.rows, entry.keys}, entry.type, 128);
  // The next piece's queries come early where there is room.
  int64_t used = cast<SmemType>(keys.getType()).getBytes() +
                 weights.getBytes() + kReservedBytes +
                 (entry.storePartial ? kMergeBytes : 0);
  int64_t room = entry.target.getSmemBytes() - used;
  int64_t bytes = entry.rows * entry.headDim * 2;
  Value queries =
      b.named("q_ring", ringOf(room >= 2 * bytes ? 2 : 1, entry.rows));
  p = b.named("p", AllocOp::create(b, weights));
  kv = b.named("kv", pipelineOf(keys, loads.getWriter(), kLoad));
  q = b.named("q", pipelineOf(queries, Writer::CpAsync, kLoadQ));
}

void KeysAsM::emit() {
  emitStorage();
  int64_t loadWarps = loads.getWriter() == Writer::TMA ? 1 : kGatherWarps;
  auto roles = WarpSpecializeOp::create(
      b, ValueRange(), b.getStrArrayAttr({kMath, kLoad, kLoadQ}),
      ArrayRef<int64_t>{kWarpgroupWarps, loadWarps, 1}, ArrayRef<int64_t>{},
      ArrayRef<int64_t>{1, 1, 1}, /*bodiesCount=*/3);
  auto fill = [&](Region &body, void (KeysAsM::*emitRole)()) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&body);
    (this->*emitRole)();
    mla_gpu::YieldOp::create(b);
  };
  fill(roles.getBodies()[0], &KeysAsM::emitMathRole);
  fill(roles.getBodies()[1], &KeysAsM::emitLoadRole);
  fill(roles.getBodies()[2], &KeysAsM::emitLoadQRole);
}

void KeysAsM::forPieces(
    llvm::function_ref<void(const WorkItem &, Value, Value)> body) {
  auto [begin, end] = entry.readRange(b);
  b.loop(begin, end, b.index(0), [&](Value piece, ValueRange carried) {
    WorkItem work =
        loadWorkItem(b, b.getLoc(), entry.plan, entry.workList, piece);
    b.named("piece", piece);
    body(work, b.sub(piece, begin), b.named("first_slot", carried[0]));
    return SmallVector<Value>{b.add(carried[0], work.numTiles)};
  });
}

//===----------------------------------------------------------------------===//
// Products and softmax
//===----------------------------------------------------------------------===//

void KeysAsM::emitMathRole() {
  scores.emitSetup(b);
  SmallVector<Value> init = {b.splat(o.matrix(f32), 0),
                             b.splat(s.row(f32), kNoMax),
                             b.splat(s.lanes(f32), 0)};
  forPieces([&](const WorkItem &work, Value number, Value firstSlot) {
    scores.beginPiece(b, work.item);
    Value query = b.wait(q, number)[0];
    SmallVector<Value> state =
        b.loop(b.index(0), work.numTiles, init, [&](Value j, ValueRange state) {
          for (auto [name, value] :
               llvm::zip(std::array{"o", "max", "sum"}, state))
            b.named(name, value);
          return emitTile(work, query, b.add(work.firstTile, j),
                          b.add(firstSlot, j), state);
        });
    storeRows(work, query, number, state);
  });
}

SmallVector<Value> KeysAsM::emitTile(const WorkItem &work, Value query,
                                     Value tile, Value slot, ValueRange state) {
  RankedTensorType row = s.row(f32), matrix = s.matrix(f32);
  Value keys = b.wait(kv, slot)[0];
  Value raw =
      b.finish(b.multiply(query, keys, {}, matrix, /*transposed=*/true));
  TileScores tileScores =
      scores.emitTile(b, raw, tile, [&] { return work.item; });

  // Online softmax in base 2; sums stay apart by thread until the end.
  Value most = b.reduce(Reduction::Max, tileScores.scores, row);
  if (tileScores.factor)
    most = arith::MulFOp::create(b, most, b.spread(tileScores.factor, row));
  Value newMax = arith::MaximumFOp::create(b, state[1], most);
  Value alpha =
      math::Exp2Op::create(b, arith::SubFOp::create(b, state[1], newMax));
  Value reference = b.spread(newMax, matrix), exponent;
  if (tileScores.factor)
    exponent = math::FmaOp::create(b, tileScores.scores,
                                   b.spread(tileScores.factor, matrix),
                                   arith::NegFOp::create(b, reference));
  else
    exponent = arith::SubFOp::create(b, tileScores.scores, reference);
  Value weights = math::Exp2Op::create(b, exponent);
  Value newSum =
      math::FmaOp::create(b, state[2], b.spread(alpha, s.lanes(f32)),
                          b.reduce(Reduction::Sum, weights, s.lanes(f32)));
  StoreSharedOp::create(
      b, arith::TruncFOp::create(b, s.matrix(entry.type), weights), p);

  Value grew = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, alpha,
                                     b.splat(row, 1));
  Value rescaled = b.ifAny(grew, state[0], [&]() -> SmallVector<Value> {
    return {arith::MulFOp::create(b, state[0], b.spread(alpha, o.matrix(f32)))};
  })[0];
  Value values = b.view(keys, 0, entry.headDimV);
  loads.clearUnseen(b, work.item, values, b.mul(tile, b.index(entry.keys)));
  Value newO = b.finish(b.multiply(p, values, rescaled, o.matrix(f32)));
  ReleaseOp::create(b, kv, slot);
  return {newO, newMax, newSum};
}

void KeysAsM::storeOut(const ItemValues &item, Value out, Value column) {
  auto type = cast<RankedTensorType>(out.getType());
  if (entry.outType != f32)
    out = arith::TruncFOp::create(
        b, RankedTensorType::get(type.getShape(), entry.outType, o.layout),
        out);
  Value dest = entry.store.getOut();
  StoreRowsOp::create(b, out, rowsOfItem(b, b.getLoc(), entry.plan, item, dest),
                      item.firstRow, column, item.numRows, /*optional=*/false,
                      promisesAlignedRows(entry.schedule, dest));
}

void KeysAsM::storeLse(const ItemValues &item, Value lse) {
  if (!entry.store.getLse())
    return;
  StoreRowsOp::create(
      b, buildLse(b, entry.store, lse),
      rowsOfItem(b, b.getLoc(), entry.plan, item, entry.store.getLse()),
      item.firstRow, Value(), item.numRows, /*optional=*/true);
}

void KeysAsM::storeRows(const WorkItem &work, Value query, Value number,
                        ValueRange state) {
  RankedTensorType row = s.row(f32);
  // Queries of the next piece may come, but not where a pair exchanges.
  if (!entry.pairs)
    ReleaseOp::create(b, q, number);
  Value one = b.splat(row, 1);
  Value sum = b.reduce(Reduction::Sum, state[2], row);
  Value isEmpty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, b.splat(row, 0));
  Value inverse = arith::DivFOp::create(b, one, b.select(isEmpty, one, sum));
  Value out =
      arith::MulFOp::create(b, state[0], b.spread(inverse, o.matrix(f32)));
  // log2 0 = -inf for a row without keys.
  Value lse = arith::AddFOp::create(b, state[1], math::Log2Op::create(b, sum));

  const ItemValues &item = work.item;
  auto storeWhole = [&] {
    storeOut(item, out, b.index(0));
    storeLse(item, lse);
  };
  if (!entry.storePartial)
    return storeWhole();
  auto storePart = [&] {
    Value slotRow = b.mul(item.slot, b.index(entry.rows));
    StoreRowsOp::create(b, out, entry.storePartial.getPartialOut(), slotRow,
                        b.index(0), item.numRows, /*optional=*/false);
    StoreRowsOp::create(b, lse, entry.storePartial.getPartialLse(), slotRow,
                        Value(), item.numRows, /*optional=*/false);
  };
  auto choose = [&](Value condition, llvm::function_ref<void()> yes,
                    llvm::function_ref<void()> no) {
    auto filled = [](llvm::function_ref<void()> store) {
      return [store] {
        store();
        return SmallVector<Value>{};
      };
    };
    b.branch(condition, filled(yes), filled(no));
  };
  auto storeAlone = [&] {
    if (entry.pairs)
      ReleaseOp::create(b, q, number);
    choose(work.whole, storeWhole, storePart);
  };
  if (!entry.pairs)
    return storeAlone();
  auto storeHalf = [&] {
    Outline half(b, "store_half", {}, [&](ValueRange) {
      storePair(work, query, number, out, lse);
      return SmallVector<Value>();
    });
    half.call(b, {});
  };
  choose(PairedItemOp::create(b, entry.workList, work.index), storeHalf,
         storeAlone);
}

void KeysAsM::storePair(const WorkItem &work, Value query, Value number,
                        Value out, Value lse) {
  RankedTensorType row = s.row(f32);
  auto both = ExchangeOp::create(b, out, lse, query);
  ReleaseOp::create(b, q, number);
  // What the merge does with two pieces.
  Value theirs = both.getTheirRows();
  Value most = arith::MaximumFOp::create(
      b, arith::MaximumFOp::create(b, lse, theirs), b.splat(row, kNoMax));
  auto weigh = [&](Value lse) -> Value {
    return math::Exp2Op::create(b, arith::SubFOp::create(b, lse, most));
  };
  Value myWeight = weigh(lse), theirWeight = weigh(theirs);
  Value sum = arith::AddFOp::create(b, myWeight, theirWeight);
  Value isEmpty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, b.splat(row, 0));
  Value one = b.splat(row, 1);
  Value inverse = arith::DivFOp::create(b, one, b.select(isEmpty, one, sum));
  RankedTensorType half = cast<RankedTensorType>(both.getMine().getType());
  auto scale = [&](Value weight) {
    return b.spread(arith::MulFOp::create(b, weight, inverse), half);
  };
  Value merged = arith::MulFOp::create(b, both.getMine(), scale(myWeight));
  merged = math::FmaOp::create(b, both.getTheirs(), scale(theirWeight), merged);
  storeOut(work.item, merged, both.getColumn());
  b.when(b.isSame(both.getColumn(), b.index(0)), [&] {
    storeLse(work.item,
             arith::AddFOp::create(b, most, math::Log2Op::create(b, sum)));
  });
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void KeysAsM::emitLoadRole() {
  forPieces([&](const WorkItem &work, Value, Value firstSlot) {
    loads.beginPiece(b, work.item);
    b.loop(b.index(0), work.numTiles, {}, [&](Value j, ValueRange) {
      Value slot = b.add(firstSlot, j);
      // The page's number is on its way while the slot becomes free.
      loads.locate(b, b.add(work.firstTile, j));
      loads.load(b, b.acquire(kv, slot)[0], b.getIndexAttr(0));
      CommitOp::create(b, kv, slot);
      return SmallVector<Value>{};
    });
  });
}

void KeysAsM::emitLoadQRole() {
  auto [begin, end] = entry.readRange(b);
  b.loop(begin, end, {}, [&](Value piece, ValueRange) {
    WorkItem work =
        loadWorkItem(b, b.getLoc(), entry.plan, entry.workList, piece);
    Value number = b.sub(piece, begin);
    emitQueryLoad(b, entry, work.item, b.acquire(q, number)[0],
                  /*firstColumn=*/b.getIndexAttr(0));
    CommitOp::create(b, q, number);
    return SmallVector<Value>{};
  });
}

LogicalResult mla::emitKeysAsM(TileEntry &entry) {
  KeysAsM(entry).emit();
  return success();
}
