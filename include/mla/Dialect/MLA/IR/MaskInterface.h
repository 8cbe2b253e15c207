//===- MaskInterface.h ---------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLA_IR_MASKINTERFACE_H
#define MLA_DIALECT_MLA_IR_MASKINTERFACE_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Value.h"

namespace mlir {
class OpBuilder;
namespace mla {

/// Where a score stands: request, query head, positions of the query and the
/// key among the request's keys. Values of type i32.
struct ScorePoint {
  Value b, h, q, k;
};

/// Keys that a run of queries sees (values of type index): [begin, end) holds
/// every key that some query sees, [innerBegin, innerEnd) only keys that all
/// do.
struct KeyRange {
  Value begin, end, innerBegin, innerEnd;
};

} // namespace mla
} // namespace mlir

#include "mla/Dialect/MLA/IR/MLAMaskInterface.h.inc"

#endif // MLA_DIALECT_MLA_IR_MASKINTERFACE_H
