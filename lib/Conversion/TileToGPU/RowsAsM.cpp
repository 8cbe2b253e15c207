//===- RowsAsM.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowsAsM.h"
#include "Rows.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numeric>

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

/// Columns of Q that 124 registers of each thread of "softmax" hold.
static constexpr int64_t kQueryColumns = 496;
/// Registers of a thread: Q, S and what softmax takes; O and what P V takes.
static constexpr int64_t kSoftmaxRegisters = 184, kOutputRegisters = 160;
/// Columns of Q K^T that P V queues behind: eight steps.
static constexpr int64_t kLastColumns = 128;
/// What a CTA multiplies at a time: M of an MMA, and a column tile of P.
static constexpr int64_t kRows = 64, kKeys = 64;
/// Of bf16 and f16, which the tensor cores multiply.
static constexpr int64_t kElementBytes = 2;
static constexpr StringLiteral kSoftmax = "softmax", kLeft = "left",
                               kRight = "right";

RowsAsMColumns::RowsAsMColumns(const TileEntry &entry)
    : half(entry.headDimV / 2), rope(entry.headDim - entry.headDimV) {
  bool fits = entry.headDim <= kQueryColumns;
  qRopeInTile = !fits && rope > 0;
  qInTile = fits ? 0 : std::max<int64_t>(0, entry.headDimV - kQueryColumns);
  last = std::min(kLastColumns, half - qInTile);
}

/// Widest boxes that halves of V and the rope columns both are whole ones of.
static int64_t getBoxColumns(const RowsAsMColumns &columns) {
  return std::gcd(columns.half, columns.rope);
}

/// Checks that the tile is one that the roles can be divided for.
static LogicalResult checkRowsAsM(const TileEntry &entry) {
  RowsAsMColumns columns(entry);
  auto error = [&] {
    return markUnsupported(
        entry.func->emitError("dataflow rows_as_m requires "));
  };
  if (entry.rows != kRows || entry.keys != kKeys)
    return error() << "tiles of " << kRows << " x " << kKeys << ", but got "
                   << entry.rows << " x " << entry.keys;
  int64_t step = getSwizzle(entry) / kElementBytes;
  if (entry.headDimV > 512 || entry.headDimV % 2 || columns.half % step ||
      columns.rope % step)
    return error() << "at most 512 columns of V, and halves of them and rope "
                      "columns that are multiples of "
                   << step << ", but got " << entry.headDimV << " of "
                   << entry.headDim;
  if (entry.partWidths.size() > 1 && entry.partWidths[0] != entry.headDimV)
    return error() << "a latent part as wide as V, " << entry.headDimV
                   << ", but got " << entry.partWidths[0];
  return success();
}

RowsAsM::RowsAsM(TileEntry &entry)
    : entry(entry), columns(entry), stages(entry.schedule.getStages()),
      b(entry.plan.getLoc(), entry.func), f32(b.getF32Type()),
      s(MmaLayoutAttr::get(b.getContext(), MDim::Rows, {kRows, kKeys, 16}),
        kRows, kKeys),
      o(MmaLayoutAttr::get(b.getContext(), MDim::Rows,
                           {kRows, columns.half, 16}),
        kRows, columns.half),
      loads(entry, getBoxColumns(columns)), queries(entry),
      scores(entry, s.matrix(f32)) {
  b.setInsertionPoint(entry.work);
}

//===----------------------------------------------------------------------===//
// Setup
//===----------------------------------------------------------------------===//

Value RowsAsM::pipeline(ValueRange storages, ArrayRef<int64_t> begins,
                        ArrayRef<int64_t> ends, Writer writer, StringRef from,
                        ArrayRef<StringRef> to, Value after) {
  IntegerAttr slots =
      storages.empty() ? b.getI64IntegerAttr(stages) : IntegerAttr();
  return PipelineOp::create(b, storages, after, begins, ends, slots, writer,
                            from, b.getStrArrayAttr(to));
}

void RowsAsM::emitStorage() {
  int64_t half = columns.half, v = entry.headDimV, d = entry.headDim;
  int64_t swizzle = getSwizzle(entry);
  auto matrix = [&](int64_t stages, int64_t width) -> Value {
    return AllocOp::create(b,
                           SmemType::get(b.getContext(), {stages, kKeys, width},
                                         entry.type, swizzle));
  };
  auto queryTile = [&](int64_t width) -> Value {
    return AllocOp::create(
        b, TileType::get(b.getContext(), {kRows, width}, entry.type,
                         std::min(swizzle, width * kElementBytes)));
  };
  Value ring = b.named("ring", matrix(stages, d));
  // P takes the place of rope columns, which only Q K^T reads. If it has a
  // place of its own, two slots keep both products busy.
  bool inRope = columns.rope >= kKeys;
  int64_t weightStages = inRope ? stages : 2, begin = inRope ? v : 0;
  Value weights = inRope ? ring : matrix(weightStages, kKeys);
  Value scales = AllocOp::create(b, SmemType::get(b.getContext(),
                                                  {weightStages, kRows}, f32,
                                                  /*swizzle=*/0));
  if (columns.qRopeInTile)
    qRopeTile = b.named("q_rope", queryTile(columns.rope));
  if (columns.qInTile)
    qLastTile = b.named("q_last", queryTile(columns.qInTile));

  b.named("scales", scales);

  Writer writer = loads.getWriter();
  pipes.left = pipeline(ring, 0, half, writer, kLeft, {kSoftmax, kLeft});
  pipes.right = pipeline(ring, half, v, writer, kRight, {kSoftmax, kRight});
  if (columns.rope)
    pipes.rope = pipeline(ring, v, d, writer, kRight, kSoftmax);
  pipes.weights = pipeline({weights, scales}, {begin, 0}, {begin + kKeys, 0},
                           Writer::Threads, kSoftmax, {kLeft, kRight},
                           inRope ? pipes.rope : Value());
  pipes.turn = pipeline({}, {}, {}, Writer::Threads, kSoftmax, {kLeft, kRight});
  b.named("left", pipes.left);
  b.named("right", pipes.right);
  if (pipes.rope)
    b.named("rope", pipes.rope);
  b.named("p", pipes.weights);
  b.named("go", pipes.turn);
}

void RowsAsM::emit() {
  emitStorage();

  SmallVector<Value> args{pipes.left, b.index(0), pipes.right,
                          b.index(columns.half)};
  auto roles = WarpSpecializeOp::create(
      b, args, b.getStrArrayAttr({kSoftmax, kLeft, kRight}),
      ArrayRef<int64_t>{4, 4, 4},
      ArrayRef<int64_t>{kSoftmaxRegisters, kOutputRegisters, kOutputRegisters},
      ArrayRef<int64_t>{1, 2}, /*bodiesCount=*/2);
  auto fill = [&](Region &body, TypeRange types,
                  llvm::function_ref<void(ValueRange)> emitRole) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(
        &body, {}, types, SmallVector<Location>(types.size(), b.getLoc()));
    for (auto [argument, name] :
         llvm::zip(block->getArguments(), std::array{"half", "column"}))
      b.named(name, argument);
    emitRole(block->getArguments());
    mla_gpu::YieldOp::create(b);
  };
  fill(roles.getBodies()[0], {}, [&](ValueRange) { emitSoftmaxRole(); });
  fill(roles.getBodies()[1], {pipes.left.getType(), b.getIndexType()},
       [&](ValueRange args) { emitOutputRoles(args[0], args[1]); });
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

WorkItem RowsAsM::read(Value piece) {
  WorkItem work =
      loadWorkFields(b, b.getLoc(), entry.plan, entry.workList, piece);
  findSeenKeys(work);
  return work;
}

void RowsAsM::findSeenKeys(WorkItem &work) {
  auto fieldsOf = [](ItemValues &item) {
    return std::array{&item.numRows,         &item.kvLen,
                      &item.keys.begin,      &item.keys.end,
                      &item.keys.innerBegin, &item.keys.innerEnd};
  };
  Type index = b.getIndexType();
  auto emit = [&](ValueRange params) {
    ItemValues item;
    item.firstRow = params[0], item.kvLen = params[2], item.qLen = params[3];
    ItemMath math(b, b.getLoc(), entry.plan);
    math.fillRows(item, math.blockM);
    // Without tiles, the one slot holds no keys, whatever its rows see
    // elsewhere.
    Value none = b.isSame(params[1], b.index(0));
    SmallVector<Value> results;
    for (Value *field : fieldsOf(item)) {
      std::optional<int64_t> &known = seenConstants.emplace_back();
      known = getConstantIntValue(OpFoldResult(*field));
      if (known)
        continue;
      bool isCount = field == &item.numRows;
      results.push_back(isCount ? *field : b.select(none, b.index(0), *field));
    }
    return results;
  };
  if (!seenKeys)
    seenKeys.emplace(b, "seen_keys",
                     ArrayRef<Outline::Param>{{"first_row", index},
                                              {"tiles", index},
                                              {"keys", index},
                                              {"queries", index}},
                     emit);
  ItemValues &item = work.item;
  SmallVector<Value> seen =
      seenKeys->call(b, {item.firstRow, work.numTiles, item.kvLen, item.qLen});
  b.named("seen", seen.front());
  ArrayRef<Value> rest = seen;
  for (auto [field, known] : llvm::zip_equal(fieldsOf(item), seenConstants)) {
    *field = known ? b.index(*known) : rest.front();
    if (!known)
      rest = rest.drop_front();
  }
}

Value RowsAsM::countTiles(const WorkItem &work) {
  return b.max(work.numTiles, b.index(1));
}

/// The rows of a partial slot.
static Value slotRows(RoleBuilder &b, Value partial, Value slot) {
  auto type = cast<MemRefType>(partial.getType());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      strides(rank, b.getIndexAttr(1)), sizes;
  offsets.front() = slot;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  sizes.front() = b.getIndexAttr(1);
  auto rows = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(), type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, cast<MemRefType>(rows), partial, offsets,
                                   sizes, strides);
}

void RowsAsM::storeRows(Value piece, Value column, Value partial,
                        llvm::function_ref<Value()> whole) {
  WorkItem work = read(piece);
  Value dest = column ? entry.store.getOut() : entry.store.getLse();
  auto storeWhole = [&] {
    if (dest)
      StoreRowsOp::create(
          b, whole(), rowsOfItem(b, b.getLoc(), entry.plan, work.item, dest),
          work.item.firstRow, column, work.item.numRows,
          /*optional=*/!column,
          /*aligned=*/column && promisesAlignedRows(entry.schedule, dest));
    return SmallVector<Value>();
  };
  StorePartialOp split = entry.storePartial;
  if (!split) {
    storeWhole();
    return;
  }
  b.branch(work.whole, storeWhole, [&] {
    Value slots = column ? split.getPartialOut() : split.getPartialLse();
    StoreRowsOp::create(b, partial, slotRows(b, slots, work.item.slot),
                        b.index(0), column, work.item.numRows);
    return SmallVector<Value>();
  });
}

LogicalResult mla::emitRowsAsM(TileEntry &entry) {
  if (failed(checkRowsAsM(entry)))
    return failure();
  RowsAsM(entry).emit();
  return success();
}
