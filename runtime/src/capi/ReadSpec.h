//===- ReadSpec.h -----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_READSPEC_H
#define MLA_JIT_SRC_CAPI_READSPEC_H

#include "mla/Problem/Spec.h"
#include "mla_jit/mla_jit.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace mla_jit::capi {

/// The caller's spec, and what the engine compiles for it.
struct ReadSpec {
  mla_spec given;
  Spec spec;
};

llvm::Expected<ReadSpec> readSpec(const mla_engine *engine,
                                  const mla_spec *spec);
/// `count` structs, each of the size that the first says.
llvm::Expected<std::vector<ReadSpec>>
readSpecs(const mla_engine *engine, const mla_spec *specs, int32_t count);
/// What the engine compiles for each.
std::vector<Spec> specsOf(llvm::ArrayRef<ReadSpec> read);

} // namespace mla_jit::capi

#endif // MLA_JIT_SRC_CAPI_READSPEC_H
