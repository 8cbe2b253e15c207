//===- KernelState.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELSTATE_H
#define MLA_JIT_SRC_KERNELSTATE_H

#include "Compiler.h"
#include "WorkerPool.h"
#include "mla_jit/Kernel.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mla_jit {

/// A loaded kernel: code and the workers that run it.
struct KernelState {
  ~KernelState();

  std::shared_ptr<const KernelInfo> info;
  std::vector<StageTime> times;
  std::shared_ptr<WorkerPool> pool;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  /// By entry: takes a pointer to each parameter.
  std::vector<void (*)(void **)> functions;
};

/// Links object code into the process.
llvm::Expected<std::unique_ptr<KernelState>>
loadKernel(CompileResult compiled, std::shared_ptr<WorkerPool> pool);

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELSTATE_H
