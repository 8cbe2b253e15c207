//===- MLADialect.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"

using namespace mlir;
using namespace mlir::mla;

#include "mla/Dialect/MLA/IR/MLADialect.cpp.inc"
#include "mla/Dialect/MLA/IR/MLAMaskInterface.cpp.inc"

void MLADialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mla/Dialect/MLA/IR/MLAOps.cpp.inc"
      >();
}

LogicalResult MLADialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto expect = [&](bool holds, const char *what) -> LogicalResult {
    if (holds)
      return success();
    return op->emitOpError("requires '")
           << name << "' to be " << what << ", but got "
           << attribute.getValue();
  };
  if (name == kTarget)
    return expect(isa<TargetAttr>(attribute.getValue()), "a #mla.target");
  if (name == kKernel)
    return expect(isa<KernelAttr>(attribute.getValue()), "a #mla.kernel");
  if (name == kEntry)
    return expect(isa<IntegerAttr>(attribute.getValue()), "an integer");
  if (name == kSchedule)
    return expect(isa<ScheduleAttr>(attribute.getValue()), "a #mla.schedule");
  return op->emitOpError("has an attribute '")
         << name << "' that the mla dialect does not know";
}

LogicalResult MLADialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned index,
                                                   NamedAttribute attribute) {
  if (attribute.getName() == kName && isa<StringAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == kTensorMap) {
    if (isa<TensorMapAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("requires '")
           << kTensorMap << "' of argument " << index
           << " to be a #mla.tensor_map, but got " << attribute.getValue();
  }
  return op->emitOpError("requires attributes of argument ")
         << index << " to be '" << kName << "' with a string, but got '"
         << attribute.getName().getValue() << "' = " << attribute.getValue();
}
