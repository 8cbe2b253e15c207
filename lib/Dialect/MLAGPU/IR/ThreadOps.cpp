//===- ThreadOps.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Ops that all threads of a CTA do together, outside of roles.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::mla_gpu;

LogicalResult ScanOp::verify() {
  size_t counts = getNumResults();
  if (getKinds().size() != counts ||
      llvm::any_of(
          getKinds().getAsValueRange<StringAttr>(),
          [](StringRef kind) { return kind != "sum" && kind != "max"; }))
    return emitOpError("(scan_c1) requires \"sum\" or \"max\" for each of ")
           << counts << " results, but got " << getKinds();
  auto isIndex = [](Type type) { return type.isIndex(); };
  auto takes = [&](Region &region, size_t arguments, size_t results) {
    Block &block = region.front();
    auto yield = dyn_cast<YieldOp>(block.back());
    return block.getNumArguments() == arguments &&
           llvm::all_of(block.getArgumentTypes(), isIndex) && yield &&
           yield.getNumOperands() == results &&
           llvm::all_of(yield.getOperandTypes(), isIndex);
  };
  if (!takes(getValues(), 1, counts))
    return emitOpError("(scan_c2) requires a region from an index to ")
           << counts;
  if (!getThen().empty() && !takes(getThen(), 1 + 2 * counts, 0))
    return emitOpError("(scan_c3) requires 'then' to take ")
           << 1 + 2 * counts << " indices and to yield nothing";
  if (!isa<func::FuncOp>((*this)->getParentOp()))
    return emitOpError(
        "(scan_c4) requires to be outside of roles, loops and branches");
  return success();
}

LogicalResult MergeRowsOp::verify() {
  auto out = cast<MemRefType>(getOut().getType());
  auto rankOf = [](Value memref) {
    return cast<MemRefType>(memref.getType()).getRank();
  };
  if (rankOf(getValues()) != 4 || rankOf(getLseValues()) != 3 ||
      out.getRank() != 3 || rankOf(getLse()) != 2 || out.isDynamicDim(1) ||
      out.isDynamicDim(2))
    return emitOpError("(merge_rows_c1) requires results of rows x heads x "
                       "columns, but got ")
           << out;
  if ((*this)->getParentOfType<WarpSpecializeOp>())
    return emitOpError("(merge_rows_c2) requires to be outside of roles");
  return success();
}

LogicalResult MergeOp::verify() {
  auto partialOut = cast<MemRefType>(getPartialOut().getType());
  auto partialLse = cast<MemRefType>(getPartialLse().getType());
  auto isPlain = [](MemRefType type, int64_t rank) {
    return type.getRank() == rank && type.getElementType().isF32() &&
           type.getLayout().isIdentity() &&
           !llvm::any_of(type.getShape().drop_front(), ShapedType::isDynamic);
  };
  if (!isPlain(partialOut, 3) || !isPlain(partialLse, 2) ||
      partialOut.getDimSize(1) != partialLse.getDimSize(1))
    return emitOpError("(merge_c1) requires slots x rows x columns and slots x "
                       "rows of f32, contiguous, but got ")
           << partialOut << " and " << partialLse;
  auto out = cast<MemRefType>(getOut().getType());
  MemRefType lse = getLse() ? cast<MemRefType>(getLse().getType()) : nullptr;
  auto wrongDestination = [&]() -> LogicalResult {
    InFlightDiagnostic error =
        emitOpError("(merge_c2) requires one or two dimensions of rows, the "
                    "second static, and ")
        << partialOut.getDimSize(2) << " contiguous columns, but got " << out;
    if (lse)
      error << " and " << lse;
    return error;
  };
  int64_t rank = out.getRank() - 1;
  if (rank < 1 || rank > 2 || !out.isLastDimUnitStride() ||
      out.getShape().back() != partialOut.getDimSize(2) ||
      (rank == 2 && out.isDynamicDim(1)))
    return wrongDestination();
  if (lse && (lse.getRank() != rank || !lse.getElementType().isF32() ||
              (rank == 2 && lse.getDimSize(1) != out.getDimSize(1))))
    return wrongDestination();
  if ((*this)->getParentOfType<WarpSpecializeOp>())
    return emitOpError("(merge_c3) requires to be outside of roles");
  if (bool(getLseScale()) != bool(getLseEmpty()) || (getLseScale() && !lse))
    return emitOpError("(merge_c4) requires lse_scale and lse_empty together, "
                       "with a destination of lse");
  if (getAligned())
    return verifyAligned(*this, getOut(), "merge_c5");
  return success();
}
