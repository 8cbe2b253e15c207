//===- Compile.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Stages of compilations that are for these alone.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "SpecText.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>

using namespace mla_jit;
using namespace mla_jit::capi;

/// Compiles, tells the engine's log, and hands over the result.
static mla_code
compileStage(Engine &engine, const char *stage, mla_write write, void *user,
             mla_status *status,
             llvm::function_ref<llvm::Expected<std::string>(Stage)> compile) {
  auto parsed = parseStage(stage);
  if (!parsed)
    return report(status, invalid("argument 'stage': {0}",
                                  llvm::toString(parsed.takeError())));
  EngineEvent event;
  auto start = std::chrono::steady_clock::now();
  auto content = compile(*parsed);
  event.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  Failure failure;
  if (content) {
    event.kind = EngineEvent::Kind::Compiled;
    event.message = std::string("compiled to stage ") + stage;
  } else {
    failure = describeFailure(content.takeError());
    event.kind = EngineEvent::Kind::CompileFailed;
    event.message = failure.message;
  }
  if (const auto &log = engine.options().onEvent)
    log(event);
  if (!content)
    return report(status, failure);
  write(user, content->data(), content->size());
  return succeed(status);
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
