//===- EngineOptions.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineOptions.h"
#include "SpecText.h"

#include <cstdlib>

namespace mla_jit::capi {

llvm::Expected<JITPolicy> toPolicy(int32_t policy) {
  switch (policy) {
  case MLA_POLICY_ALLOW:
    return JITPolicy::Allow;
  case MLA_POLICY_WARN:
    return JITPolicy::Warn;
  case MLA_POLICY_FORBID:
    return JITPolicy::Forbid;
  default:
    return invalid(ofOption("jit_policy"),
                   "requires 0 (allow), 1 (warn) or 2 (forbid), but got {0}",
                   policy);
  }
}

static llvm::Error readTarget(std::string_view text, EngineOptions &options) {
  auto [kind, name] = llvm::StringRef(text).split(':');
  bool hasName = kind.size() < text.size();
  if ((kind != "host" && kind != "cuda") || (hasName && name.empty()))
    return invalid(
        ofOption("target"),
        "requires host, host:<cpu>, cuda or cuda:<chip>, but got '{0}'", text);
  options.target = kind == "host" ? TargetKind::Host : TargetKind::CUDA;
  if (hasName)
    (kind == "host" ? options.cpu : options.chip) = name.str();
  return llvm::Error::success();
}

static constexpr int32_t kMostLaunchGraphs = 1 << 20;

static llvm::Error checkNumbers(const mla_engine_options &given) {
  struct {
    const char *name;
    int32_t value, most;
  } const kRanges[] = {
      {"device", given.device, INT32_MAX},
      {"num_sms", given.num_sms, 1 << 16},
      {"memory_entries", given.memory_entries, INT32_MAX},
      {"cache_mode", given.cache_mode, MLA_CACHE_OFF},
      {"cache_trust", given.cache_trust, MLA_TRUST_GROUP},
      {"compile_threads", given.compile_threads, 1 << 10},
      {"self_check", given.self_check, MLA_SELF_CHECK_ALWAYS},
  };
  for (auto [name, value, most] : kRanges)
    if (value < 0 || value > most)
      return invalid(ofOption(name), "requires 0 to {0}, but got {1}", most,
                     value);
  if (given.launch_graphs < -1 || given.launch_graphs > kMostLaunchGraphs)
    return invalid(ofOption("launch_graphs"), "requires -1 to {0}, but got {1}",
                   kMostLaunchGraphs, given.launch_graphs);
  return llvm::Error::success();
}

static std::string cacheDirectory(const char *given) {
  if (given)
    return given;
  const char *directory = std::getenv("MLA_JIT_CACHE_DIR");
  return directory ? directory : "";
}

/// Tells the caller of an event.
static std::function<void(const EngineEvent &)>
makeLog(void (*log)(void *, const mla_log *), void *user) {
  if (!log)
    return nullptr;
  return [log, user](const EngineEvent &event) {
    mla_log told;
    MLA_INIT(&told);
    told.event = static_cast<int32_t>(event.kind);
    told.seconds = event.seconds;
    told.message = event.message.c_str();
    told.digest = event.digest.c_str();
    told.key = event.key.c_str();
    log(user, &told);
  };
}

static_assert(static_cast<int>(EngineEvent::Kind::SelfCheck) ==
              MLA_EVENT_SELF_CHECK);
static_assert(static_cast<int>(SelfCheck::Always) == MLA_SELF_CHECK_ALWAYS);
static_assert(static_cast<int>(CacheMode::Off) == MLA_CACHE_OFF);

llvm::Expected<EngineOptions> toOptions(const mla_engine_options &given) {
  if (llvm::Error error = checkNumbers(given))
    return std::move(error);
  auto policy = toPolicy(given.jit_policy);
  if (!policy)
    return policy.takeError();
  EngineOptions options;
  options.policy = *policy;
  if (given.target)
    if (llvm::Error error = readTarget(given.target, options))
      return std::move(error);
  options.device = given.device;
  options.numWorkers = given.num_sms;
  options.compileThreads = given.compile_threads;
  options.selfCheck = static_cast<SelfCheck>(given.self_check);
  options.cache.directory = cacheDirectory(given.cache_dir);
  options.cache.mode = static_cast<CacheMode>(given.cache_mode);
  options.cache.trustGroup = given.cache_trust == MLA_TRUST_GROUP;
  if (given.launch_graphs)
    options.launchGraphs = std::max(given.launch_graphs, 0);
  if (given.ptxas) {
    options.ptxas = given.ptxas;
    if (!options.ptxas->empty() && options.ptxas->front() != '/')
      return invalid(ofOption("ptxas"),
                     "requires an absolute path, or \"\", but got '{0}'",
                     given.ptxas);
  }
  if (given.cache_bytes)
    options.cache.maxBytes = given.cache_bytes;
  if (given.memory_entries)
    options.cache.memoryEntries = given.memory_entries;
  if (given.compile_timeout_ms)
    options.timeLimit = std::chrono::milliseconds(given.compile_timeout_ms);
  if (given.peer_wait_ms)
    options.cache.peerWait = std::chrono::milliseconds(given.peer_wait_ms);
  options.onEvent = makeLog(given.log, given.log_user);
  options.listText = [](const Spec &spec) { return writeSpecText(spec); };
  return options;
}

} // namespace mla_jit::capi
