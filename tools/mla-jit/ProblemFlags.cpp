//===- ProblemFlags.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemFlags.h"
#include "Command.h"
#include "Files.h"
#include "mla/Inputs/Models.h"

#include <cmath>

using namespace llvm;

namespace mla_jit {

static bool given(const cl::Option &option) {
  return option.getNumOccurrences() > 0;
}

/// A flag's value where it was given.
template <typename T, typename U> static void take(const T &option, U &value) {
  if (given(option))
    value = option.getValue();
}

static Error takeDType(const cl::opt<std::string> &option, bool isInt,
                       DType &dtype) {
  if (!given(option))
    return Error::success();
  dtype = parseDType(option.getValue());
  bool ok = isInt ? dtype == DType::I32 || dtype == DType::I64
                  : dtype == DType::BF16 || dtype == DType::F16 ||
                        dtype == DType::F32;
  if (ok)
    return Error::success();
  return usageError("--" + option.ArgStr + " requires " +
                    (isInt ? "i32 or i64" : "bf16, f16 or f32") +
                    ", but got '" + option.getValue() + "'");
}

Error ProblemFlags::overlayTypes(Spec &spec) const {
  DType all = DType::None;
  if (Error error = takeDType(dtype, false, all))
    return error;
  if (given(dtype))
    spec.qDType = spec.kvDType = spec.outDType = all;
  if (Error error = takeDType(qDType, false, spec.qDType))
    return error;
  if (Error error = takeDType(kvDType, false, spec.kvDType))
    return error;
  if (Error error = takeDType(outDType, false, spec.outDType))
    return error;
  if (Error error = takeDType(lengthDType, true, spec.lengthDType))
    return error;
  if (Error error = takeDType(tableDType, true, spec.tableDType))
    return error;
  if (!given(layout))
    return Error::success();
  for (KVLayout value : {KVLayout::Dense, KVLayout::Paged, KVLayout::CSR}) {
    if (layout.getValue() != toString(value))
      continue;
    spec.layout = value;
    return Error::success();
  }
  return usageError("--layout requires paged, dense or csr, but got '" +
                    layout.getValue() + "'");
}

void ProblemFlags::overlayInputs(Draft &draft) const {
  GenOptions &gen = draft.gen;
  gen.seqLens.clear();
  if (given(seqLens))
    gen.seqLens.assign(seqLens.begin(), seqLens.end());
  else if (batch > 0)
    gen.seqLens.assign(batch, kvLen);
  gen.sQ = sQ;
  gen.qLens.assign(qLens.begin(), qLens.end());
  take(seed, gen.seed);
  take(qStd, gen.qStd);
}

int64_t ProblemFlags::queriesExpected() const {
  if (given(queries))
    return queries;
  int64_t most = sQ;
  for (int64_t length : qLens)
    most = std::max(most, length);
  return std::max<int64_t>(most, 1);
}

Error ProblemFlags::overlay(Draft &draft) const {
  Spec &spec = draft.spec;
  take(hQ, spec.numHeads);
  take(hKV, spec.numKVHeads);
  take(dQK, spec.headDim);
  take(dRope, spec.ropeDim);
  if (given(dV))
    draft.headDimV = dV;
  take(pageSize, spec.pageSize);
  take(tableRows, spec.tableRows);
  if (given(mask))
    draft.setMask(mask.getValue());
  take(schedule, spec.schedule);
  take(deterministic, spec.rowLocalSplits);
  if (given(queries) || given(sQ) || given(qLens))
    spec.queries = queriesExpected();
  take(score, draft.score);
  take(numSplits, draft.numSplits);
  if (given(scale))
    draft.scale = scale;
  if (given(qLens))
    spec.raggedQ = true;
  for (const std::string &text : maskArgs) {
    auto assignment = parseAssignment("--mask-arg", text);
    if (!assignment)
      return assignment.takeError();
    draft.maskArgs.push_back(*assignment);
  }
  return overlayTypes(spec);
}

Expected<Draft> ProblemFlags::makeDraft(const PublicKernel *kernel,
                                        const TensorSet *tensors) const {
  StringRef name = given(model) ? StringRef(model.getValue()) : "deepseek-v3";
  const ModelPreset *preset = findModel(name);
  if (!preset) {
    std::string names;
    for (const ModelPreset &known : models())
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    return usageError("--model requires one of " + names + ", but got '" +
                      name + "'");
  }
  Draft draft;
  draft.spec.numHeads = preset->numHeads;
  draft.spec.numKVHeads = preset->numKVHeads;
  draft.spec.headDim = preset->headDim;
  draft.headDimV = preset->headDimV;
  draft.gen.ropeTheta = preset->ropeTheta;
  draft.scale = preset->softmaxScale();

  if (tensors) {
    // Nothing is guessed about tensors from elsewhere.
    draft.scale.reset();
    draft.headDimV.reset();
    if (Error error = describeTensors(*tensors, draft))
      return std::move(error);
  }
  if (kernel)
    if (Error error = describeKernel(*kernel, draft))
      return std::move(error);
  if (Error error = overlay(draft))
    return std::move(error);
  if (!draft.headDimV)
    return createStringError(
        "--d-v is required: the tensors have no metadata 'head_dim_v'");
  if (!draft.scale)
    return createStringError(
        "--scale is required: the tensors have no metadata 'softmax_scale'");
  if (!std::isfinite(static_cast<float>(*draft.scale)))
    return createStringError("--scale requires a finite number, but got " +
                             std::to_string(*draft.scale));
  if (StringRef text = draft.spec.schedule;
      given(schedule) && !text.starts_with("#mla.schedule<"))
    return createStringError(
        "--schedule requires '#mla.schedule<...>', but got '" + text + "'");
  draft.spec.headDimV = *draft.headDimV;
  if (!tensors) {
    if (batch < 0 || batch > (1 << 20))
      return createStringError("--batch requires 0 to 1048576, but got " +
                               Twine(batch));
    overlayInputs(draft);
  }
  if (Error error = checkSizes(draft))
    return std::move(error);
  return draft;
}

Error ProblemFlags::explain(Error error) const {
  if (!given(schedule))
    return error;
  return createStringError("--schedule '" + schedule.getValue() +
                           "': " + toString(std::move(error)));
}

Expected<Problem> ProblemFlags::makeSpec() const {
  auto draft = makeDraft(nullptr, nullptr);
  if (!draft)
    return draft.takeError();
  if (auto maskArgs = orderMaskArgs(*draft, /*complete=*/false); !maskArgs)
    return maskArgs.takeError();
  Problem problem;
  problem.spec = std::move(draft->spec);
  auto mod = addScoreMod(draft->score, problem.spec, problem.inputs);
  if (!mod)
    return mod.takeError();
  return problem;
}

Expected<Problem>
ProblemFlags::makeProblem(const PublicKernel *kernel,
                          std::optional<TensorSet> tensors) const {
  auto draft = makeDraft(kernel, tensors ? &*tensors : nullptr);
  if (!draft)
    return draft.takeError();
  Problem problem;
  auto maskArgs = orderMaskArgs(*draft, /*complete=*/!kernel);
  if (!maskArgs)
    return maskArgs.takeError();
  problem.maskParameters = std::move(*maskArgs);
  problem.softmaxScale = *draft->scale;
  problem.numSplits = draft->numSplits;
  bool generated = !tensors;
  if (tensors) {
    problem.inputs = std::move(*tensors);
  } else {
    if (Error error = checkGenerated(*draft))
      return std::move(error);
    draft->gen.softmaxScale = *draft->scale;
    Progress progress("generating inputs");
    auto inputs = generateInputs(draft->spec, draft->gen);
    if (!inputs)
      return inputs.takeError();
    problem.inputs = std::move(*inputs);
  }
  problem.spec = std::move(draft->spec);
  auto mod = addScoreMod(draft->score, problem.spec, problem.inputs);
  if (!mod)
    return mod.takeError();
  problem.score = std::move(*mod);
  if (generated)
    addMetadata(problem, draft->score, problem.inputs.metadata);
  return problem;
}

Error ProblemFlags::checkUnused(bool hasKernel, bool hasTensors) const {
  auto refuse =
      [](std::initializer_list<std::reference_wrapper<const cl::Option>>
             options,
         StringRef why) -> Error {
    for (const cl::Option &option : options)
      if (given(option))
        return usageError("--" + option.ArgStr + " has no effect with " + why);
    return Error::success();
  };
  if (hasKernel)
    if (Error error = refuse({deterministic, schedule},
                             "a file: write it into the file's mla.decode"))
      return error;
  if (hasTensors)
    return refuse({batch, kvLen, seqLens, sQ, qLens, seed, qStd, model},
                  "--tensors: the file's tensors say it");
  return Error::success();
}

} // namespace mla_jit
