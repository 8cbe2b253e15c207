//===- EngineCompile.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Compilations whose result is not kept: stages for their own sake, and kernels
// of MLIR text.
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "CudaKernel.h"
#include "EngineState.h"
#include "Failure.h"
#include "HostKernel.h"

using llvm::createStringError;

namespace mla_jit {

static llvm::Error checkStage(TargetKind target, Stage stage) {
  bool ofHost = stage == Stage::Host || stage == Stage::Assembly ||
                stage == Stage::Object;
  bool ofGPU = stage == Stage::GPU || stage == Stage::NVVM ||
               stage == Stage::PTX || stage == Stage::Cubin ||
               stage == Stage::Report;
  if (target == TargetKind::Host ? !ofGPU : !ofHost)
    return llvm::Error::success();
  return createStringError(
      "stage '" + std::string(toString(stage)) + "' requires the target " +
      (ofGPU ? "cuda, but got host" : "host, but got cuda"));
}

static bool assembles(Stage stage) {
  return stage == Stage::Cubin || stage == Stage::Report;
}

llvm::Expected<std::string>
Engine::State::compile(llvm::Expected<CompileRequest> request, Stage stage,
                       KeysFor keysFor) {
  if (!request)
    return request.takeError();
  if (llvm::Error error = checkStage(options.target, stage))
    return std::move(error);
  ContextPtr device;
  AssemblerChoice assembler;
  if (assembles(stage)) {
    // A device of that chip is welcome where there is no ptxas.
    if (llvm::Error error =
            chooseAssembler(/*context=*/nullptr, options).moveInto(assembler))
      return std::move(error);
    if (!assembler.ptxas && (device = deviceIfAny()))
      if (llvm::Error error =
              chooseAssembler(device.get(), options).moveInto(assembler))
        return std::move(error);
    request->supportedPTX = assembler.ptxVersion;
  }
  auto keys = keysFor(device.get());
  if (!keys)
    return keys.takeError();
  std::string name(toString(stage)), content;
  auto make = [&]() -> llvm::Expected<std::string> {
    if (llvm::Error error =
            makeStage(*request, stage, assembler, device).moveInto(content))
      return std::move(error);
    return "compiled to stage '" + name + "', which is not kept";
  };
  // Text is to look at; machine code could as well be run.
  bool isMachineCode = assembles(stage) || stage == Stage::Object;
  llvm::Error error =
      isMachineCode
          ? store.watch(*keys, {.message = "which stage '" + name + "' takes"},
                        make)
          : store.tellFailure(*keys, make);
  if (error)
    return std::move(error);
  return content;
}

llvm::Expected<std::string>
Engine::State::makeStage(const CompileRequest &request, Stage stage,
                         const AssemblerChoice &assembler,
                         const ContextPtr &device) {
  auto result =
      mla_jit::compile(request, assembles(stage) ? Stage::PTX : stage);
  if (!result)
    return result.takeError();
  if (!assembles(stage))
    return std::move(result->text);
  auto report = assemble(result->text, *result->info, stage == Stage::Cubin,
                         assembler, device, options);
  if (!report)
    return report.takeError();
  if (stage == Stage::Cubin)
    return std::move(report->cubin);
  return describeCode(*report, *result->info);
}

llvm::Expected<std::unique_ptr<KernelState>>
Engine::State::load(llvm::Expected<CompileRequest> request) {
  if (!request)
    return request.takeError();
  ContextPtr device;
  if (!isHost()) {
    if (llvm::Error error = openDeviceOfChip().moveInto(device))
      return std::move(error);
    if (llvm::Error error = checkAssembler(device, /*ptxas=*/""))
      return std::move(error);
    request->supportedPTX = device->driver().ptxVersion();
  }
  auto keys = keysOfText(request->mlir, device.get());
  if (!keys)
    return keys.takeError();
  auto share = threadsForKernel();
  request->entryThreads = share.threads();
  CompileResult compiled;
  auto make = [&]() -> llvm::Expected<std::string> {
    if (llvm::Error error =
            mla_jit::compile(*request, isHost() ? Stage::Object : Stage::PTX)
                .moveInto(compiled))
      return std::move(error);
    return "compiled a kernel of MLIR text: " + describeTimes(compiled.times);
  };
  if (llvm::Error error = store.watch(
          *keys, {.message = "which kernels of MLIR text always take"}, make))
    return std::move(error);
  if (isHost())
    return loadHostKernel(compiled, pool);
  return loadCudaKernel(compiled, device, options.numWorkers, share.threads(),
                        launchGraphs);
}

llvm::Expected<std::string> Engine::compile(const Spec &spec, Stage stage) {
  return state->compile(state->request(spec), stage, [&](const auto *device) {
    return state->makeKeys(spec, device);
  });
}

llvm::Expected<std::string>
Engine::compile(const std::string &mlir, const std::string &name, Stage stage) {
  return state->compile(
      state->request(mlir, name), stage,
      [&](const auto *device) { return state->keysOfText(mlir, device); });
}

llvm::Expected<std::shared_ptr<Kernel>>
Engine::prepare(const std::string &mlir, const std::string &name) {
  auto kernel = state->load(state->request(mlir, name));
  if (!kernel)
    return kernel.takeError();
  return std::shared_ptr<Kernel>(new Kernel(std::move(*kernel)));
}

} // namespace mla_jit
