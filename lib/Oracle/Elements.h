//===- Elements.h - The oracle's own reading of tensor elements -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_ORACLE_ELEMENTS_H
#define MLA_LIB_ORACLE_ELEMENTS_H

#include "mla/Problem/Tensor.h"

#include <cstdint>

namespace mla_jit::oracle {

/// values[c] = element offset + c * stride of a bf16, f16 or f32 tensor.
void loadFloats(const Tensor &tensor, int64_t offset, int64_t stride,
                int64_t count, double *values);

/// Element `offset` of an i32 or i64 tensor.
int64_t loadInt(const Tensor &tensor, int64_t offset);

} // namespace mla_jit::oracle

#endif // MLA_LIB_ORACLE_ELEMENTS_H
