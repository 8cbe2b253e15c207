//===- Flags.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

using namespace llvm;

namespace mla_jit {

Expected<int> DeviceFlag::number() const {
  int64_t asked = getValue();
  if (asked >= 0 && asked <= 1023)
    return static_cast<int>(asked);
  return createStringError("--device requires 0 to 1023, but got " +
                           Twine(asked));
}

Expected<Machine> EngineFlags::options() const {
  if (workers < 0 || workers > 1024)
    return createStringError("--workers requires 0 to 1024, but got " +
                             Twine(workers));
  Machine options;
  options.cpu = hostCPU;
  options.workers = static_cast<int>(workers);
  options.chip = chip;
  StringRef name = target;
  if (name == "cuda") {
    options.onGPU = true;
  } else if (name.starts_with("sm_")) {
    if (!options.chip.empty() && options.chip != name)
      return usageError("--chip requires that of --target, " + name +
                        ", but got '" + chip + "'");
    options.onGPU = true;
    options.chip = name;
  } else if (name != "host") {
    return usageError(
        "--target requires host, cuda or a chip as sm_90a, but got '" + name +
        "'");
  }
  for (const cl::Option *option : {static_cast<const cl::Option *>(&device),
                                   static_cast<const cl::Option *>(&chip)})
    if (!options.onGPU && option->getNumOccurrences())
      return usageError("--" + option->ArgStr +
                        " requires --target cuda, but got host");
  if (options.onGPU && hostCPU.getNumOccurrences())
    return usageError("--host-cpu requires --target host, but got '" + name +
                      "'");
  if (Error error = device.number().moveInto(options.device))
    return std::move(error);
  return options;
}

Expected<std::unique_ptr<PublicEngine>> EngineFlags::makeEngine() const {
  auto asked = options();
  if (!asked)
    return asked.takeError();
  auto engine = PublicEngine::create(*asked);
  if (!engine)
    return engine.takeError();
  if (auto known = (*engine)->target(); !known)
    return explain(known.takeError());
  return engine;
}

Error EngineFlags::explain(Error error) const {
  std::string message = toString(std::move(error));
  StringRef reason = message;
  if (reason.consume_front("option 'target'"))
    return createStringError((target == "host" ? "--host-cpu" : "--chip") +
                             reason);
  if (reason.starts_with("stage 'device'"))
    return createStringError("--target " + Twine(target) + ": " + reason);
  return createStringError(message);
}

} // namespace mla_jit
