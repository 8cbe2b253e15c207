//===- Pipelines.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Pipelines/Pipelines.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mla::buildProblemToTile(OpPassManager &pm,
                             const ProblemToTileOptions &options) {
  pm.addPass(createAttachTarget({options.cpu, options.chip}));
  pm.addNestedPass<func::FuncOp>(
      createSelectSchedule({options.split, options.queries,
                            options.alignedStrides, options.sharedPlan}));
  pm.addNestedPass<func::FuncOp>(createTile());
  pm.addPass(createSplitKV());
  pm.addNestedPass<func::FuncOp>(createSpecializeTiles());
  pm.addPass(createCSEPass());
}

void mla::buildTileToHost(OpPassManager &pm) {
  pm.addPass(createConvertTileToHost());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mla::buildTileToGPU(OpPassManager &pm, const TileToGPUOptions &options) {
  pm.addPass(createConvertTileToGPU());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (options.verifyProtocol)
    pm.addNestedPass<func::FuncOp>(mla_gpu::createVerifyProtocol());
}

void mla::buildHostToLLVM(OpPassManager &pm) {
  pm.addPass(createExpandMath());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 =
      true; // else truncf calls a libgcc symbol that may be missing
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vector;
  vector.reassociateFPReductions = true;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mla::buildGPUToNVVM(OpPassManager &pm) {
  // Bodies of the functions that roles call stay as they are in between.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addNestedPass<func::FuncOp>(createExpandPlan());
  // LLVM folds all that the canonicalizer would, in less time.
  pm.addPass(createConvertGPUToNVVM());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createScalarsToLLVM());
  // What is left: one walk, which cannot be taken back, for all three dialects.
  ConvertToLLVMPassOptions options;
  options.filterDialects = {"arith", "cf", "math"};
  options.allowPatternRollback = false;
  pm.addPass(createConvertToLLVMPass(options));
}
