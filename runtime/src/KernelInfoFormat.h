//===- KernelInfoFormat.h ---------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// KernelInfo as bytes: with it a kernel of the cache needs no compiler.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELINFOFORMAT_H
#define MLA_JIT_SRC_KERNELINFOFORMAT_H

#include "Kernel.h"

namespace mla_jit {

std::string writeKernelInfo(const KernelInfo &info);
/// Never trusts a number: an error where the bytes are not what writeKernelInfo
/// makes.
llvm::Expected<std::shared_ptr<KernelInfo>>
readKernelInfo(std::string_view bytes);

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELINFOFORMAT_H
