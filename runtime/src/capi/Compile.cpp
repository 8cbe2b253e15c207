//===- Compile.cpp --------------------------------------------------------===//
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

#include "Handles.h"
#include "SpecText.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>

using namespace mla_jit;
using namespace mla_jit::capi;

/// Does what compiles, and tells the engine's log of it.
static mla_code tellCompilation(const Engine &engine,
                                const std::string &success, mla_status *status,
                                llvm::function_ref<llvm::Error()> compile) {
  EngineEvent event;
  auto start = std::chrono::steady_clock::now();
  llvm::Error error = compile();
  event.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  Failure failure;
  bool isWrong = bool(error);
  if (isWrong)
    failure = describeFailure(std::move(error));
  event.kind = !isWrong ? EngineEvent::Kind::Compiled
               : failure.kind == FailureKind::Forbidden
                   ? EngineEvent::Kind::Forbidden
                   : EngineEvent::Kind::CompileFailed;
  event.message = isWrong ? failure.message : success;
  if (const auto &log = engine.options().onEvent)
    log(event);
  return isWrong ? report(status, failure) : succeed(status);
}

/// Compiles and hands over the result.
static mla_code
compileStage(const Engine &engine, const char *stage, mla_write write,
             void *user, mla_status *status,
             llvm::function_ref<llvm::Expected<std::string>(Stage)> compile) {
  auto parsed = parseStage(stage);
  if (!parsed)
    return report(status, invalid(ofArgument("stage"), parsed.takeError()));
  std::string content;
  mla_code code =
      tellCompilation(engine, std::string("compiled to stage ") + stage, status,
                      [&] { return compile(*parsed).moveInto(content); });
  if (code == MLA_OK)
    write(user, content.data(), content.size());
  return code;
}

static llvm::Error requireAll(mla_engine *engine, const char *stage,
                              mla_write write) {
  if (llvm::Error error = require(engine, "engine"))
    return error;
  if (llvm::Error error = require(stage, "stage"))
    return error;
  return require(reinterpret_cast<const void *>(write), "write");
}

mla_code mla_compile(mla_engine *engine, const mla_spec *spec,
                     const char *stage, mla_write write, void *user,
                     mla_status *status) try {
  if (llvm::Error error = requireAll(engine, stage, write))
    return report(status, std::move(error));
  auto given = readStruct(spec, "spec");
  if (!given)
    return report(status, given.takeError());
  auto converted = toSpec(*given, engine->shared->target);
  if (!converted)
    return report(status, converted.takeError());
  return compileStage(
      engine->engine, stage, write, user, status,
      [&](Stage to) { return engine->engine.compile(*converted, to); });
} catch (...) {
  return reportException(status);
}

mla_code mla_compile_mlir(mla_engine *engine, const char *mlir,
                          const char *name, const char *stage, mla_write write,
                          void *user, mla_status *status) try {
  if (llvm::Error error = requireAll(engine, stage, write))
    return report(status, std::move(error));
  for (auto [argument, what] : {std::pair{mlir, "mlir"}, {name, "name"}})
    if (llvm::Error error = require(argument, what))
      return report(status, std::move(error));
  return compileStage(
      engine->engine, stage, write, user, status,
      [&](Stage to) { return engine->engine.compile(mlir, name, to); });
} catch (...) {
  return reportException(status);
}

mla_code mla_prepare_mlir(mla_engine *engine, const char *mlir,
                          const char *name, mla_kernel **kernel,
                          mla_status *status) try {
  if (llvm::Error error = require(kernel, "kernel"))
    return report(status, std::move(error));
  *kernel = nullptr;
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  for (auto [argument, what] : {std::pair{mlir, "mlir"}, {name, "name"}})
    if (llvm::Error error = require(argument, what))
      return report(status, std::move(error));
  std::shared_ptr<Kernel> made;
  mla_code code = tellCompilation(
      engine->engine, "compiled a kernel of MLIR text", status,
      [&] { return engine->engine.prepare(mlir, name).moveInto(made); });
  if (code == MLA_OK)
    *kernel = makeHandle(*engine, std::move(made), "the MLIR text");
  return code;
} catch (...) {
  return reportException(status);
}
