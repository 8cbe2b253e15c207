//===- ScoreMods.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreMods.h"

#include <cmath>

using llvm::createStringError;

namespace mla_jit {

static llvm::Expected<ScoreMod> addSoftCap(llvm::StringRef text, Spec &spec) {
  double cap;
  if (text.getAsDouble(cap) || !(cap > 0))
    return createStringError(
        "--score softcap requires a positive cap (softcap:30), but got '" +
        text + "'");
  spec.scoreArguments = {{"cap", "f32"}};
  spec.scoreBody = "      %ratio = arith.divf %score, %cap : f32\n"
                   "      %bounded = math.tanh %ratio : f32\n"
                   "      %capped = arith.mulf %bounded, %cap : f32\n"
                   "      mla.yield %capped : f32";
  ScoreMod mod;
  mod.scalars = {{"cap", cap}};
  mod.reference = [cap](int64_t, int64_t, int64_t, int64_t, double score) {
    return cap * std::tanh(score / cap);
  };
  return mod;
}

static llvm::Expected<ScoreMod> addAlibi(Spec &spec, TensorSet &inputs) {
  spec.scoreArguments = {{"slopes", "memref<?xf32>"}};
  spec.scoreBody = "      %head = arith.index_cast %h : i32 to index\n"
                   "      %slope = memref.load %slopes[%head] : memref<?xf32>\n"
                   "      %away = arith.subi %kpos, %qpos : i32\n"
                   "      %distance = arith.sitofp %away : i32 to f32\n"
                   "      %bias = arith.mulf %slope, %distance : f32\n"
                   "      %biased = arith.addf %score, %bias : f32\n"
                   "      mla.yield %biased : f32";
  Tensor slopes = inputs.view("slopes");
  std::vector<double> values;
  if (slopes.given()) {
    if (slopes.dtype != DType::F32 || slopes.rank != 1 ||
        slopes.shape[0] != spec.numHeads)
      return createStringError(
          "tensor 'slopes' requires f32[" + std::to_string(spec.numHeads) +
          "], a slope for each query head, but got " + slopes.describe());
    for (int64_t h = 0; h < spec.numHeads; ++h)
      values.push_back(static_cast<float *>(slopes.data)[h]);
  } else {
    auto added = inputs.add("slopes", DType::F32, {spec.numHeads});
    if (!added)
      return added.takeError();
    for (int64_t h = 0; h < spec.numHeads; ++h) {
      float slope =
          static_cast<float>(std::exp2(-8.0 * (h + 1) / spec.numHeads));
      static_cast<float *>(added->data)[h] = slope;
      values.push_back(slope);
    }
  }
  ScoreMod mod;
  mod.reference = [values](int64_t, int64_t h, int64_t q, int64_t k,
                           double score) {
    return score + values[h] * static_cast<double>(k - q);
  };
  return mod;
}

llvm::Expected<ScoreMod> addScoreMod(llvm::StringRef text, Spec &spec,
                                     TensorSet &inputs) {
  if (text.empty() || text == "none")
    return ScoreMod();
  auto [name, parameter] = text.split(':');
  if (name == "softcap")
    return addSoftCap(parameter, spec);
  if (name == "alibi" && parameter.empty())
    return addAlibi(spec, inputs);
  return createStringError(
      "--score requires none, softcap:CAP or alibi, but got '" + text + "'");
}

} // namespace mla_jit
