//===- ReadSpec.cpp -------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadSpec.h"
#include "Handles.h"
#include "SpecText.h"

namespace mla_jit::capi {

llvm::Expected<ReadSpec> readSpec(const mla_engine *engine,
                                  const mla_spec *spec) {
  if (llvm::Error error = require(engine, "engine"))
    return std::move(error);
  auto given = readStruct(spec, "spec");
  if (!given)
    return given.takeError();
  auto converted = toSpec(*given, engine->shared->target);
  if (!converted)
    return converted.takeError();
  return ReadSpec{*given, std::move(*converted)};
}

llvm::Expected<std::vector<ReadSpec>>
readSpecs(const mla_engine *engine, const mla_spec *specs, int32_t count) {
  if (llvm::Error error = require(engine, "engine"))
    return std::move(error);
  if (llvm::Error error = requireCounts({{"count", count}}))
    return std::move(error);
  std::vector<ReadSpec> read;
  for (int32_t i = 0; i < count; ++i) {
    if (llvm::Error error = require(specs, "specs"))
      return std::move(error);
    const char *place =
        reinterpret_cast<const char *>(specs) + size_t(i) * specs->size;
    auto spec = readSpec(engine, reinterpret_cast<const mla_spec *>(place));
    if (!spec) {
      Failure failure = describeFailure(spec.takeError());
      failure.message = llvm::formatv("spec {0}: {1}", i, failure.message);
      return llvm::make_error<FailureError>(std::move(failure));
    }
    read.push_back(std::move(*spec));
  }
  return read;
}

std::vector<Spec> specsOf(llvm::ArrayRef<ReadSpec> read) {
  std::vector<Spec> specs;
  for (const ReadSpec &one : read)
    specs.push_back(one.spec);
  return specs;
}

} // namespace mla_jit::capi
