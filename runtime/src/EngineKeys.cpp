//===- EngineKeys.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the kernel of a spec is found by.
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "EngineState.h"
#include "SpecFields.h"
#include "cache/Key.h"

using llvm::createStringError;

namespace mla_jit {

Spec Engine::State::normalised(const Spec &spec) const {
  Spec what = spec;
  if (isHost()) { // a GPU's schedule alone asks for these
    what.queries = 1;
    what.alignedStrides = true;
  }
  return what;
}

llvm::Expected<bool> Engine::State::addTarget(cache::KeyBuilder &local,
                                              cache::KeyBuilder &archive) {
  auto both = [&](std::string_view name, std::string_view value) {
    local.add(name, value);
    archive.add(name, value);
  };
  if (isHost()) {
    auto target = hostTarget();
    if (!target)
      return target.takeError();
    both("target", "host");
    both("cpu", target->cpu);
    both("cpu-features", "[" + target->features + "]");
    for (auto [name, value] : {std::pair{"vector-bits", target->vectorBits},
                               {"vector-registers", target->vectorRegisters},
                               {"l1-bytes", target->l1Bytes},
                               {"l2-bytes", target->l2Bytes}})
      both(name, std::to_string(value));
    return true;
  }
  auto compiledFor = chip();
  if (!compiledFor)
    return compiledFor.takeError();
  ContextPtr device = deviceIfAny();
  AssemblerChoice assembler = chooseAssembler(device.get());
  both("target", "cuda");
  both("chip", *compiledFor);
  local.add("assembler", assembler.name);
  local.add("ptx", std::to_string(assembler.ptxVersion));
  return device != nullptr;
}

llvm::Expected<std::shared_ptr<const KernelKeys>>
Engine::State::keysOf(const Spec &spec) {
  std::string fingerprint = specFingerprint(spec);
  {
    std::shared_lock lock(knownMutex.stripe(cache::thisStripe()));
    if (auto known = knownKeys.find(fingerprint); known != knownKeys.end())
      return known->second;
  }
  cache::KeyBuilder local, archive;
  for (cache::KeyBuilder *key : {&local, &archive}) {
    key->add("spec", specText(normalised(spec)));
    key->add("pipeline", isHost() ? "problem-to-object" : "problem-to-ptx");
    key->add("schedule", spec.schedule.empty() ? "automatic" : spec.schedule);
    key->add("build", store.buildId());
  }
  auto settled = addTarget(local, archive);
  if (!settled)
    return settled.takeError();
  auto localKey = local.build(), archiveKey = archive.build();
  for (auto *key : {&localKey, &archiveKey})
    if (!*key)
      return createStringError(key->error().message);
  if (localKey->text() == archiveKey->text())
    archiveKey = *localKey; // one text
  auto keys =
      std::make_shared<const KernelKeys>(KernelKeys{*localKey, *archiveKey});
  if (*settled) {
    std::lock_guard lock(knownMutex);
    if (knownKeys.size() >= mostKnown())
      knownKeys.clear();
    knownKeys.insert_or_assign(std::move(fingerprint), keys);
  }
  return keys;
}

} // namespace mla_jit
