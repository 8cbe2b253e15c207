//===- MLAGPUAttrs.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mla_gpu;

#include "mla/Dialect/MLAGPU/IR/MLAGPUEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUAttrs.cpp.inc"

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

void MLAGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mla/Dialect/MLAGPU/IR/MLAGPUAttrs.cpp.inc"
      >();
}

MmaLayoutAttr mla_gpu::getMmaLayout(Attribute encoding) {
  if (auto slice = dyn_cast_or_null<SliceLayoutAttr>(encoding))
    return slice.getParent();
  if (auto lanes = dyn_cast_or_null<LanesLayoutAttr>(encoding))
    return lanes.getParent();
  return dyn_cast_or_null<MmaLayoutAttr>(encoding);
}

/// Checks that dimension `dim` of a tile, of this size, is whole instructions.
static LogicalResult verifyWhole(MmaLayoutAttr layout, unsigned dim,
                                 int64_t size, EmitError emitError) {
  int64_t tile = layout.getTile(dim);
  if (size > 0 && size % tile == 0)
    return success();
  return emitError() << "requires dimension " << dim << " of " << layout
                     << " to be a multiple of " << tile << ", but got " << size;
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

LogicalResult MmaLayoutAttr::verify(EmitError emitError, MDim,
                                    ArrayRef<int64_t> instr) {
  if (instr.size() != 3)
    return emitError() << "requires an instruction of M, N and K, but got "
                       << instr.size() << " sizes";
  if (instr[0] != 64 || instr[2] != 16)
    return emitError() << "requires an instruction with M = 64 and K = 16, but "
                          "got M = "
                       << instr[0] << " and K = " << instr[2];
  if (instr[1] < 8 || instr[1] > 256 || instr[1] % 8)
    return emitError()
           << "requires N to be a multiple of 8 from 8 to 256, but got "
           << instr[1];
  return success();
}

LogicalResult MmaLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                            EmitError emitError) const {
  if (shape.size() != 2)
    return emitError() << "requires a matrix for " << *this << ", but got "
                       << shape.size() << " dimensions";
  return failure(failed(verifyWhole(*this, 0, shape[0], emitError)) ||
                 failed(verifyWhole(*this, 1, shape[1], emitError)));
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceLayoutAttr::verify(EmitError emitError, int64_t dim,
                                      MmaLayoutAttr) {
  if (dim == 0 || dim == 1)
    return success();
  return emitError() << "requires dim to be 0 or 1, but got " << dim;
}

LogicalResult SliceLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                              EmitError emitError) const {
  if (shape.size() != 1)
    return emitError() << "requires a vector for " << *this << ", but got "
                       << shape.size() << " dimensions";
  return verifyWhole(getParent(), 1 - getDim(), shape[0], emitError);
}

//===----------------------------------------------------------------------===//
// lanes
//===----------------------------------------------------------------------===//

LogicalResult LanesLayoutAttr::verify(EmitError, MmaLayoutAttr) {
  return success();
}

LogicalResult LanesLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                              EmitError emitError) const {
  int64_t threads = getParent().getThreadsPerRow();
  if (shape.size() != 2 || shape[1] != threads)
    return emitError() << "requires rows x " << threads << " for " << *this
                       << ", the threads that share a row";
  return verifyWhole(getParent(), 0, shape[0], emitError);
}
