//===- MLA.h -------------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLA_IR_MLA_H
#define MLA_DIALECT_MLA_IR_MLA_H

#include "mla/Dialect/MLA/IR/MaskInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mla/Dialect/MLA/IR/MLADialect.h.inc"
#include "mla/Dialect/MLA/IR/MLAEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mla/Dialect/MLA/IR/MLAAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mla/Dialect/MLA/IR/MLATypes.h.inc"

#define GET_OP_CLASSES
#include "mla/Dialect/MLA/IR/MLAOps.h.inc"

namespace mlir::mla {

/// Most pieces that an item is cut into under `row_local`, where the launch
/// does not give a number.
inline constexpr int64_t kMaxRowLocalSplits = 32;

/// Bytes that the widest accesses of a GPU want rows to begin at multiples of.
inline constexpr int64_t kRowAlignment = 16;

/// Whether all rows of a memref may begin at multiples of `bytes`: no stride
/// but the last, and no offset, that is known speaks against it.
bool mayBeAligned(MemRefType type, int64_t bytes);

/// Checks that a score region is (i32, i32, i32, i32, f32) -> f32; the error
/// names `constraint`.
LogicalResult verifyScoreRegion(Operation *op, Region &region,
                                StringRef constraint);

/// Checks that a score region holds only elementwise speculatable ops and
/// `memref.load`.
LogicalResult verifyScoreCode(Operation *op, Region &region,
                              StringRef constraint);

/// Checks that a mask is given as many parameters as it names.
LogicalResult verifyMaskParameters(Operation *op, MaskAttrInterface mask,
                                   size_t given, StringRef constraint);

} // namespace mlir::mla

#endif // MLA_DIALECT_MLA_IR_MLA_H
