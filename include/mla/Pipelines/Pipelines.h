//===- Pipelines.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The phases: one builder each, which mla-opt exposes as a named pipeline and
// the runtime runs. A module may stop after any of them.
//
//   problem  mla-problem-to-tile  tile  mla-tile-to-host  host
//                                       mla-tile-to-gpu   gpu
//   host     mla-host-to-llvm     llvm
//
//   gpu  mla-gpu-to-nvvm  nvvm
//
//===----------------------------------------------------------------------===//

#ifndef MLA_PIPELINES_PIPELINES_H
#define MLA_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::mla {

struct ProblemToTileOptions : public PassPipelineOptions<ProblemToTileOptions> {
  Option<std::string> cpu{
      *this, "cpu",
      llvm::cl::desc("CPU to compile for, where the module has no "
                     "mla.target: native, x86-64-v3, x86-64-v4, ..."),
      llvm::cl::init("native")};
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("GPU to compile for, instead of a CPU: sm_90a"),
      llvm::cl::init("")};
  Option<std::string> split{
      *this, "split",
      llvm::cl::desc("split policy of chosen schedules: whole, "
                     "balanced or row_local"),
      llvm::cl::init("balanced")};
  Option<int64_t> queries{
      *this, "queries",
      llvm::cl::desc("queries that a request typically has: chooses tiles, "
                     "results are right for any"),
      llvm::cl::init(1)};
  Option<bool> alignedStrides{
      *this, "aligned-strides",
      llvm::cl::desc("promise that free strides of q, k and out, and where "
                     "they begin, are multiples of 16 bytes, as TMA needs"),
      llvm::cl::init(false)};
  Option<bool> sharedPlan{
      *this, "shared-plan",
      llvm::cl::desc("GPU: an entry of its own plans, for all launches with "
                     "the same lengths"),
      llvm::cl::init(false)};
};

struct TileToGPUOptions : public PassPipelineOptions<TileToGPUOptions> {
  Option<bool> verifyProtocol{
      *this, "verify-protocol",
      llvm::cl::desc(
          "run mla-gpu-verify-protocol: what dataflows emit is right "
          "by tests, but a change to one may not be"),
      llvm::cl::init(true)};
};

/// problem -> tile: target, schedule, tiles, splits, specialised loops.
void buildProblemToTile(OpPassManager &pm, const ProblemToTileOptions &options);

/// tile -> host: loops over register blocks.
void buildTileToHost(OpPassManager &pm);

/// tile -> gpu: the roles of a CTA.
void buildTileToGPU(OpPassManager &pm, const TileToGPUOptions &options);

/// host -> llvm: upstream's lowerings.
void buildHostToLLVM(OpPassManager &pm);

/// gpu -> nvvm: what one thread does, in llvm ops and inline PTX.
void buildGPUToNVVM(OpPassManager &pm);

} // namespace mlir::mla

#endif // MLA_PIPELINES_PIPELINES_H
