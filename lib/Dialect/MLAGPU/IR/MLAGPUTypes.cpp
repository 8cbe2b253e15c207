//===- MLAGPUTypes.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

using namespace mlir;
using namespace mlir::mla_gpu;

#define GET_TYPEDEF_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUTypes.cpp.inc"

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

void MLAGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mla/Dialect/MLAGPU/IR/MLAGPUTypes.cpp.inc"
      >();
}

static int64_t bytesOf(ArrayRef<int64_t> shape, Type elementType) {
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  for (int64_t size : shape)
    bytes *= size;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Shape, element type and swizzle: what smem, tile and tensor_map share
//===----------------------------------------------------------------------===//

/// Parses ", swizzle = n", where it is there.
static ParseResult parseSwizzle(AsmParser &parser, int64_t &swizzle) {
  swizzle = 0;
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("swizzle") || parser.parseEqual() ||
                 parser.parseInteger(swizzle));
}

static void printSwizzle(AsmPrinter &printer, int64_t swizzle) {
  if (swizzle)
    printer << ", swizzle = " << swizzle;
}

/// Checks an element type, a swizzle, and that `columns` are whole swizzles.
static LogicalResult verifySwizzle(EmitError emitError, Type elementType,
                                   int64_t swizzle, int64_t columns) {
  if (!elementType.isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u, 64u},
                          elementType.getIntOrFloatBitWidth()))
    return emitError() << "requires elements of 1, 2, 4 or 8 bytes, but got "
                       << elementType;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "requires a swizzle of 32, 64 or 128, but got "
                       << swizzle;
  if (swizzle && columns * bytesOf({}, elementType) % swizzle)
    return emitError() << "requires whole swizzles of " << swizzle
                       << " bytes, but got " << columns << " columns of "
                       << elementType;
  return success();
}

template <typename T> static Type parseStorage(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t swizzle;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parseSwizzle(parser, swizzle) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<T>(loc, parser.getContext(), shape, elementType,
                              swizzle);
}

template <typename T> static void printStorage(T type, AsmPrinter &printer) {
  printer << '<';
  printer.printDimensionList(type.getShape());
  printer << 'x' << type.getElementType();
  printSwizzle(printer, type.getSwizzle());
  printer << '>';
}

/// Checks `shape`, whose last dimension is columns where there are `matrixRank`
/// dimensions, and a vector where there is one less.
static LogicalResult verifyStorage(EmitError emitError, ArrayRef<int64_t> shape,
                                   Type elementType, int64_t swizzle,
                                   size_t matrixRank, StringRef what) {
  if (shape.size() != matrixRank && shape.size() + 1 != matrixRank)
    return emitError() << "requires " << what << ", but got " << shape.size()
                       << " dimensions";
  if (llvm::any_of(shape, [](int64_t size) { return size <= 0; }))
    return emitError() << "requires positive sizes";
  if (swizzle && shape.size() != matrixRank)
    return emitError() << "requires columns for a swizzle";
  return verifySwizzle(emitError, elementType, swizzle, shape.back());
}

//===----------------------------------------------------------------------===//
// smem
//===----------------------------------------------------------------------===//

Type SmemType::parse(AsmParser &parser) {
  return parseStorage<SmemType>(parser);
}

void SmemType::print(AsmPrinter &printer) const {
  printStorage(*this, printer);
}

LogicalResult SmemType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               Type elementType, int64_t swizzle) {
  return verifyStorage(emitError, shape, elementType, swizzle, 3,
                       "stages x rows x columns or stages x length");
}

int64_t SmemType::getBytes() const {
  return bytesOf(getShape(), getElementType());
}

TileType SmemType::getTile(int64_t begin, int64_t end) const {
  SmallVector<int64_t> shape(getShape().drop_front());
  shape.back() = end - begin;
  return TileType::get(getContext(), shape, getElementType(), getSwizzle());
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

Type TileType::parse(AsmParser &parser) {
  return parseStorage<TileType>(parser);
}

void TileType::print(AsmPrinter &printer) const {
  printStorage(*this, printer);
}

LogicalResult TileType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               Type elementType, int64_t swizzle) {
  // A view may be narrower than the swizzle that it is stored in.
  if (swizzle && shape.size() == 2 && swizzle <= 128 &&
      llvm::is_contained({32, 64, 128}, swizzle))
    swizzle = 32;
  return verifyStorage(emitError, shape, elementType, swizzle, 2,
                       "rows x columns or a length");
}

int64_t TileType::getBytes() const {
  return bytesOf(getShape(), getElementType());
}

int64_t TileType::getSwizzleColumns() const {
  return std::max<int64_t>(1, getSwizzle() / bytesOf({}, getElementType()));
}

//===----------------------------------------------------------------------===//
// pipeline, inflight
//===----------------------------------------------------------------------===//

LogicalResult PipelineType::verify(EmitError emitError, int64_t stages,
                                   ArrayRef<Type> tiles) {
  if (stages <= 0)
    return emitError() << "requires a positive number of stages, but got "
                       << stages;
  for (Type tile : tiles)
    if (!isa<TileType>(tile))
      return emitError() << "requires slots of tiles, but got " << tile;
  return success();
}

LogicalResult InflightType::verify(EmitError emitError,
                                   RankedTensorType value) {
  if (isa_and_nonnull<MmaLayoutAttr>(value.getEncoding()))
    return success();
  return emitError()
         << "requires a tensor with an #mla_gpu.mma layout, but got " << value;
}

//===----------------------------------------------------------------------===//
// tensor_map
//===----------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, box;
  Type elementType;
  int64_t swizzle;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape) || parser.parseType(elementType) ||
      parser.parseComma() || parser.parseKeyword("box") ||
      parser.parseEqual() ||
      parser.parseDimensionList(box, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      parseSwizzle(parser, swizzle) || parser.parseGreater())
    return {};
  if (box.size() != 2) {
    parser.emitError(loc, "requires a box of rows x columns, but got ")
        << box.size() << " dimensions";
    return {};
  }
  return parser.getChecked<TensorMapType>(loc, parser.getContext(), shape,
                                          elementType, box[0], box[1], swizzle);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << ", box = " << getBoxRows() << 'x'
          << getBoxColumns();
  printSwizzle(printer, getSwizzle());
  printer << '>';
}

LogicalResult TensorMapType::verify(EmitError emitError,
                                    ArrayRef<int64_t> shape, Type elementType,
                                    int64_t boxRows, int64_t boxColumns,
                                    int64_t swizzle) {
  // One dimension is left for the swizzled runs of columns.
  if (shape.size() < 2 || shape.size() > 4)
    return emitError() << "requires 2 to 4 dimensions, but got "
                       << shape.size();
  if (boxRows < 1 || boxRows > 256)
    return emitError() << "requires a box of 1 to 256 rows, but got "
                       << boxRows;
  if (failed(verifySwizzle(emitError, elementType, swizzle, boxColumns)))
    return failure();
  if (ShapedType::isDynamic(shape.back()) || boxColumns < 1 ||
      shape.back() % boxColumns)
    return emitError() << "requires boxes that divide a static number of "
                          "columns, but got "
                       << boxColumns << " of " << shape.back();
  int64_t bytes = bytesOf({}, elementType);
  if (boxColumns * bytes % 16)
    return emitError() << "requires boxes of whole 16 bytes, but got "
                       << boxColumns << " columns of " << elementType;
  if (boxColumns / (swizzle ? swizzle / bytes : 1) > 256)
    return emitError() << "requires a box of at most 256 columns or swizzles, "
                          "but got "
                       << boxColumns;
  return success();
}
