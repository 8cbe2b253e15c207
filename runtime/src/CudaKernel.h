//===- CudaKernel.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDAKERNEL_H
#define MLA_JIT_SRC_CUDAKERNEL_H

#include "KernelState.h"
#include "cuda/Device.h"

namespace mla_jit {

class LaunchGraphBudget;

/// Loads a kernel onto the context's device, to be run with at most
/// `maxWorkers` SMs (0: all): its cubin if it has one, else its PTX, whose
/// modules the driver assembles on at most `threads` threads. `graphs`: of
/// these it takes what its launches may keep; null: none.
llvm::Expected<std::unique_ptr<KernelState>>
loadCudaKernel(const CompileResult &compiled,
               std::shared_ptr<const cuda::Context> context, int maxWorkers,
               unsigned threads, std::shared_ptr<LaunchGraphBudget> graphs);

/// SMs that launches use of a device, by the option 'numWorkers'.
int usedSMs(const cuda::Device &device, int maxWorkers);

} // namespace mla_jit

#endif // MLA_JIT_SRC_CUDAKERNEL_H
