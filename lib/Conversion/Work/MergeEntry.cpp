//===- MergeEntry.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeEntry.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::mla;

static LogicalResult nameArguments(func::FuncOp func, MergeOp merge) {
  const std::pair<StringRef, Value> roles[] = {
      {"parts", merge.getParts()},
      {"lse_parts", merge.getLseParts()},
      {"out", merge.getOut()},
      {"lse", merge.getLse()},
      {"lse_scale", merge.getLseScale()},
      {"lse_empty", merge.getLseEmpty()}};
  if (func.getNumArguments() != std::size(roles))
    return func.emitError("requires the operands of mla.merge as arguments, "
                          "and no others");
  for (auto [name, value] : roles) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &func.front())
      return merge.emitOpError("requires every operand to be an argument of "
                               "the function, but '")
             << name << "' is none";
    func.setArgAttr(argument.getArgNumber(), MLADialect::kName,
                    StringAttr::get(func.getContext(), name));
  }
  return success();
}

FailureOr<std::optional<MergeEntry>> mla::makeMergeEntry(ModuleOp module) {
  SmallVector<MergeOp> merges;
  module.walk([&](MergeOp op) { merges.push_back(op); });
  if (merges.empty())
    return std::optional<MergeEntry>();
  MergeOp merge = merges.front();
  auto func = dyn_cast<func::FuncOp>(merge->getParentOp());
  if (merges.size() > 1 || !func || !func.getBody().hasOneBlock())
    return merges.back().emitOpError(
        "requires to be the only mla.merge, in a function of one block");
  if (failed(nameArguments(func, merge)))
    return failure();
  MergeEntry entry{func, merge, {}, {}};
  Type index = IndexType::get(module.getContext());
  entry.worker = appendArgument(func, argument_names::kWorker, index);
  entry.numWorkers = appendArgument(func, argument_names::kNumWorkers, index);
  func->setAttr(MLADialect::kEntry,
                OpBuilder(module.getContext()).getI64IntegerAttr(0));
  return std::optional(entry);
}

KernelAttr mla::describeMerge(const MergeEntry &entry, EntryAttr description) {
  func::FuncOp func = entry.func;
  SmallVector<ArgumentAttr> arguments;
  for (BlockArgument argument : func.getArguments())
    if (!argument.getType().isIndex())
      arguments.push_back(
          ArgumentAttr::get(func.getContext(),
                            func.getArgAttrOfType<StringAttr>(
                                argument.getArgNumber(), MLADialect::kName),
                            argument.getType()));
  return KernelAttr::get(func.getContext(), arguments, description,
                         /*workspace=*/{}, /*schedule=*/ScheduleAttr(),
                         /*mask=*/Attribute(), /*kvHeads=*/1, /*group=*/1);
}
