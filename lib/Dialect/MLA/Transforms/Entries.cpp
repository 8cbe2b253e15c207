//===- Entries.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::mla;

static int64_t placeOf(func::FuncOp func) {
  return func->getAttrOfType<IntegerAttr>(MLADialect::kEntry).getInt();
}

FailureOr<SmallVector<func::FuncOp>> mla::collectEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(MLADialect::kEntry))
      entries.push_back(func);
  llvm::stable_sort(entries, [](func::FuncOp a, func::FuncOp b) {
    return placeOf(a) < placeOf(b);
  });
  for (size_t i = 1; i < entries.size(); ++i)
    if (placeOf(entries[i]) == placeOf(entries[i - 1]))
      return entries[i].emitError("requires to be the only entry with '")
             << MLADialect::kEntry << "' = " << placeOf(entries[i]);
  return entries;
}
