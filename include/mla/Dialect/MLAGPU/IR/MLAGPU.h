//===- MLAGPU.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLAGPU_IR_MLAGPU_H
#define MLA_DIALECT_MLAGPU_IR_MLAGPU_H

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.h.inc"
#include "mla/Dialect/MLAGPU/IR/MLAGPUEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUTypes.h.inc"

#define GET_OP_CLASSES
#include "mla/Dialect/MLAGPU/IR/MLAGPUOps.h.inc"

namespace mlir::mla_gpu {

/// Threads of a warp, and warps of the warpgroup that an MMA takes.
inline constexpr int64_t kWarpThreads = 32, kWarpgroupWarps = 4;

/// The `#mla_gpu.mma` layout that a layout is, or is made from; null if the
/// attribute is none of this dialect's layouts.
MmaLayoutAttr getMmaLayout(Attribute encoding);

/// Checks that a memref may have all its rows at multiples of 16 bytes, as
/// `aligned` promises; the error names `constraint`.
LogicalResult verifyAligned(Operation *op, Value memref, StringRef constraint);

/// Where a pipeline is declared. Null for an argument of a role.
inline PipelineOp getDeclaration(Value pipeline) {
  return pipeline.getDefiningOp<PipelineOp>();
}

/// The region of a `warp_specialize` that an op is in, or null.
Region *getRoleBody(Operation *op);

} // namespace mlir::mla_gpu

#endif // MLA_DIALECT_MLAGPU_IR_MLAGPU_H
