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
// role "left"(%x), "right"(%y) warps(4) registers(24) { ^bb0(%z: ...): ... }
ParseResult WarpSpecializeOp::parse(OpAsmParser &parser,
                                    OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers, sharing;
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    SmallVector<SmallVector<OpAsmParser::UnresolvedOperand>> args;
    SMLoc loc = parser.getCurrentLocation();
    do {
      std::string name;
      if (parser.parseString(&name) ||
          parser.parseOperandList(args.emplace_back(),
                                  AsmParser::Delimiter::OptionalParen))
        return failure();
      names.push_back(builder.getStringAttr(name));
    } while (succeeded(parser.parseOptionalComma()));
    int64_t ofRole, registersOfRole;
    if (parser.parseKeyword("warps") || parser.parseLParen() ||
        parser.parseInteger(ofRole) || parser.parseRParen())
      return failure();
    warps.append(args.size(), ofRole);
    sharing.push_back(args.size());
    if (succeeded(parser.parseOptionalKeyword("registers"))) {
      if (parser.parseLParen() || parser.parseInteger(registersOfRole) ||
          parser.parseRParen())
        return failure();
      registers.append(args.size(), registersOfRole);
    }
    Region *region = result.addRegion();
    if (parser.parseRegion(*region))
      return failure();
    ensureTerminator(*region, builder, result.location);
    for (auto &ofOne : args)
      if (parser.resolveOperands(ofOne, region->getArgumentTypes(), loc,
                                 result.operands))
        return failure();
  }
  result.addAttribute(getNamesAttrName(result.name),
                      builder.getArrayAttr(names));
  for (auto [name, values] : {std::pair{getWarpsAttrName(result.name), &warps},
                              {getRegistersAttrName(result.name), &registers},
                              {getSharingAttrName(result.name), &sharing}})
    result.addAttribute(name, builder.getDenseI64ArrayAttr(*values));
  return parser.parseOptionalAttrDict(result.attributes);
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  unsigned role = 0;
  for (auto [body, sharing] : llvm::zip(getBodies(), getSharing())) {
    printer.printNewline();
    printer << "role ";
    llvm::interleaveComma(llvm::seq<unsigned>(role, role + sharing), printer,
                          [&](unsigned i) {
                            printer << getNames()[i];
                            if (!getRoleArgs(i).empty())
                              printer << '(' << getRoleArgs(i) << ')';
                          });
    printer << " warps(" << getWarps()[role] << ") ";
    if (!getRegisters().empty())
      printer << "registers(" << getRegisters()[role] << ") ";
    printer.printRegion(body, /*printEntryBlockArgs=*/true,
                        /*printBlockTerminators=*/false);
    role += sharing;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"names", "warps", "registers", "sharing"});
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
