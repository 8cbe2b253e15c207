//===- Syntax.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// How ops are written, where ODS formats do not say it.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

using namespace mlir;
using namespace mlir::mla_gpu;

//===----------------------------------------------------------------------===//
// Pieces of ODS formats
//===----------------------------------------------------------------------===//

// %ring[0:256], %scales
static ParseResult
parseRanges(OpAsmParser &parser,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &storages,
            DenseI64ArrayAttr &begins, DenseI64ArrayAttr &ends) {
  SmallVector<int64_t> first, last;
  auto parseRange = [&]() -> ParseResult {
    // A vector has no columns to choose from.
    int64_t begin = 0, end = 0;
    if (succeeded(parser.parseOptionalLSquare()))
      if (parser.parseInteger(begin) || parser.parseColon() ||
          parser.parseInteger(end) || parser.parseRSquare())
        return failure();
    first.push_back(begin);
    last.push_back(end);
    return success();
  };
  OpAsmParser::UnresolvedOperand storage;
  OptionalParseResult some = parser.parseOptionalOperand(storage);
  if (some.has_value()) {
    if (failed(*some))
      return failure();
    storages.push_back(storage);
    if (parseRange())
      return failure();
    while (succeeded(parser.parseOptionalComma())) {
      if (parser.parseOperand(storages.emplace_back()) || parseRange())
        return failure();
    }
  }
  begins = DenseI64ArrayAttr::get(parser.getContext(), first);
  ends = DenseI64ArrayAttr::get(parser.getContext(), last);
  return success();
}

static void printRanges(OpAsmPrinter &printer, Operation *,
                        OperandRange storages, DenseI64ArrayAttr begins,
                        DenseI64ArrayAttr ends) {
  llvm::interleaveComma(
      llvm::seq<size_t>(0, storages.size()), printer, [&](size_t i) {
        printer << storages[i];
        if (ends[i])
          printer << '[' << begins[i] << ':' << ends[i] << ']';
      });
}

static ParseResult parseRoles(OpAsmParser &parser, ArrayAttr &roles) {
  SmallVector<Attribute> names;
  if (parser.parseKeyword("to") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        std::string name;
        if (parser.parseString(&name))
          return failure();
        names.push_back(StringAttr::get(parser.getContext(), name));
        return success();
      }))
    return failure();
  roles = ArrayAttr::get(parser.getContext(), names);
  return success();
}

static void printRoles(OpAsmPrinter &printer, Operation *, ArrayAttr roles) {
  printer << "to(";
  llvm::interleaveComma(roles, printer);
  printer << ')';
}

// An MMA's result is written as the tensor that a wait for it returns.
static ParseResult parseInflight(OpAsmParser &parser, Type &type) {
  RankedTensorType value;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(value))
    return failure();
  type = parser.getChecked<InflightType>(loc, parser.getContext(), value);
  return success(bool(type));
}

static void printInflight(OpAsmPrinter &printer, Operation *, Type type) {
  printer << cast<InflightType>(type).getValue();
}

// Results that have the types of operands are not written.
static ParseResult parseSameTypes(OpAsmParser &, SmallVectorImpl<Type> &results,
                                  ArrayRef<Type> operands) {
  llvm::append_range(results, operands);
  return success();
}

static void printSameTypes(OpAsmPrinter &, Operation *, TypeRange, TypeRange) {}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

// mla_gpu.warp_specialize
// role "math" warps(4) registers(240) { ... }
// role "load" warps(4) registers(24) { ... }
ParseResult WarpSpecializeOp::parse(OpAsmParser &parser,
                                    OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers;
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    std::string name;
    if (parser.parseString(&name) || parser.parseKeyword("warps") ||
        parser.parseLParen() || parser.parseInteger(warps.emplace_back()) ||
        parser.parseRParen())
      return failure();
    names.push_back(builder.getStringAttr(name));
    if (succeeded(parser.parseOptionalKeyword("registers")))
      if (parser.parseLParen() ||
          parser.parseInteger(registers.emplace_back()) || parser.parseRParen())
        return failure();
    Region *region = result.addRegion();
    if (parser.parseRegion(*region))
      return failure();
    ensureTerminator(*region, builder, result.location);
  }
  result.addAttribute(getNamesAttrName(result.name),
                      builder.getArrayAttr(names));
  result.addAttribute(getWarpsAttrName(result.name),
                      builder.getDenseI64ArrayAttr(warps));
  result.addAttribute(getRegistersAttrName(result.name),
                      builder.getDenseI64ArrayAttr(registers));
  return parser.parseOptionalAttrDict(result.attributes);
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  for (auto [i, region] : llvm::enumerate(getRoles())) {
    printer.printNewline();
    printer << "role " << getNames()[i] << " warps(" << getWarps()[i] << ") ";
    if (!getRegisters().empty())
      printer << "registers(" << getRegisters()[i] << ") ";
    printer.printRegion(region, /*printEntryBlockArgs=*/false,
                        /*printBlockTerminators=*/false);
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"names", "warps", "registers"});
}

// %s = mla_gpu.mma_wait %t : tensor<...>, or without the result.
ParseResult MmaWaitOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand value;
  RankedTensorType type;
  if (parser.parseOperand(value) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  auto inflight =
      parser.getChecked<InflightType>(loc, parser.getContext(), type);
  if (!inflight)
    return failure();
  if (parser.getNumResults())
    result.addTypes(type);
  return parser.resolveOperand(value, inflight, result.operands);
}

void MmaWaitOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getValue().getType().getValue();
}

#define GET_OP_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUOps.cpp.inc"
