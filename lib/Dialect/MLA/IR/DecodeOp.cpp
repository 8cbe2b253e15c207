//===- DecodeOp.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mla;

//===----------------------------------------------------------------------===//
// Assembly: one clause a line
//===----------------------------------------------------------------------===//

namespace {
/// A clause `keyword(%a : type, %b : type)`: the operand groups it names, of
/// which the first `required` must be given.
struct Clause {
  StringLiteral keyword;
  unsigned firstGroup, numGroups, required;
};
} // namespace

/// Operand groups are numbered as in the op's definition.
static constexpr Clause kClauses[] = {
    {"q", 0, 2, 1},          {"k", 2, 2, 1},           {"v", 4, 1, 1},
    {"table", 5, 1, 1},      {"csr", 6, 2, 2},         {"table_rows", 8, 1, 1},
    {"seq_lens", 9, 1, 1},   {"q_offsets", 10, 1, 1},  {"indices", 11, 1, 1},
    {"topk_lens", 12, 1, 1}, {"sink", 13, 1, 1},       {"k_scales", 14, 1, 1},
    {"scale", 15, 1, 1},     {"num_splits", 16, 1, 1}, {"mask", 17, 0, 0},
    {"out", 18, 1, 1},       {"lse", 19, 3, 1},
};
static constexpr unsigned kMaskGroup = 17;
static constexpr unsigned kNumGroups = 22;

ParseResult DecodeOp::parse(OpAsmParser &parser, OperationState &result) {
  std::array<SmallVector<Value, 1>, kNumGroups> groups;
  SMLoc opLoc = parser.getNameLoc();

  auto parseTyped = [&](SmallVectorImpl<Value> &group) -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    Type type;
    return failure(parser.parseOperand(operand) ||
                   parser.parseColonType(type) ||
                   parser.resolveOperand(operand, type, group));
  };

  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (failed(parser.parseOptionalKeyword(
            &keyword, {"q", "k", "v", "table", "csr", "table_rows", "seq_lens",
                       "q_offsets", "indices", "topk_lens", "sink", "k_scales",
                       "scale", "num_splits", "mask", "out", "lse"})))
      break;
    const Clause &clause = *llvm::find_if(
        kClauses, [&](const Clause &c) { return c.keyword == keyword; });
    bool repeated = keyword == "mask" ? bool(result.attributes.get("mask"))
                                      : !groups[clause.firstGroup].empty();
    if (repeated)
      return parser.emitError(loc)
             << "clause '" << keyword << "' is given twice";
    if (parser.parseLParen())
      return failure();
    if (keyword == "mask") {
      MaskAttrInterface mask;
      if (parser.parseAttribute(mask, "mask", result.attributes))
        return failure();
      while (succeeded(parser.parseOptionalComma()))
        if (parseTyped(groups[kMaskGroup]))
          return failure();
    } else {
      for (unsigned i = 0; i < clause.numGroups; ++i) {
        if (i > 0 &&
            (i < clause.required ? failed(parser.parseComma())
                                 : failed(parser.parseOptionalComma()))) {
          if (i < clause.required)
            return failure();
          break;
        }
        if (parseTyped(groups[clause.firstGroup + i]))
          return failure();
      }
    }
    if (parser.parseRParen())
      return failure();
  }
  for (StringRef keyword : {"q", "k", "seq_lens", "scale", "out"}) {
    const Clause &clause = *llvm::find_if(
        kClauses, [&](const Clause &c) { return c.keyword == keyword; });
    if (groups[clause.firstGroup].empty())
      return parser.emitError(opLoc)
             << "(decode_c1) requires a clause '" << keyword << "(...)'";
  }
  if (!result.attributes.get("mask"))
    result.addAttribute("mask", NoMaskAttr::get(parser.getContext()));

  int64_t headDimV;
  if (parser.parseKeyword("head_dim_v") || parser.parseEqual() ||
      parser.parseInteger(headDimV))
    return failure();
  result.addAttribute("head_dim_v",
                      parser.getBuilder().getI64IntegerAttr(headDimV));
  if (succeeded(parser.parseOptionalKeyword("schedule"))) {
    ScheduleAttr schedule;
    if (parser.parseEqual() ||
        parser.parseAttribute(schedule, "schedule", result.attributes))
      return failure();
  }
  Region *score = result.addRegion();
  if (succeeded(parser.parseOptionalKeyword("score")) &&
      parser.parseRegion(*score))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();

  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  for (auto [i, group] : llvm::enumerate(groups)) {
    segments[i] = group.size();
    result.addOperands(group);
  }
  return success();
}

void DecodeOp::print(OpAsmPrinter &printer) {
  printer.increaseIndent();
  auto printTyped = [&](Value operand) {
    printer << operand << " : " << operand.getType();
  };
  for (const Clause &clause : kClauses) {
    bool isMask = clause.keyword == "mask";
    if (!isMask && getODSOperands(clause.firstGroup).empty())
      continue;
    printer.printNewline();
    printer << clause.keyword << '(';
    if (isMask) {
      printer << getMask();
      for (Value parameter : getMaskParams()) {
        printer << ", ";
        printTyped(parameter);
      }
    } else {
      SmallVector<Value> operands;
      for (unsigned i = 0; i < clause.numGroups; ++i)
        llvm::append_range(operands, getODSOperands(clause.firstGroup + i));
      llvm::interleaveComma(operands, printer, printTyped);
    }
    printer << ')';
  }
  printer.printNewline();
  printer << "head_dim_v = " << getHeadDimV();
  if (getSchedule()) {
    printer.printNewline();
    printer << "schedule = " << *getSchedule();
  }
  if (!getScore().empty()) {
    printer.printNewline();
    printer << "score ";
    printer.printRegion(getScore());
  }
  printer.decreaseIndent();
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"mask", "head_dim_v", "schedule", "operandSegmentSizes"});
}

//===----------------------------------------------------------------------===//
// Geometry
//===----------------------------------------------------------------------===//

static int64_t lastDim(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape().back();
}

int64_t DecodeOp::getNumHeads() {
  auto type = cast<MemRefType>(getQ().getType());
  return type.getDimSize(type.getRank() - 2);
}

int64_t DecodeOp::getNumKVHeads() {
  auto type = cast<MemRefType>(getK().getType());
  return type.getDimSize(type.getRank() - 2);
}

int64_t DecodeOp::getRopeDim() { return getKRope() ? lastDim(getKRope()) : 0; }

int64_t DecodeOp::getHeadDim() { return lastDim(getK()) + getRopeDim(); }

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static MemRefType memrefOf(Value value) {
  return cast<MemRefType>(value.getType());
}

/// Checks the rank of an operand (decode_c2).
static LogicalResult checkRank(DecodeOp op, StringRef name, Value value,
                               int64_t rank) {
  if (!value || memrefOf(value).getRank() == rank)
    return success();
  return op.emitOpError("(decode_c2) requires '")
         << name << "' to have rank " << rank << ", but got "
         << value.getType();
}

/// Checks that the last dimension is contiguous (decode_c11).
static LogicalResult checkInnermost(DecodeOp op, StringRef name, Value value) {
  if (!value || memrefOf(value).isLastDimUnitStride())
    return success();
  return op.emitOpError("(decode_c11) requires the last dimension of '")
         << name << "' to have stride 1, but got " << value.getType();
}

/// Checks that dimension `dim` from the end has the static size `want`.
static LogicalResult checkSize(DecodeOp op, StringRef constraint,
                               StringRef name, Value value, int64_t fromEnd,
                               int64_t want) {
  MemRefType type = memrefOf(value);
  int64_t got = type.getDimSize(type.getRank() - fromEnd);
  if (got == want)
    return success();
  InFlightDiagnostic diag = op.emitOpError("(")
                            << constraint << ") requires dimension "
                            << type.getRank() - fromEnd << " of '" << name
                            << "' to be " << want << ", but got ";
  if (ShapedType::isDynamic(got))
    return diag << "a dynamic size";
  return diag << got;
}

static LogicalResult verifyRanks(DecodeOp op) {
  int64_t qRank = op.isRagged() ? 3 : 4;
  const std::tuple<StringRef, Value, int64_t> ranks[] = {
      {"q", op.getQ(), qRank},
      {"q_rope", op.getQRope(), qRank},
      {"k", op.getK(), 4},
      {"k_rope", op.getKRope(), 4},
      {"v", op.getV(), 4},
      {"table", op.getTable(), 2},
      {"kv_indptr", op.getKvIndptr(), 1},
      {"kv_indices", op.getKvIndices(), 1},
      {"table_rows", op.getTableRows(), 1},
      {"seq_lens", op.getSeqLens(), 1},
      {"q_offsets", op.getQOffsets(), 1},
      {"indices", op.getIndices(), 2},
      {"topk_lens", op.getTopkLens(), 1},
      {"sink", op.getSink(), 1},
      {"k_scales", op.getKScales(), 2},
      {"out", op.getOut(), qRank},
      {"lse", op.getLse(), qRank - 1}};
  for (auto [name, value, rank] : ranks)
    if (failed(checkRank(op, name, value, rank)))
      return failure();
  const std::pair<StringRef, Value> contiguous[] = {
      {"q", op.getQ()}, {"q_rope", op.getQRope()},
      {"k", op.getK()}, {"k_rope", op.getKRope()},
      {"v", op.getV()}, {"out", op.getOut()}};
  for (auto [name, value] : contiguous)
    if (failed(checkInnermost(op, name, value)))
      return failure();
  return success();
}

static LogicalResult verifyWidths(DecodeOp op) {
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"q", op.getQ()}, {"k", op.getK()}})
    for (int64_t fromEnd : {1, 2}) {
      MemRefType type = memrefOf(value);
      int64_t size = type.getDimSize(type.getRank() - fromEnd);
      if (ShapedType::isDynamic(size) || size <= 0)
        return op.emitOpError("(decode_c3) requires dimension ")
               << type.getRank() - fromEnd << " of '" << name
               << "' to be static and positive, but got " << type;
    }
  int64_t heads = op.getNumHeads(), kvHeads = op.getNumKVHeads();
  if (heads % kvHeads)
    return op.emitOpError("(decode_c3) requires the KV heads of 'k' to divide "
                          "the heads of 'q', but got ")
           << kvHeads << " and " << heads;

  if (bool(op.getQRope()) != bool(op.getKRope()))
    return op.emitOpError(
               "(decode_c4) requires q and k to have the same parts, "
               "but only '")
           << (op.getQRope() ? "q" : "k") << "' has a rope part";
  if (failed(checkSize(op, "decode_c4", "q", op.getQ(), 1, lastDim(op.getK()))))
    return failure();
  if (op.getQRope()) {
    int64_t rope = lastDim(op.getKRope());
    if (ShapedType::isDynamic(rope) || rope <= 0)
      return op.emitOpError(
                 "(decode_c3) requires dimension 3 of 'k_rope' to be "
                 "static and positive, but got ")
             << op.getKRope().getType();
    if (failed(checkSize(op, "decode_c4", "q_rope", op.getQRope(), 1, rope)) ||
        failed(checkSize(op, "decode_c3", "q_rope", op.getQRope(), 2, heads)) ||
        failed(checkSize(op, "decode_c3", "k_rope", op.getKRope(), 2, kvHeads)))
      return failure();
    for (auto [name, part, whole] : {std::tuple<StringRef, Value, Value>{
                                         "q_rope", op.getQRope(), op.getQ()},
                                     {"k_rope", op.getKRope(), op.getK()}})
      if (memrefOf(part).getElementType() != memrefOf(whole).getElementType())
        return op.emitOpError("(decode_c2) requires '")
               << name
               << "' to have the element type of its latent part, but got "
               << memrefOf(part).getElementType() << " and "
               << memrefOf(whole).getElementType();
  }

  int64_t headDim = op.getHeadDim(), headDimV = op.getHeadDimV();
  for (auto [name, width] :
       {std::pair<StringRef, int64_t>{"k", lastDim(op.getK())},
        {"k_rope", op.getRopeDim()},
        {"head_dim_v", headDimV}})
    if (width % 8)
      return op.emitOpError("(decode_c5) requires the width of '")
             << name << "' to be a multiple of 8, but got " << width;
  if (headDimV <= 0 || headDimV > headDim)
    return op.emitOpError("(decode_c5) requires 0 < head_dim_v <= ")
           << headDim << " (the width of k), but got " << headDimV;
  if (!op.getV() && headDimV > lastDim(op.getK()))
    return op.emitOpError("(decode_c6) requires head_dim_v <= ")
           << lastDim(op.getK()) << " (the width of k's first part), but got "
           << headDimV;

  if (failed(checkSize(op, "decode_c8", "out", op.getOut(), 2, heads)) ||
      failed(checkSize(op, "decode_c8", "out", op.getOut(), 1, headDimV)))
    return failure();
  if (op.getLse() &&
      failed(checkSize(op, "decode_c8", "lse", op.getLse(), 1, heads)))
    return failure();
  return success();
}

/// Checks that a score region is (i32, i32, i32, i32, f32) -> f32.
LogicalResult mla::verifyScoreRegion(Operation *op, Region &region,
                                     StringRef constraint) {
  Block &block = region.front();
  auto i32 = IntegerType::get(op->getContext(), 32);
  auto f32 = Float32Type::get(op->getContext());
  const Type want[] = {i32, i32, i32, i32, f32};
  if (block.getArgumentTypes() != TypeRange(want))
    return op->emitOpError("(")
           << constraint
           << ") requires a region that takes (i32, i32, i32, i32, f32): "
              "request, head, query position, key position, score; but got ("
           << block.getArgumentTypes() << ")";
  auto yield =
      dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != f32)
    return op->emitOpError("(") << constraint
                                << ") requires a region that ends in mla.yield "
                                   "of one f32, the new score";
  return success();
}

LogicalResult DecodeOp::verify() {
  if (failed(verifyRanks(*this)) || failed(verifyWidths(*this)))
    return failure();
  if (getTable() && getKvIndptr())
    return emitOpError(
        "(decode_c7) requires one of 'table' and 'csr', but got both");
  if (getTableRows() && !isPaged())
    return emitOpError(
        "(decode_c7) requires 'table' or 'csr' with 'table_rows'");
  if (isPaged()) {
    int64_t pageSize = memrefOf(getK()).getDimSize(1);
    if (!ShapedType::isDynamic(pageSize) && pageSize <= 0)
      return emitOpError("(decode_c12) requires a positive page size, but got ")
             << pageSize;
  }
  if (bool(getLseScale()) != bool(getLseEmpty()))
    return emitOpError("(decode_c13) requires a scale and an empty value of "
                       "'lse', but got the scale alone");
  if (failed(verifyMaskParameters(*this, getMask(), getMaskParams().size(),
                                  "decode_c9")))
    return failure();
  if (!getScore().empty())
    return verifyScoreRegion(*this, getScore(), "decode_c10");
  return success();
}

LogicalResult DecodeOp::verifyRegions() {
  if (!getScore().empty())
    return verifyScoreCode(*this, getScore(), "decode_c10");
  return success();
}

LogicalResult mla::verifyMaskParameters(Operation *op, MaskAttrInterface mask,
                                        size_t given, StringRef constraint) {
  SmallVector<StringRef> names = mask.getParameterNames();
  if (names.size() == given)
    return success();
  return op->emitOpError("(")
         << constraint << ") requires " << names.size()
         << " parameters of mask " << mask << " (" << llvm::join(names, ", ")
         << "), but got " << given;
}
