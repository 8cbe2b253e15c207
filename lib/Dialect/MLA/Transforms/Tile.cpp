//===- Tile.cpp -----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   mla.decode q(...) k(...) ... score {...}
//
// becomes
//
//   %plan = mla.plan ... split = whole
//   mla.for_work %plan worker(%worker) {
//   ^bb0(%item, %first, %end, %whole):
//     %q = mla.load_q %item ...
//     %o, %m, %l = mla.init
//     %r:3 = scf.for %t = %first to %end iter_args(...) {
//       %kv = mla.load_kv %item[%t] ...
//       mla.qk, mla.score {scale, user code}, mla.mask, mla.softmax_step,
//       mla.pv
//     }
//     mla.finalize, mla.store
//   }
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_TILE
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"
} // namespace mlir::mla

BlockArgument mla::appendArgument(func::FuncOp func, StringRef name,
                                  Type type) {
  unsigned index = func.getNumArguments();
  auto nameAttr = StringAttr::get(func.getContext(), name);
  (void)func.insertArgument(
      index, type,
      DictionaryAttr::get(
          func.getContext(),
          NamedAttribute(StringAttr::get(func.getContext(), MLADialect::kName),
                         nameAttr)),
      NameLoc::get(nameAttr, func.getLoc()));
  return func.getArgument(index);
}

/// What can be written but is not lowered yet, in one sentence; empty if all
/// is.
static std::string unsupported(DecodeOp op) {
  const std::pair<StringRef, Value> clauses[] = {
      {"v (values that are not a view of k)", op.getV()},
      {"indices (sparse attention)", op.getIndices()},
      {"topk_lens (sparse attention)", op.getTopkLens()},
      {"sink", op.getSink()},
      {"k_scales", op.getKScales()}};
  for (auto [name, value] : clauses)
    if (value)
      return ("clause " + name + " is not lowered yet").str();
  for (auto [name, value] : {std::pair<StringRef, Value>{"q", op.getQ()},
                             {"k", op.getK()},
                             {"out", op.getOut()}}) {
    Type type = cast<MemRefType>(value.getType()).getElementType();
    if (!isa<BFloat16Type, Float16Type, Float32Type>(type)) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "'" << name << "' of " << type
          << " is not lowered yet: bf16, f16 and f32 are";
      return text;
    }
  }
  return {};
}

/// Gives every argument the name that the runtime binds it by: its role in the
/// problem, or what the author wrote, or its number.
static LogicalResult nameArguments(func::FuncOp func, DecodeOp op) {
  const std::pair<StringRef, Value> roles[] = {
      {"q", op.getQ()},
      {"q_rope", op.getQRope()},
      {"k", op.getK()},
      {"k_rope", op.getKRope()},
      {"table", op.getTable()},
      {"kv_indptr", op.getKvIndptr()},
      {"kv_indices", op.getKvIndices()},
      {"table_rows", op.getTableRows()},
      {"seq_lens", op.getSeqLens()},
      {"q_offsets", op.getQOffsets()},
      {"softmax_scale", op.getScale()},
      {"num_splits", op.getNumSplits()},
      {"out", op.getOut()},
      {"lse", op.getLse()},
      {"lse_scale", op.getLseScale()},
      {"lse_empty", op.getLseEmpty()}};
  DenseMap<Value, StringRef> names;
  for (auto [name, value] : roles)
    if (value)
      names[value] = name;
  for (auto [name, value] :
       llvm::zip_equal(op.getMask().getParameterNames(), op.getMaskParams()))
    names[value] = name;

  llvm::StringMap<unsigned> seen;
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string name = names.lookup(argument).str();
    if (name.empty()) {
      auto given = func.getArgAttrOfType<StringAttr>(index, MLADialect::kName);
      name = given ? given.str() : "arg" + std::to_string(index);
    }
    if (llvm::is_contained(argument_names::kReserved, name))
      return func.emitError("requires another name for argument ")
             << index << " than '" << name << "', which is the kernel's own";
    if (auto [it, inserted] = seen.try_emplace(name, index); !inserted)
      return func.emitError(
                 "requires arguments of different names, but arguments ")
             << it->second << " and " << index << " are both '" << name << "'";
    func.setArgAttr(index, MLADialect::kName,
                    StringAttr::get(func.getContext(), name));
  }
  return success();
}

/// Tensor cores multiply P in q's type; vectors keep it as it was computed.
static Type getWeightType(DecodeOp op) {
  auto target = op->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>(
      MLADialect::kTarget);
  if (target && target.isCuda())
    return cast<MemRefType>(op.getQ().getType()).getElementType();
  return Float32Type::get(op.getContext());
}

namespace {

class Tiler {
public:
  /// `weightType`: of P, where it is multiplied by V.
  Tiler(func::FuncOp func, DecodeOp op, Type weightType)
      : func(func), op(op), schedule(*op.getSchedule()), builder(op),
        loc(op.getLoc()), f32(builder.getF32Type()), rows(schedule.getBlockM()),
        keys(schedule.getBlockN()), weightType(weightType) {}

  void run() {
    Value worker =
        appendArgument(func, argument_names::kWorker, builder.getIndexType());
    Value workers = appendArgument(func, argument_names::kNumWorkers,
                                   builder.getIndexType());
    Value queries;
    if (!op.isRagged())
      queries = memref::DimOp::create(builder, loc, op.getQ(), 1);
    Value plan = PlanOp::create(
        builder, loc, PlanType::get(op.getContext()), op.getSeqLens(), queries,
        op.getQOffsets(), workers, op.getNumSplits(), op.getMaskParams(),
        op.getMask(), op.getNumHeads(), op.getNumKVHeads(), rows, keys,
        SplitPolicy::Whole, schedule.getSplitTiles());

    auto work = ForWorkOp::create(builder, loc, plan, worker);
    Type index = builder.getIndexType();
    builder.createBlock(
        &work.getBody(), {},
        {ItemType::get(op.getContext()), index, index, builder.getI1Type()},
        {loc, loc, loc, loc});
    buildItem(work);
    YieldOp::create(builder, loc);
    func->setAttr(MLADialect::kEntry, builder.getI64IntegerAttr(0));
    func->setAttr(MLADialect::kSchedule, schedule);
    op.erase();
  }

private:
  RankedTensorType tensor(ArrayRef<int64_t> shape, Type type) {
    return RankedTensorType::get(shape, type);
  }

  void buildItem(ForWorkOp work) {
    Value item = work.getItem();
    Type qType = cast<MemRefType>(op.getQ().getType()).getElementType();
    Value q =
        LoadQOp::create(builder, loc, tensor({rows, op.getHeadDim()}, qType),
                        item, op.getQ(), op.getQRope());
    auto rowType = tensor({rows}, f32);
    auto init = InitOp::create(builder, loc,
                               tensor({rows, int64_t(op.getHeadDimV())}, f32),
                               rowType, rowType);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(
        builder, loc, work.getFirst(), work.getEnd(), one, init.getResults(),
        [&](OpBuilder &, Location, Value tile, ValueRange state) {
          SmallVector<Value> next = buildTile(item, plan(work), tile, q, state);
          scf::YieldOp::create(builder, loc, next);
        });
    auto result = FinalizeOp::create(builder, loc, loop.getResult(0),
                                     loop.getResult(1), loop.getResult(2));
    StoreOp::create(builder, loc, result.getOut(), result.getLse(), item,
                    op.getOut(), op.getLse(), op.getLseScale(),
                    op.getLseEmpty());
  }

  static Value plan(ForWorkOp work) { return work.getPlan(); }

  SmallVector<Value> buildTile(Value item, Value plan, Value tile, Value q,
                               ValueRange state) {
    // scf.for hands its own builder; all of this pass builds with one.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(tile.getParentBlock());

    Type kType = cast<MemRefType>(op.getK().getType()).getElementType();
    auto tileType = KVTileType::get(op.getContext(), keys, op.getHeadDim(),
                                    kType, op.getHeadDimV());
    Value kv = LoadKVOp::create(builder, loc, tileType, item, tile, op.getK(),
                                op.getKRope(), op.getTable(), op.getKvIndptr(),
                                op.getKvIndices(), op.getTableRows());
    auto scoreType = tensor({rows, keys}, f32);
    Value raw = QKOp::create(builder, loc, scoreType, q, kv);
    Value scores = buildScore(raw, item, tile);
    Value masked = MaskOp::create(builder, loc, scores, plan, item, tile);
    auto step = SoftmaxStepOp::create(
        builder, loc, tensor({rows, keys}, weightType), state[1].getType(),
        state[1].getType(), state[1].getType(), masked, state[1], state[2]);
    Value o =
        PVOp::create(builder, loc, step.getP(), kv, state[0], step.getAlpha());
    return {o, step.getNewMax(), step.getNewSum()};
  }

  Value buildScore(Value raw, Value item, Value tile) {
    auto score = ScoreOp::create(builder, loc, raw, item, tile);
    OpBuilder::InsertionGuard guard(builder);
    Type i32 = builder.getI32Type();
    Block *body =
        builder.createBlock(&score.getBody(), {}, {i32, i32, i32, i32, f32},
                            {loc, loc, loc, loc, loc});
    Value value = arith::MulFOp::create(builder, loc, body->getArgument(4),
                                        op.getScale());
    if (!op.getScore().empty()) {
      Block &user = op.getScore().front();
      IRMapping mapping;
      mapping.map(user.getArguments().drop_back(),
                  body->getArguments().drop_back());
      mapping.map(user.getArguments().back(), value);
      for (Operation &inner : user.without_terminator())
        builder.clone(inner, mapping);
      value = mapping.lookupOrDefault(user.getTerminator()->getOperand(0));
    }
    YieldOp::create(builder, loc, value);
    return score.getResult();
  }

  func::FuncOp func;
  DecodeOp op;
  ScheduleAttr schedule;
  OpBuilder builder;
  Location loc;
  Type f32;
  int64_t rows, keys;
  Type weightType;
};

struct Tile : public mla::impl::TileBase<Tile> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(tile()))
      signalPassFailure();
  }

  LogicalResult tile() {
    func::FuncOp func = getOperation();
    SmallVector<DecodeOp> problems;
    func.walk([&](DecodeOp op) { problems.push_back(op); });
    if (problems.empty())
      return success();
    if (problems.size() > 1 || !func.getBody().hasOneBlock() ||
        problems.front()->getParentOp() != func)
      return problems.back().emitOpError(
          "requires to be the only mla.decode of a function of one block");
    DecodeOp op = problems.front();
    if (!op.getSchedule())
      return op.emitOpError(
          "requires a schedule (see mla-select-schedule), but got none");
    if (std::string reason = unsupported(op); !reason.empty())
      return markUnsupported(op.emitOpError()) << reason;
    // The runtime sizes workspaces and checks contents by the arguments; only
    // the scale may be compiled in.
    for (Value operand : op->getOperands())
      if (operand != op.getScale() &&
          !llvm::is_contained(func.getArguments(), operand)) {
        InFlightDiagnostic diag = op.emitOpError(
            "requires every operand but 'scale' to be an argument of the "
            "function");
        diag.attachNote(operand.getLoc()) << "this one is not";
        return diag;
      }
    if (failed(nameArguments(func, op)))
      return failure();
    Tiler(func, op, getWeightType(op)).run();
    return success();
  }
};

} // namespace
