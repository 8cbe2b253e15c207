//===- Engine.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla_jit/Engine.h"
#include "Compiler.h"
#include "KernelState.h"

using llvm::createStringError;

namespace mla_jit {

static constexpr std::pair<Stage, std::string_view> kStages[] = {
    {Stage::Problem, "problem"}, {Stage::Tile, "tile"},
    {Stage::Host, "host"},       {Stage::LLVM, "llvm"},
    {Stage::Assembly, "asm"},    {Stage::Object, "obj"}};

std::string_view toString(Stage stage) {
  for (auto [s, name] : kStages)
    if (s == stage)
      return name;
  return "unknown";
}

llvm::Expected<Stage> parseStage(std::string_view text) {
  for (auto [stage, name] : kStages)
    if (name == text)
      return stage;
  return createStringError(
      "stage requires problem, tile, host, llvm, asm or obj, but got '" +
      std::string(text) + "'");
}

struct Engine::State {
  std::string cpu;
  std::shared_ptr<WorkerPool> pool;
};

Engine::Engine(EngineOptions options) : state(std::make_unique<State>()) {
  int workers = options.numWorkers > 0
                    ? options.numWorkers
                    : static_cast<int>(std::thread::hardware_concurrency());
  state->cpu = options.cpu;
  state->pool = std::make_shared<WorkerPool>(std::max(workers, 1));
}

Engine::~Engine() = default;

int Engine::numWorkers() const { return state->pool->size(); }

llvm::Expected<TargetInfo> Engine::target() const {
  return describeTarget(state->cpu);
}

static llvm::Expected<CompileRequest> requestFor(const Spec &spec,
                                                 const std::string &cpu) {
  auto text = buildProblemText(spec);
  if (!text)
    return text.takeError();
  return CompileRequest{std::move(*text), "spec", cpu, spec.rowLocalSplits};
}

llvm::Expected<std::string> Engine::compile(const Spec &spec, Stage stage) {
  auto request = requestFor(spec, state->cpu);
  if (!request)
    return request.takeError();
  auto result = mla_jit::compile(*request, stage);
  if (!result)
    return result.takeError();
  return std::move(result->text);
}

llvm::Expected<std::string>
Engine::compile(const std::string &mlir, const std::string &name, Stage stage) {
  auto result = mla_jit::compile({mlir, name, state->cpu}, stage);
  if (!result)
    return result.takeError();
  return std::move(result->text);
}

llvm::Error Engine::isSupported(const Spec &spec) {
  auto text = compile(spec, Stage::Host);
  return text ? llvm::Error::success() : text.takeError();
}

static llvm::Expected<std::unique_ptr<KernelState>>
build(const CompileRequest &request, std::shared_ptr<WorkerPool> pool) {
  auto compiled = mla_jit::compile(request, Stage::Object);
  if (!compiled)
    return compiled.takeError();
  return loadKernel(std::move(*compiled), std::move(pool));
}

llvm::Expected<std::shared_ptr<Kernel>> Engine::prepare(const Spec &spec) {
  auto request = requestFor(spec, state->cpu);
  if (!request)
    return request.takeError();
  auto kernel = build(*request, state->pool);
  if (!kernel)
    return kernel.takeError();
  return std::shared_ptr<Kernel>(new Kernel(std::move(*kernel)));
}

llvm::Expected<std::shared_ptr<Kernel>>
Engine::prepare(const std::string &mlir, const std::string &name) {
  auto kernel = build({mlir, name, state->cpu}, state->pool);
  if (!kernel)
    return kernel.takeError();
  return std::shared_ptr<Kernel>(new Kernel(std::move(*kernel)));
}

} // namespace mla_jit
