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
  if (isHost() || !spec.schedule.empty() || spec.operation == Operation::Merge)
    what.queries = 1; // what a GPU's schedule is chosen for
  if (isHost())
    what.alignedStrides = true;
  return what;
}

llvm::Expected<Spec> Engine::State::canonical(const Spec &spec) {
  Spec what = normalised(spec);
  if (what.queries <= 1)
    return what;
  auto compiledFor = chip();
  if (!compiledFor)
    return compiledFor.takeError();
  if (llvm::Error error =
          fewestQueriesAlike(what, *compiledFor).moveInto(what.queries))
    return std::move(error);
  return what;
}

llvm::Error Engine::State::addTarget(cache::KeyBuilder &local,
                                     cache::KeyBuilder &archive,
                                     const cuda::Context *device) {
  auto both = [&](std::string_view name, std::string_view value) {
    local.add(name, value);
    archive.add(name, value);
  };
  both("pipeline", isHost() ? "problem-to-object" : "problem-to-ptx");
  both("build", store.buildId());
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
    return llvm::Error::success();
  }
  auto compiledFor = chip();
  if (!compiledFor)
    return compiledFor.takeError();
  auto assembler = chooseAssembler(device, options);
  if (!assembler)
    return assembler.takeError();
  both("target", "cuda");
  both("chip", *compiledFor);
  local.add("assembler", assembler->name);
  local.add("ptx", std::to_string(assembler->ptxVersion));
  return llvm::Error::success();
}

llvm::Expected<KernelKeys>
Engine::State::buildKeys(cache::KeyBuilder local, cache::KeyBuilder archive,
                         const cuda::Context *device) {
  if (llvm::Error error = addTarget(local, archive, device))
    return std::move(error);
  auto localKey = local.build(), archiveKey = archive.build();
  for (auto *key : {&localKey, &archiveKey})
    if (!*key)
      return createStringError(key->error().message);
  if (localKey->text() == archiveKey->text())
    archiveKey = *localKey; // one text
  return KernelKeys{*localKey, *archiveKey, ""};
}

llvm::Expected<KernelKeys>
Engine::State::makeKeys(const Spec &spec, const cuda::Context *device) {
  auto what = canonical(spec);
  if (!what)
    return what.takeError();
  cache::KeyBuilder fields;
  fields.add("spec", specText(*what));
  fields.add("schedule", spec.schedule.empty() ? "automatic" : spec.schedule);
  auto keys = buildKeys(fields, fields, device);
  if (keys && options.listText)
    keys->listed = options.listText(spec);
  return keys;
}

llvm::Expected<KernelKeys>
Engine::State::keysOfText(const std::string &mlir,
                          const cuda::Context *device) {
  cache::KeyBuilder fields;
  fields.add("mlir-sha256", cache::sha256(mlir).hex());
  return buildKeys(fields, fields, device);
}

llvm::Expected<std::shared_ptr<const KernelKeys>>
Engine::State::keysOf(const Spec &spec) {
  std::string fingerprint = specFingerprint(spec);
  {
    std::shared_lock lock(knownMutex.stripe(cache::thisStripe()));
    if (auto known = knownKeys.find(fingerprint); known != knownKeys.end())
      return known->second;
  }
  ContextPtr device = deviceIfAny();
  auto made = makeKeys(spec, device.get());
  if (!made)
    return made.takeError();
  auto keys = std::make_shared<const KernelKeys>(std::move(*made));
  // Once there is a device, the assembler may turn out to be another.
  if (isHost() || device) {
    std::lock_guard lock(knownMutex);
    if (knownKeys.size() >= mostKnown())
      knownKeys.clear();
    knownKeys.insert_or_assign(std::move(fingerprint), keys);
  }
  return keys;
}

} // namespace mla_jit
