//===- Execution.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <chrono>
#include <cstring>

using llvm::createStringError;

namespace mla_jit {

llvm::Expected<Execution>
Execution::create(PublicEngine &engine, const Problem &problem,
                  std::shared_ptr<const PublicKernel> kernel) {
  if (!kernel) {
    auto prepared = engine.prepare(problem.spec);
    if (!prepared)
      return prepared.takeError();
    kernel = std::move(*prepared);
  }
  Execution execution(problem, std::move(kernel));
  if (engine.machine().onGPU)
    if (llvm::Error error = DeviceSession::open(engine.machine().device)
                                .moveInto(execution.session))
      return std::move(error);
  if (llvm::Error error = execution.bind())
    return std::move(error);
  return execution;
}

llvm::Error Execution::bind() {
  for (const TensorSet::Entry &entry : problem->inputs.entries())
    if (arguments.has(entry.name))
      if (llvm::Error error = arguments.set(entry.name, entry.tensor))
        return error;

  std::vector<std::pair<std::string, double>> scalars = problem->maskParameters;
  scalars.insert(scalars.end(), problem->score.scalars.begin(),
                 problem->score.scalars.end());
  scalars.emplace_back("softmax_scale", problem->softmaxScale);
  scalars.emplace_back("num_splits", problem->numSplits);
  for (const auto &[name, value] : scalars)
    if (arguments.has(name))
      if (llvm::Error error = arguments.set(name, value))
        return error;
  for (const auto &[name, value] : problem->scalars)
    if (llvm::Error error = arguments.set(name, value))
      return error;

  // Outputs have q's leading shape.
  Tensor q = problem->inputs.view("q");
  if (!q.given())
    return createStringError("tensor 'q' is missing from the inputs");
  for (const char *name : {"out", "lse"}) {
    const mla_arg_info *argument = kernel->find(name);
    if (!argument)
      continue;
    std::vector<int64_t> shape(q.shape.begin(), q.shape.begin() + q.rank);
    if (argument->rank < q.rank)
      shape.pop_back();
    else if (argument->rank == q.rank)
      shape.back() = argument->shape[argument->rank - 1];
    auto tensor = outputs.add(name, fromPublic(argument->dtype), shape);
    if (!tensor)
      return tensor.takeError();
    if (llvm::Error error = arguments.set(name, *tensor))
      return error;
  }
  if (llvm::Error error = arguments.checkAllSet())
    return error;
  ready = arguments.get();
  if (llvm::Error error =
          kernel->workspaceBytes(ready).moveInto(workspaceBytes))
    return error;
  if (session) {
    refill();
    return llvm::Error::success();
  }
  int64_t words = (workspaceBytes + 3) / 4;
  auto workspace = outputs.add("workspace", DType::F32, {words});
  if (!workspace)
    return workspace.takeError();
  ready.workspace = workspace->data;
  ready.workspace_bytes = workspaceBytes;
  refill();
  return llvm::Error::success();
}

void Execution::refill() {
  for (const TensorSet::Entry &entry : outputs.entries()) {
    auto bytes = outputs.storage(entry.name);
    if (!bytes.empty())
      std::memset(bytes.data(), oracle::kPrefillByte, bytes.size());
  }
}

llvm::Error Execution::copyToDevice() {
  llvm::SmallVector<llvm::MutableArrayRef<uint8_t>> written;
  for (const TensorSet::Entry &entry : outputs.entries())
    written.push_back(outputs.storage(entry.name));
  auto made = DeviceLaunch::create(session, kernel, arguments, written);
  if (!made)
    return made.takeError();
  onDevice.emplace(std::move(*made));
  return llvm::Error::success();
}

llvm::Error Execution::launch() {
  if (!session)
    return kernel->launch(ready);
  if (llvm::Error error = copyToDevice())
    return error;
  if (llvm::Error error = onDevice->launch())
    return error;
  return onDevice->finish();
}

llvm::Expected<double> Execution::timeLaunch() {
  if (session) {
    if (!onDevice)
      if (llvm::Error error = copyToDevice())
        return std::move(error);
    return onDevice->timeLaunch();
  }
  auto start = std::chrono::steady_clock::now();
  if (llvm::Error error = launch())
    return std::move(error);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

llvm::Expected<oracle::Problem> oracleProblem(const Problem &problem) {
  const TensorSet &in = problem.inputs;
  oracle::Problem result;
  result.q = in.view("q");
  result.qRope = in.view("q_rope");
  result.k = in.view("k");
  result.kRope = in.view("k_rope");
  result.table = in.view("table");
  result.kvIndptr = in.view("kv_indptr");
  result.kvIndices = in.view("kv_indices");
  result.tableRows = in.view("table_rows");
  result.seqLens = in.view("seq_lens");
  result.qOffsets = in.view("q_offsets");
  // The kernel takes the scale as f32.
  result.scale = static_cast<float>(problem.softmaxScale);
  result.headDimV = problem.spec.headDimV;
  std::vector<int64_t> parameters;
  for (const auto &[name, value] : problem.maskParameters)
    parameters.push_back(static_cast<int64_t>(value));
  auto mask = oracle::makeMask(problem.spec.mask, parameters);
  if (!mask)
    return createStringError("the oracle knows no mask '" + problem.spec.mask +
                             "' with " + std::to_string(parameters.size()) +
                             " parameters");
  result.mask = *mask;
  result.scoreMod = problem.score.reference;
  return result;
}

oracle::Tolerance Execution::tolerance() const {
  const Spec &spec = problem->spec;
  return onTensorCores()
             ? oracle::tensorCoreTolerance(spec.outDType, spec.kvDType)
             : oracle::toleranceFor(spec.outDType);
}

llvm::Expected<oracle::Comparison> Execution::compare() const {
  auto reference = oracleProblem(*problem);
  if (!reference)
    return reference.takeError();
  reference->wantsMagnitudes = onTensorCores();
  oracle::Result expected = oracle::evaluate(*reference);
  if (!expected.error.empty())
    return createStringError(expected.error);
  return oracle::compare(expected, outputs.view("out"), outputs.view("lse"),
                         tolerance());
}

} // namespace mla_jit
