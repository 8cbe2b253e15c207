//===- Engine.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "Assemble.h"
#include "CudaKernel.h"
#include "EngineState.h"
#include "Failure.h"
#include "HostKernel.h"
#include "Processors.h"

using llvm::createStringError;

namespace mla_jit {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static constexpr std::pair<Stage, std::string_view> kStages[] = {
    {Stage::Problem, "problem"}, {Stage::Tile, "tile"},
    {Stage::Host, "host"},       {Stage::GPU, "gpu"},
    {Stage::NVVM, "nvvm"},       {Stage::LLVM, "llvm"},
    {Stage::Assembly, "asm"},    {Stage::Object, "obj"},
    {Stage::PTX, "ptx"},         {Stage::Cubin, "cubin"},
    {Stage::Report, "report"}};

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
      "stage requires problem, tile, host, llvm, asm or obj of the host, or "
      "problem, tile, gpu, nvvm, llvm, ptx, cubin or report of a GPU, but got "
      "'" +
      std::string(text) + "'");
}

//===----------------------------------------------------------------------===//
// Engine
//===----------------------------------------------------------------------===//

Engine::State::State(EngineOptions given)
    : options(std::move(given)),
      store(options.cache, options.policy, options.onEvent) {
  if (!isHost())
    return;
  pool = std::make_shared<WorkerPool>(
      options.numWorkers > 0 ? options.numWorkers : usableProcessors());
}

llvm::Expected<ContextPtr> Engine::State::openDevice() {
  std::lock_guard lock(mutex);
  if (context)
    return context;
  if (isHost())
    return createStringError("a device requires the target cuda, but the "
                             "engine's is host");
  auto driver = cuda::Driver::get();
  if (!driver)
    return driver.takeError();
  auto device = cuda::Device::open(*driver, options.device);
  if (!device)
    return device.takeError();
  auto retained = cuda::Context::retain(*driver, *device);
  if (!retained)
    return retained.takeError();
  context = std::move(*retained);
  return context;
}

llvm::Expected<ContextPtr> Engine::State::openDeviceOfChip() {
  auto opened = openDevice();
  if (!opened)
    return cuda::inStage("device", opened.takeError());
  const cuda::Device &device = (*opened)->device();
  if (options.chip.empty() || options.chip == device.chip) {
    usable = opened->get();
    return opened;
  }
  return toError(
      {.kind = FailureKind::Unsupported,
       .message = "stage 'device': option 'target' requires that of device " +
                  std::to_string(device.ordinal) + " to run code, which is " +
                  device.chip + " (" + device.name + "), but got " +
                  options.chip + ": it can be compiled, not run",
       .argument = "target"});
}

llvm::Expected<std::string> Engine::State::chip() {
  if (!options.chip.empty())
    return options.chip;
  auto opened = openDevice();
  if (!opened)
    return cuda::inStage("device", opened.takeError());
  return (*opened)->device().chip;
}

llvm::Expected<TargetInfo> Engine::State::hostTarget() {
  std::lock_guard lock(mutex);
  if (!host) {
    auto described = describeTarget(options.cpu);
    if (!described)
      return described;
    host = std::move(*described);
  }
  return *host;
}

llvm::Expected<CompileRequest> Engine::State::request(std::string mlir,
                                                      std::string name) {
  CompileRequest request;
  request.mlir = std::move(mlir);
  request.name = std::move(name);
  request.cpu = options.cpu;
  request.timeLimit = options.timeLimit;
  if (isHost())
    return request;
  auto asked = chip();
  if (!asked)
    return asked.takeError();
  request.chip = std::move(*asked);
  return request;
}
llvm::Expected<CompileRequest> Engine::State::request(const Spec &spec) {
  auto text = buildProblemText(spec);
  if (!text)
    return text.takeError();
  auto made = request(std::move(*text), "spec");
  if (!made)
    return made.takeError();
  if (llvm::Error error =
          isHost() ? hostTarget().takeError() : checkChip(made->chip))
    return std::move(error);
  made->rowLocalSplits = spec.rowLocalSplits;
  made->queries = spec.queries;
  made->alignedStrides = spec.alignedStrides;
  made->sharedPlan = spec.sharedPlan;
  // Costs as much as some stages, and tests do it for all dataflows.
  made->verifyProtocol = false;
  return made;
}

ContextPtr Engine::State::deviceIfAny() {
  if (isHost())
    return nullptr;
  auto opened = openDeviceOfChip();
  if (opened)
    return *opened;
  llvm::consumeError(opened.takeError());
  return nullptr;
}

llvm::Error Engine::State::checkDevice() {
  if (isHost())
    return llvm::Error::success();
  if (const cuda::Context *device = usable)
    return device->driver().checkProcess("prepare");
  auto opened = openDeviceOfChip();
  return opened ? (*opened)->driver().checkProcess("prepare")
                : opened.takeError();
}

size_t Engine::State::compileThreads() const {
  return options.compileThreads > 0 ? options.compileThreads
                                    : usableProcessors();
}

ThreadBudget::Share Engine::State::threadsForKernel() {
  constexpr size_t kMostEntries = 4;
  return budget.take(compileThreads(), kMostEntries);
}

Engine::Engine(EngineOptions options)
    : state(std::make_unique<State>(std::move(options))) {}

Engine::~Engine() = default;

const EngineOptions &Engine::options() const { return state->options; }

int Engine::numWorkers() const {
  if (state->isHost())
    return state->pool->size();
  if (!state->options.chip.empty())
    return state->options.numWorkers;
  auto opened = state->openDevice();
  if (opened)
    return usedSMs((*opened)->device(), state->options.numWorkers);
  llvm::consumeError(opened.takeError());
  return 0;
}

llvm::Expected<TargetInfo> Engine::target() const {
  if (state->isHost())
    return state->hostTarget();
  auto chip = state->chip();
  if (!chip)
    return chip.takeError();
  auto known = mlir::mla::findGPUChip(*chip);
  if (!known)
    return invalid(ofOption("target"), known.takeError());
  return TargetInfo{std::move(*chip), "", 0, 0, 0, 0};
}

llvm::Expected<DeviceInfo> Engine::device() const {
  auto opened = state->openDevice();
  if (!opened)
    return opened.takeError();
  const cuda::Device &device = (*opened)->device();
  return DeviceInfo{
      device.name,
      device.chip,
      "CUDA " + cuda::versionText((*opened)->driver().version()),
      device.numSMs,
      device.sharedBytesPerBlock,
      device.l2Bytes,
      device.memoryBytes,
      mlir::mla::isVerifiedAssembler(nameDriversAssembler((*opened)->driver()),
                                     device.chip)};
}

} // namespace mla_jit
