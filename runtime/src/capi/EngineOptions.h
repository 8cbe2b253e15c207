//===- EngineOptions.h ------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_ENGINEOPTIONS_H
#define MLA_JIT_SRC_CAPI_ENGINEOPTIONS_H

#include "../Engine.h"
#include "Status.h"

namespace mla_jit::capi {

/// The engine's options; an error names the one that is wrong. Null strings and
/// zeroes are defaults.
llvm::Expected<EngineOptions> toOptions(const mla_engine_options &options);

llvm::Expected<JITPolicy> toPolicy(int32_t policy);

} // namespace mla_jit::capi

#endif // MLA_JIT_SRC_CAPI_ENGINEOPTIONS_H
