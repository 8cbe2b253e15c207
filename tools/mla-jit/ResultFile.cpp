//===- ResultFile.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultFile.h"

#include <cmath>
#include <ctime>

using namespace llvm;

namespace mla_jit {

static std::string now() {
  std::time_t time = std::time(nullptr);
  std::tm parts;
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ",
                gmtime_r(&time, &parts));
  return text;
}

json::Object describeBuild() {
  return json::Object{{"date", now()},
                      {"version", MLA_JIT_VERSION},
                      {"revision", MLA_JIT_REVISION}};
}

json::Object describeRun(PublicEngine &engine) {
  json::Object object = describeBuild();
  object["workers"] = engine.numWorkers();
  if (auto target = engine.target())
    object["target"] = std::string(target->name);
  else
    consumeError(target.takeError());
  if (!engine.machine().onGPU)
    return object;
  auto device = engine.device();
  if (!device) {
    consumeError(device.takeError());
    return object;
  }
  object["device"] = std::string(device->name);
  object["driver"] = std::string(device->driver);
  return object;
}

json::Value finiteOrNull(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

} // namespace mla_jit
