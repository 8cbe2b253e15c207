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

Expected<EngineOptions> EngineFlags::options() const {
  if (workers < 0 || workers > 1024)
    return createStringError("--workers requires 0 to 1024, but got " +
                             Twine(workers));
  EngineOptions options;
  options.cpu = hostCPU;
  options.numWorkers = static_cast<int>(workers);
  options.chip = chip;
  StringRef name = target;
  if (name == "cuda") {
    options.target = TargetKind::CUDA;
  } else if (name.starts_with("sm_")) {
    if (!options.chip.empty() && options.chip != name)
      return usageError("--chip requires that of --target, " + name +
                        ", but got '" + chip + "'");
    options.target = TargetKind::CUDA;
    options.chip = name;
  } else if (name != "host") {
    return usageError(
        "--target requires host, cuda or a chip as sm_90a, but got '" + name +
        "'");
  }
  bool isHost = options.target == TargetKind::Host;
  for (const cl::Option *option : {static_cast<const cl::Option *>(&device),
                                   static_cast<const cl::Option *>(&chip)})
    if (isHost && option->getNumOccurrences())
      return usageError("--" + option->ArgStr +
                        " requires --target cuda, but got host");
  if (!isHost && hostCPU.getNumOccurrences())
    return usageError("--host-cpu requires --target host, but got '" + name +
                      "'");
  if (device < 0 || device > 1023)
    return createStringError("--device requires 0 to 1023, but got " +
                             Twine(device));
  options.device = static_cast<int>(device);
  return options;
}

Expected<std::unique_ptr<Engine>> EngineFlags::makeEngine() const {
  auto asked = options();
  if (!asked)
    return asked.takeError();
  auto engine = std::make_unique<Engine>(*asked);
  if (auto known = engine->target(); !known)
    return explain(known.takeError());
  return engine;
}

Error EngineFlags::explain(Error error) const {
  std::string message = toString(std::move(error));
  StringRef reason = message;
  if (reason.consume_front("option 'cpu' "))
    return createStringError("--host-cpu " + reason);
  if (reason.consume_front("option 'chip': "))
    return createStringError("--chip: " + reason);
  if (reason.starts_with("stage 'device'"))
    return createStringError("--target " + Twine(target) + ": " + reason);
  return createStringError(message);
}

} // namespace mla_jit
