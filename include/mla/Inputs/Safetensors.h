//===- Safetensors.h - Tensor files -----------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_INPUTS_SAFETENSORS_H
#define MLA_INPUTS_SAFETENSORS_H

#include "mla/Inputs/TensorSet.h"

namespace mla_jit {

/// Reads a .safetensors file: 8 bytes of header length (little endian), a JSON
/// header {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...,
/// "__metadata__": {text: text}}, then the data. Accepts F32, F16, BF16, I32
/// and I64 up to rank 4; any violation of the format is an error that begins
/// with the path. Never allocates more than the file holds.
llvm::Expected<TensorSet> readSafetensors(llvm::StringRef path);

/// Writes all tensors (contiguous, whatever their strides) and the metadata.
/// The file appears complete under its name or not at all.
llvm::Error writeSafetensors(llvm::StringRef path, const TensorSet &tensors);

} // namespace mla_jit

#endif // MLA_INPUTS_SAFETENSORS_H
