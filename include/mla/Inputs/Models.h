//===- Models.h - Decode shapes of published models -------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_INPUTS_MODELS_H
#define MLA_INPUTS_MODELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mla_jit {

/// Attention of one model with all heads on one device, in absorbed form: one
/// latent row of 512 columns and a rope part of 64 per key, shared by all
/// heads, with the latent as value.
struct ModelPreset {
  const char *name;
  int64_t numHeads;
  int64_t numKVHeads;
  int64_t headDim;  ///< latent + rope
  int64_t headDimV; ///< latent
  int64_t ropeDim;  ///< the last columns of a row
  int64_t nopeDim;  ///< per head before absorption, with ropeDim: the scale
  double ropeTheta;
  double yarnFactor; ///< context extension, 1: none
  double mscaleAllDim;

  /// (nopeDim + ropeDim)^-0.5 * m^2 with YaRN's attention temperature
  /// m = 0.1 * mscaleAllDim * ln(yarnFactor) + 1, as the models' own code has
  /// it (softmax_scale in modeling_deepseek.py of DeepSeek-V2 and V3).
  double softmaxScale() const;
};

/// deepseek-v2-lite, deepseek-v3, kimi-k2.
llvm::ArrayRef<ModelPreset> models();
/// The preset of that name or null.
const ModelPreset *findModel(llvm::StringRef name);

} // namespace mla_jit

#endif // MLA_INPUTS_MODELS_H
