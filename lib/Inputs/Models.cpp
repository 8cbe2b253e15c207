//===- Models.cpp - Decode shapes of published models ---------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Inputs/Models.h"

#include <cmath>

using namespace mla_jit;

// From config.json of the models on huggingface.co: num_attention_heads,
// kv_lora_rank + qk_rope_head_dim, kv_lora_rank, qk_rope_head_dim,
// qk_nope_head_dim, rope_theta, rope_scaling.factor and .mscale_all_dim of
// deepseek-ai/DeepSeek-V2-Lite, deepseek-ai/DeepSeek-V3 and
// moonshotai/Kimi-K2-Instruct (the later Kimi-K2-Instruct-0905 has factor 64).
static constexpr ModelPreset kModels[] = {
    {"deepseek-v2-lite", 16, 1, 576, 512, 64, 128, 10000, 40, 0.707},
    {"deepseek-v3", 128, 1, 576, 512, 64, 128, 10000, 40, 1},
    {"kimi-k2", 64, 1, 576, 512, 64, 128, 50000, 32, 1},
};

double ModelPreset::softmaxScale() const {
  double m = 0.1 * mscaleAllDim * std::log(yarnFactor) + 1;
  return m * m / std::sqrt(static_cast<double>(nopeDim + ropeDim));
}

llvm::ArrayRef<ModelPreset> mla_jit::models() { return kModels; }

const ModelPreset *mla_jit::findModel(llvm::StringRef name) {
  for (const ModelPreset &model : kModels)
    if (name == model.name)
      return &model;
  return nullptr;
}
