//===- HostKernel.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_HOSTKERNEL_H
#define MLA_JIT_SRC_HOSTKERNEL_H

#include "KernelState.h"
#include "WorkerPool.h"

namespace mla_jit {

/// Links object code into the process, to be run by the pool.
llvm::Expected<std::unique_ptr<KernelState>>
loadHostKernel(const CompileResult &compiled, std::shared_ptr<WorkerPool> pool);

} // namespace mla_jit

#endif // MLA_JIT_SRC_HOSTKERNEL_H
