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

using namespace mla_jit;
using namespace mla_jit::capi;

/// Compiles and hands over the result.
static mla_code
compileStage(const char *stage, mla_write write, void *user, mla_status *status,
             llvm::function_ref<llvm::Expected<std::string>(Stage)> compile) {
  auto parsed = parseStage(stage);
  if (!parsed)
    return report(status, invalid(ofArgument("stage"), parsed.takeError()));
  auto content = compile(*parsed);
  if (!content)
    return report(status, content.takeError());
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
  return compileStage(stage, write, user, status, [&](Stage to) {
    return engine->engine.compile(*converted, to);
  });
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
  return compileStage(stage, write, user, status, [&](Stage to) {
    return engine->engine.compile(mlir, name, to);
  });
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
  auto made = engine->engine.prepare(mlir, name);
  if (!made)
    return report(status, made.takeError());
  *kernel = makeHandle(*engine, std::move(*made), "the MLIR text");
  return succeed(status);
} catch (...) {
  return reportException(status);
}
