//===- Placement.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"
#include "mlir/Support/LLVM.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace mlir;

static void sink(llvm::CmpInst &comparison) {
  llvm::SmallDenseMap<llvm::BasicBlock *, llvm::Instruction *> copies;
  for (llvm::Use &use : llvm::make_early_inc_range(comparison.uses())) {
    auto *user = cast<llvm::Instruction>(use.getUser());
    llvm::BasicBlock *block = user->getParent();
    if (isa<llvm::PHINode>(user) || block == comparison.getParent())
      continue;
    llvm::Instruction *&copy = copies[block];
    if (!copy) {
      copy = comparison.clone();
      copy->insertBefore(block->getFirstInsertionPt());
    }
    use.set(copy);
  }
  if (comparison.use_empty())
    comparison.eraseFromParent();
}

void mla::sinkComparisons(llvm::Function &function) {
  SmallVector<llvm::CmpInst *> comparisons;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *comparison = dyn_cast<llvm::CmpInst>(&instruction))
      comparisons.push_back(comparison);
  // The last first: it may use another one.
  for (llvm::CmpInst *comparison : llvm::reverse(comparisons))
    sink(*comparison);
}

void mla::extendAtLoads(llvm::Function &function) {
  for (llvm::Instruction &instruction :
       llvm::make_early_inc_range(llvm::instructions(function)))
    if (auto *extension = dyn_cast<llvm::SExtInst>(&instruction))
      if (auto *load = dyn_cast<llvm::LoadInst>(extension->getOperand(0)))
        extension->moveAfter(load);
}
