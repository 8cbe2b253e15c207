//===- Registration.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Pipelines/Registration.h"
#include "mla/Conversion/Passes.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Dialect/MLAGPU/Transforms/Passes.h"
#include "mla/Pipelines/Pipelines.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mla::registerDialects(DialectRegistry &registry) {
  registry.insert<MLADialect, mla_gpu::MLAGPUDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  func::registerInlinerExtension(registry);
  // How createConvertToLLVMPass converts them.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
}

void mla::registerPasses() {
  registerMLATransformsPasses();
  mla_gpu::registerMLAGPUTransformsPasses();
  registerMLAConversionPasses();
  registerCanonicalizerPass();
  registerCSEPass();
  registerInlinerPass();
  PassPipelineRegistration<ProblemToTileOptions>(
      "mla-problem-to-tile", "phase: mla.decode to tile ops",
      buildProblemToTile);
  PassPipelineRegistration<>("mla-tile-to-host",
                             "phase: tile ops to loops over register blocks",
                             buildTileToHost);
  PassPipelineRegistration<TileToGPUOptions>(
      "mla-tile-to-gpu", "phase: tile ops to the roles of a CTA",
      buildTileToGPU);
  PassPipelineRegistration<>("mla-host-to-llvm",
                             "phase: loops and vectors to LLVM IR",
                             buildHostToLLVM);
  PassPipelineRegistration<>("mla-gpu-to-nvvm",
                             "phase: roles and tiles to one thread's code",
                             buildGPUToNVVM);
}
