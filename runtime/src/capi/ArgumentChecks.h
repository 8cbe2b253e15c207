//===- ArgumentChecks.h -----------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What can be said of mla_args whatever the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_ARGUMENTCHECKS_H
#define MLA_JIT_SRC_CAPI_ARGUMENTCHECKS_H

#include "mla_jit/mla_jit.h"
#include "llvm/Support/Error.h"

namespace mla_jit::capi {

/// An error of fields that are not 0 though no kernel can do what they ask for.
llvm::Error checkRefused(const mla_args &args, bool isGPU);
/// An error of numbers out of range, or that contradict each other.
llvm::Error checkNumbers(const mla_args &args, bool isRagged);

} // namespace mla_jit::capi

#endif // MLA_JIT_SRC_CAPI_ARGUMENTCHECKS_H
