//===- Prepare.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Kernels of specs: prepared, or looked up.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "ReadSpec.h"

using namespace mla_jit;
using namespace mla_jit::capi;

/// Of a kernel's schedule, for makeHandle.
static const char *giverOf(const mla_spec &spec) {
  return spec.schedule ? "the spec" : nullptr;
}

using Obtain =
    llvm::Expected<std::shared_ptr<Kernel>> (Engine::*)(const Spec &);

static mla_code obtain(mla_engine *engine, const mla_spec *spec,
                       mla_kernel **kernel, mla_status *status,
                       Obtain function) {
  if (llvm::Error error = require(kernel, "kernel"))
    return report(status, std::move(error));
  *kernel = nullptr;
  auto read = readSpec(engine, spec);
  if (!read)
    return report(status, read.takeError());
  auto found = (engine->engine.*function)(read->spec);
  if (!found)
    return report(status, found.takeError());
  *kernel = makeHandle(*engine, std::move(*found), giverOf(read->given));
  return succeed(status);
}

mla_code mla_prepare(mla_engine *engine, const mla_spec *spec,
                     mla_kernel **kernel, mla_status *status) try {
  return obtain(engine, spec, kernel, status, &Engine::prepare);
} catch (...) {
  return reportException(status);
}

mla_code mla_lookup(mla_engine *engine, const mla_spec *spec,
                    mla_kernel **kernel, mla_status *status) try {
  return obtain(engine, spec, kernel, status, &Engine::lookUp);
} catch (...) {
  return reportException(status);
}

mla_code mla_prepare_many(mla_engine *engine, const mla_spec *specs,
                          int32_t count, mla_kernel **kernels,
                          int (*progress)(void *, int32_t, int32_t), void *user,
                          mla_status *status) try {
  if (count > 0)
    if (llvm::Error error = require(kernels, "kernels"))
      return report(status, std::move(error));
  for (int32_t i = 0; i < count; ++i)
    kernels[i] = nullptr;
  auto read = readSpecs(engine, specs, count);
  if (!read)
    return report(status, read.takeError());
  auto made = engine->engine.prepareMany(specsOf(*read), [&](size_t done) {
    return !progress || progress(user, static_cast<int32_t>(done), count) == 0;
  });
  llvm::Error first = llvm::Error::success();
  for (int32_t i = 0; i < count; ++i) {
    if (made[i])
      kernels[i] =
          makeHandle(*engine, std::move(*made[i]), giverOf((*read)[i].given));
    else if (first)
      llvm::consumeError(made[i].takeError());
    else
      first = made[i].takeError();
  }
  return report(status, std::move(first));
} catch (...) {
  return reportException(status);
}
