//===- MLAAttrs.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mla;

#include "mla/Dialect/MLA/IR/MLAEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mla/Dialect/MLA/IR/MLAAttrs.cpp.inc"

void MLADialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mla/Dialect/MLA/IR/MLAAttrs.cpp.inc"
      >();
}

/// Parses ", name = value" with an integer value.
static ParseResult parseField(AsmParser &parser, StringRef name,
                              int64_t &value) {
  return failure(parser.parseComma() || parser.parseKeyword(name) ||
                 parser.parseEqual() || parser.parseInteger(value));
}

/// Parses ", name = value" with a string value.
static ParseResult parseField(AsmParser &parser, StringRef name,
                              StringAttr &value) {
  std::string text;
  if (parser.parseComma() || parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseString(&text))
    return failure();
  value = StringAttr::get(parser.getContext(), text);
  return success();
}

/// Parses "name = keyword" with a keyword of an enum.
template <typename Enum>
static ParseResult parseEnum(AsmParser &parser, StringRef name,
                             std::optional<Enum> (*symbolize)(StringRef),
                             StringRef choices, Enum &value) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> parsed = symbolize(keyword);
  if (!parsed)
    return parser.emitError(loc) << "requires '" << name << "' to be "
                                 << choices << ", but got '" << keyword << "'";
  value = *parsed;
  return success();
}

/// The same with a comma before it.
template <typename Enum>
static ParseResult parseField(AsmParser &parser, StringRef name,
                              std::optional<Enum> (*symbolize)(StringRef),
                              StringRef choices, Enum &value) {
  return failure(parser.parseComma() ||
                 parseEnum(parser, name, symbolize, choices, value));
}

/// Parses "name = 8x2".
static ParseResult parseBlock(AsmParser &parser, StringRef name, int64_t &rows,
                              int64_t &columns) {
  SmallVector<int64_t> block;
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(block, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (block.size() != 2)
    return parser.emitError(loc)
           << "requires '" << name << "' as rows x columns, but got "
           << block.size() << " dimensions";
  rows = block[0];
  columns = block[1];
  return success();
}

/// Parses ", name = 8x2".
static ParseResult parseField(AsmParser &parser, StringRef name, int64_t &rows,
                              int64_t &columns) {
  return failure(parser.parseComma() ||
                 parseBlock(parser, name, rows, columns));
}

LogicalResult
BufferAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   StringAttr, BufferScope, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() < 1 || memref.getRank() > 4 ||
      !memref.isDynamicDim(0) ||
      llvm::any_of(memref.getShape().drop_front(), ShapedType::isDynamic) ||
      !memref.getElementType().isIntOrFloat() ||
      memref.getElementTypeBitWidth() % 8)
    return emitError() << "requires a memref of rank 1 to 4 whose first size "
                          "alone is dynamic, of whole bytes, but got "
                       << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  MLIRContext *context = parser.getContext();
  StringAttr cpu, features = StringAttr::get(context, "");
  int64_t vectorBits = 0, vectorRegisters = 0, l1 = 0, l2, smem = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  bool isCuda = kind == "cuda";
  if (isCuda ? parseField(parser, "chip", cpu) ||
                   parseField(parser, "smem_bytes", smem)
             : parseField(parser, "cpu", cpu) ||
                   parseField(parser, "features", features) ||
                   parseField(parser, "vector_bits", vectorBits) ||
                   parseField(parser, "vector_registers", vectorRegisters) ||
                   parseField(parser, "l1_bytes", l1))
    return {};
  if (parseField(parser, "l2_bytes", l2) || parser.parseGreater())
    return {};
  return parser.getChecked<TargetAttr>(
      loc, context, StringAttr::get(context, kind), cpu, features, vectorBits,
      vectorRegisters, l1, l2, smem);
}

void TargetAttr::print(AsmPrinter &printer) const {
  printer << '<' << getKind().getValue();
  if (isCuda())
    printer << ", chip = " << getCpu() << ", smem_bytes = " << getSmemBytes();
  else
    printer << ", cpu = " << getCpu() << ", features = " << getFeatures()
            << ", vector_bits = " << getVectorBits()
            << ", vector_registers = " << getVectorRegisters()
            << ", l1_bytes = " << getL1Bytes();
  printer << ", l2_bytes = " << getL2Bytes() << '>';
}

LogicalResult
TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   StringAttr kind, StringAttr cpu, StringAttr features,
                   int64_t vectorBits, int64_t vectorRegisters, int64_t l1,
                   int64_t l2, int64_t smem) {
  if (kind.getValue() == "cuda") {
    StringRef number = cpu.getValue();
    if (!number.consume_front("sm_") || number.empty() ||
        !llvm::isDigit(number.front()))
      return emitError() << "requires a chip as sm_90a, but got " << cpu;
    if (smem <= 0 || l2 <= 0)
      return emitError() << "requires positive memory sizes, but got "
                            "smem_bytes = "
                         << smem << ", l2_bytes = " << l2;
    return success();
  }
  if (kind.getValue() != "host")
    return emitError()
           << "requires a target kind of 'host' or 'cuda', but got '"
           << kind.getValue() << "'";
  if (vectorBits != 128 && vectorBits != 256 && vectorBits != 512)
    return emitError() << "requires vector_bits of 128, 256 or 512, but got "
                       << vectorBits;
  if (vectorRegisters < 8)
    return emitError() << "requires vector_registers of at least 8, but got "
                       << vectorRegisters;
  if (l1 <= 0 || l2 <= 0)
    return emitError() << "requires positive cache sizes, but got l1_bytes = "
                       << l1 << ", l2_bytes = " << l2;
  return success();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringRef dataflow;
  int64_t blockM, blockN, splitTiles, qkRows = 0, qkKeys = 0, pvRows = 0,
                                      pvVectors = 0, stages = 0, rowBlocks = 1,
                                      cluster = 1, alignment = 1;
  SplitPolicy split;
  KVAccess kv = KVAccess::Direct;
  CopyKind copy = CopyKind::TMA;
  PlanPolicy plan = PlanPolicy::Inline;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&dataflow) ||
      parseField(parser, "block_m", blockM) ||
      parseField(parser, "block_n", blockN) ||
      parseField<SplitPolicy>(parser, "split", symbolizeSplitPolicy,
                              "whole, balanced or row_local", split) ||
      parseField(parser, "split_tiles", splitTiles))
    return {};
  // What follows is for a GPU or for a CPU.
  if (parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("stages"))) {
    if (parser.parseEqual() || parser.parseInteger(stages) ||
        parseField(parser, "row_blocks", rowBlocks) ||
        parseField<CopyKind>(parser, "copy", symbolizeCopyKind, "tma or gather",
                             copy))
      return {};
    bool more = succeeded(parser.parseOptionalComma());
    if (more && succeeded(parser.parseOptionalKeyword("cluster"))) {
      if (parser.parseEqual() || parser.parseInteger(cluster))
        return {};
      more = succeeded(parser.parseOptionalComma());
    }
    if (more && succeeded(parser.parseOptionalKeyword("alignment"))) {
      if (parser.parseEqual() || parser.parseInteger(alignment))
        return {};
      more = succeeded(parser.parseOptionalComma());
    }
    if (more && parseEnum<PlanPolicy>(parser, "plan", symbolizePlanPolicy,
                                      "inline or shared", plan))
      return {};
  } else if (parseBlock(parser, "qk", qkRows, qkKeys) ||
             parseField(parser, "pv", pvRows, pvVectors) ||
             parseField<KVAccess>(parser, "kv", symbolizeKVAccess,
                                  "direct or staged", kv)) {
    return {};
  }
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  return parser.getChecked<ScheduleAttr>(
      loc, context, StringAttr::get(context, dataflow), blockM, blockN, split,
      splitTiles, qkRows, qkKeys, pvRows, pvVectors, kv, stages, rowBlocks,
      copy, plan, cluster, alignment);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<' << getDataflow().getValue() << ", block_m = " << getBlockM()
          << ", block_n = " << getBlockN()
          << ", split = " << stringifySplitPolicy(getSplit())
          << ", split_tiles = " << getSplitTiles();
  if (isGPU())
    printer << ", stages = " << getStages()
            << ", row_blocks = " << getRowBlocks()
            << ", copy = " << stringifyCopyKind(getCopy());
  else
    printer << ", qk = " << getQkRows() << 'x' << getQkKeys()
            << ", pv = " << getPvRows() << 'x' << getPvVectors()
            << ", kv = " << stringifyKVAccess(getKv());
  if (getCluster() != 1)
    printer << ", cluster = " << getCluster();
  if (getAlignment() != 1)
    printer << ", alignment = " << getAlignment();
  if (getPlan() != PlanPolicy::Inline)
    printer << ", plan = " << stringifyPlanPolicy(getPlan());
  printer << '>';
}

ScheduleAttr ScheduleAttr::withSplit(SplitPolicy split) const {
  return get(getContext(), getDataflow(), getBlockM(), getBlockN(), split,
             getSplitTiles(), getQkRows(), getQkKeys(), getPvRows(),
             getPvVectors(), getKv(), getStages(), getRowBlocks(), getCopy(),
             getPlan(), split == SplitPolicy::Balanced ? getCluster() : 1,
             getAlignment());
}

LogicalResult ScheduleAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, StringAttr dataflow,
    int64_t blockM, int64_t blockN, SplitPolicy split, int64_t splitTiles,
    int64_t qkRows, int64_t qkKeys, int64_t pvRows, int64_t pvVectors,
    KVAccess kv, int64_t stages, int64_t rowBlocks, CopyKind copy, PlanPolicy,
    int64_t cluster, int64_t alignment) {
  using Field = std::pair<StringRef, int64_t>;
  SmallVector<Field> fields = {
      {"block_m", blockM}, {"block_n", blockN}, {"split_tiles", splitTiles}};
  bool isHost = stages == 0;
  if (isHost)
    fields.append({{"qk rows", qkRows},
                   {"qk keys", qkKeys},
                   {"pv rows", pvRows},
                   {"pv vectors", pvVectors}});
  else
    fields.append({{"stages", stages}, {"row_blocks", rowBlocks}});
  for (auto [name, value] : fields)
    if (value <= 0)
      return emitError() << "requires a positive " << name << ", but got "
                         << value;
  if (cluster != 1 && cluster != 2)
    return emitError() << "requires a cluster of 1 or 2, but got " << cluster;
  if (cluster != 1 && split != SplitPolicy::Balanced)
    return emitError() << "requires split = balanced with clusters, but got "
                       << stringifySplitPolicy(split);
  if (alignment != 1 && alignment != kRowAlignment)
    return emitError() << "requires an alignment of 1 or " << kRowAlignment
                       << ", but got " << alignment;
  if (!isHost)
    return success();
  for (auto [name, rows] : {std::pair{"qk", qkRows}, {"pv", pvRows}})
    if (blockM % rows)
      return emitError() << "requires block_m to be a multiple of the rows of "
                         << name << ", but got " << blockM << " and " << rows;
  if (blockN % qkKeys)
    return emitError() << "requires block_n to be a multiple of the keys of "
                          "qk, but got "
                       << blockN << " and " << qkKeys;
  return success();
}

bool mla::mayBeAligned(MemRefType type, int64_t bytes) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  auto isMultiple = [&](int64_t elements) {
    return ShapedType::isDynamic(elements) ||
           elements * type.getElementTypeBitWidth() / 8 % bytes == 0;
  };
  if (!isMultiple(offset))
    return false;
  for (auto [size, stride] :
       llvm::drop_end(llvm::zip_equal(type.getShape(), strides)))
    if (size != 1 && !isMultiple(stride)) // of 1, all indices are 0
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

Attribute TensorMapAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> dims;
  int64_t rows, columns, swizzle;
  auto parseDim = [&] { return parser.parseInteger(dims.emplace_back()); };
  if (parser.parseLess() || parser.parseKeyword("dims") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parseField(parser, "box", rows, columns) ||
      parseField(parser, "swizzle", swizzle) || parser.parseGreater())
    return {};
  return get(parser.getContext(), dims, rows, columns, swizzle);
}

void TensorMapAttr::print(AsmPrinter &printer) const {
  printer << "<dims = [";
  llvm::interleaveComma(getDims(), printer);
  printer << "], box = " << getBoxRows() << 'x' << getBoxColumns()
          << ", swizzle = " << getSwizzle() << '>';
}
