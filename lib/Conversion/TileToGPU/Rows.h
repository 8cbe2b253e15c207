//===- Rows.h ------------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_ROWS_H
#define MLA_CONVERSION_TILETOGPU_ROWS_H

#include "../Work/Items.h"
#include "RoleBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mla {

/// The rows of an item's request and KV head in `out` or `q` (b x s x h x d, or
/// ragged total x h x d), as queries x heads x d; in `lse`, as queries x heads.
/// The item's row r is packed row r of it (see mla_gpu.store_rows). Needs the
/// item's request, kvHead, qBase and qLen.
Value rowsOfItem(OpBuilder &builder, Location loc, PlanOp plan,
                 const ItemValues &item, Value memref);

/// Whether a schedule promises that the rows of a memref, which is of q, k or
/// out, begin at multiples of 16 bytes.
bool promisesAlignedRows(ScheduleAttr schedule, Value memref);

/// What `store` writes as the lse of rows whose logarithms of base 2 are
/// `log2`, a value a row.
Value buildLse(mla_gpu::RoleBuilder &b, StoreOp store, Value log2);

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_ROWS_H
