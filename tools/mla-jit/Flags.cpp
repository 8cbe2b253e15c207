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

Expected<std::unique_ptr<Engine>> EngineFlags::makeEngine() const {
  if (workers < 0 || workers > 1024)
    return createStringError("--workers requires 0 to 1024, but got " +
                             Twine(workers));
  auto engine = std::make_unique<Engine>(
      EngineOptions{hostCPU, static_cast<int>(workers)});
  if (auto target = engine->target(); !target) {
    std::string message = toString(target.takeError());
    StringRef reason = message;
    reason.consume_front("option 'cpu' ");
    return createStringError("--host-cpu " + reason);
  }
  return engine;
}

} // namespace mla_jit
