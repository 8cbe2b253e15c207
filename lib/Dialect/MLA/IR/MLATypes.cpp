//===- MLATypes.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"

using namespace mlir;
using namespace mlir::mla;

#define GET_TYPEDEF_CLASSES
#include "mla/Dialect/MLA/IR/MLATypes.cpp.inc"

void MLADialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mla/Dialect/MLA/IR/MLATypes.cpp.inc"
      >();
}

Type KVTileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t headDimV;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("v") || parser.parseEqual() ||
      parser.parseInteger(headDimV) || parser.parseGreater())
    return {};
  if (shape.size() != 2) {
    parser.emitError(loc, "requires keys x head_dim, but got ")
        << shape.size() << " dimensions";
    return {};
  }
  return parser.getChecked<KVTileType>(loc, parser.getContext(), shape[0],
                                       shape[1], elementType, headDimV);
}

void KVTileType::print(AsmPrinter &printer) const {
  printer << '<' << getKeys() << 'x' << getHeadDim() << 'x' << getElementType()
          << ", v = " << getHeadDimV() << '>';
}

LogicalResult
KVTileType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t keys, int64_t headDim, Type elementType,
                   int64_t headDimV) {
  if (keys <= 0 || headDim <= 0)
    return emitError() << "requires positive sizes, but got " << keys << " x "
                       << headDim;
  if (headDimV <= 0 || headDimV > headDim)
    return emitError() << "requires 0 < v <= " << headDim
                       << " (v is the first columns of k), but got "
                       << headDimV;
  if (!isa<FloatType>(elementType))
    return emitError() << "requires a float element type, but got "
                       << elementType;
  return success();
}
