//===- MergeOp.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"

using namespace mlir;
using namespace mlir::mla;

LogicalResult MergeOp::verify() {
  auto typeOf = [](Value memref) { return cast<MemRefType>(memref.getType()); };
  MemRefType parts = typeOf(getParts()), out = typeOf(getOut());
  MemRefType lseParts = typeOf(getLseParts()), lse = typeOf(getLse());
  bool fits = parts.getRank() == 4 && lseParts.getRank() == 3 &&
              out.getRank() == 3 && lse.getRank() == 2;
  if (fits) {
    int64_t heads = out.getDimSize(1), columns = out.getDimSize(2);
    fits = !ShapedType::isDynamic(heads) && !ShapedType::isDynamic(columns) &&
           parts.getDimSize(2) == heads && parts.getDimSize(3) == columns &&
           lseParts.getDimSize(2) == heads && lse.getDimSize(1) == heads;
  }
  if (!fits)
    return emitOpError("(merge_c1) requires parts of n x rows x heads x "
                       "columns and n x rows x heads, and results of the same "
                       "rows, heads and columns, but got ")
           << parts << ", " << lseParts << ", " << out << " and " << lse;
  if (parts.getElementType() != out.getElementType() || out.getDimSize(2) % 8 ||
      !parts.isLastDimUnitStride() || !out.isLastDimUnitStride())
    return emitOpError("(merge_c2) requires parts and out of one type, with "
                       "contiguous columns in a multiple of 8, but got ")
           << parts << " and " << out;
  return success();
}
