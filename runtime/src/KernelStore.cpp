//===- KernelStore.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelStore.h"
#include "Failure.h"
#include "cache/BuildId.h"
#include "llvm/Support/FormatVariadic.h"

namespace mla_jit {

static cache::Error toCacheError(Failure failure) {
  std::string message = failure.message;
  return {cache::ErrorKind::Failed, std::move(message), 0,
          std::make_shared<const Failure>(std::move(failure))};
}

/// A failure that another caller asked for by asking for less: it is no answer
/// to who may compile.
static bool isRefusal(const cache::Error &error) {
  const auto *failure = static_cast<const Failure *>(error.cause.get());
  return failure && (failure->kind == FailureKind::NotFound ||
                     failure->kind == FailureKind::Forbidden);
}

KernelStore::KernelStore(const CacheOptions &options, JITPolicy policy,
                         std::function<void(const EngineEvent &)> onEvent)
    : memory(std::max<size_t>(options.memoryEntries, 1)), policy(policy),
      onEvent(std::move(onEvent)) {
  static const char anchor = 0; // of the library that this is linked into
  auto id = cache::buildIdOf(&anchor);
  build = id ? *id : "unknown";
  if (options.mode == CacheMode::Off || options.directory.empty())
    return;
  if (id)
    openDisk(options);
  else
    tell(EngineEvent::Kind::CacheWarning, nullptr, 0,
         "nothing is kept on disk: " + id.error().message);
}

void KernelStore::openDisk(const CacheOptions &options) {
  cache::DiskOptions disks;
  disks.buildId = build;
  disks.maxBytes = options.maxBytes;
  disks.readOnly = options.mode == CacheMode::ReadOnly;
  disks.trust = options.trustGroup ? cache::Trust::Group : cache::Trust::Owner;
  disks.peerWait = options.peerWait;
  disks.warn = [this](const std::string &message) {
    tell(EngineEvent::Kind::CacheWarning, nullptr, 0, message);
  };
  auto opened = cache::DiskCache::open(options.directory, std::move(disks));
  if (opened)
    disk = std::move(*opened);
  else
    tell(EngineEvent::Kind::CacheWarning, nullptr, 0,
         "nothing is kept on disk: " + opened.error().message);
}

void KernelStore::tell(EngineEvent::Kind kind, const KernelKeys *keys,
                       double seconds, std::string message) const {
  if (!onEvent)
    return;
  EngineEvent event{kind, seconds, std::move(message), {}, {}};
  if (keys) {
    event.digest = keys->local.digest().hex();
    event.key = keys->local.text();
  }
  onEvent(event);
}

llvm::Error KernelStore::takeError(const cache::Error &error) const {
  if (const auto *failure = static_cast<const Failure *>(error.cause.get()))
    return toError(*failure);
  switch (error.kind) {
  case cache::ErrorKind::Timeout:
    return fail(FailureKind::Timeout, error.message);
  case cache::ErrorKind::NoMemory:
    return fail(FailureKind::OutOfMemory, error.message);
  default:
    return fail(FailureKind::Compile, error.message);
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

std::optional<KernelStore::Found>
KernelStore::findMade(const KernelKeys &keys) {
  if (auto entry = findInArchives(keys.archive))
    return Found{std::move(*entry), KernelOrigin::Archive};
  if (!disk)
    return std::nullopt;
  auto entry = disk->lookup(keys.local);
  if (!entry)
    return std::nullopt;
  return Found{std::move(*entry), KernelOrigin::Disk};
}

void KernelStore::keepFailed(const KernelKeys &keys, const std::string &stage,
                             std::string_view text, Failure &failure) {
  bool isOfCompiler = failure.kind == FailureKind::Compile ||
                      failure.kind == FailureKind::Timeout ||
                      failure.kind == FailureKind::OutOfMemory;
  if (!disk || !isOfCompiler || text.empty())
    return;
  auto path =
      disk->keepFailed(keys.local.digest().hex().substr(0, 16) + "." + stage +
                           (stage == toString(Stage::PTX) ? "" : ".mlir"),
                       text);
  if (!path)
    return;
  failure.dumpPath = *path;
  failure.message += "\nwhat it was given is in " + *path;
}

std::string describeTimes(const std::vector<StageTime> &times) {
  std::string text;
  for (const StageTime &time : times)
    text += llvm::formatv("{0}{1} {2:f1} ms", text.empty() ? "" : ", ",
                          time.stage, 1e3 * time.seconds)
                .str();
  return text;
}

cache::Result<cache::Entry> KernelStore::compileEntry(const KernelKeys &keys,
                                                      Compile &compile) {
  Failure refusal = {
      .message = "and the kernel is neither in memory nor in an archive nor on "
                 "disk: key " +
                 keys.local.digest().hex()};
  if (!keys.listed.empty())
    refusal.message += ", spec\n" + keys.listed;
  std::optional<CompileResult> made;
  llvm::Error error =
      watch(keys, std::move(refusal), [&]() -> llvm::Expected<std::string> {
        auto trail = std::make_shared<CompileTrail>();
        auto compiled = compile(trail);
        if (!compiled) {
          Failure failure = describeFailure(compiled.takeError());
          auto [stage, text] = trail->given();
          keepFailed(keys, stage, text, failure);
          return toError(std::move(failure));
        }
        made = std::move(*compiled);
        return "compiled a kernel that was neither in memory nor in an archive "
               "nor on disk: " +
               describeTimes(made->times);
      });
  if (error)
    return toCacheError(describeFailure(std::move(error)));
  return makeEntry(*made, keys.local, build);
}

cache::Result<KernelStore::Found>
KernelStore::findOrCompile(const KernelKeys &keys, Compile &compile) {
  // Without a right to compile there is no reason to wait for who has one.
  if (!disk || policy == JITPolicy::Forbid) {
    if (auto found = findMade(keys))
      return std::move(*found);
    auto entry = compileEntry(keys, compile);
    if (!entry)
      return entry.error();
    return Found{std::move(*entry), KernelOrigin::Compiled};
  }
  if (auto entry = findInArchives(keys.archive))
    return Found{std::move(*entry), KernelOrigin::Archive};
  bool isCompiled = false;
  auto entry = disk->getOrMake(keys.local, [&] {
    isCompiled = true;
    return compileEntry(keys, compile);
  });
  if (!entry)
    return entry.error();
  return Found{std::move(*entry),
               isCompiled ? KernelOrigin::Compiled : KernelOrigin::Disk};
}

cache::Result<KernelStore::KernelPtr>
KernelStore::loadFound(const KernelKeys &keys, const Found &found, Load &load) {
  auto compiled = readEntry(found.entry);
  if (!compiled)
    return cache::Error{cache::ErrorKind::Damaged,
                        llvm::toString(compiled.takeError())};
  auto kernel = load(std::move(*compiled), found.entry, found.origin);
  if (!kernel) {
    Failure failure = describeFailure(kernel.takeError(), FailureKind::Compile);
    if (failure.kind == FailureKind::Compile &&
        found.origin != KernelOrigin::Compiled)
      return cache::Error{cache::ErrorKind::Damaged, failure.message};
    std::string ptx(toString(Stage::PTX));
    keepFailed(keys, ptx, found.entry.section(ptx).value_or(""), failure);
    return toCacheError(std::move(failure));
  }
  if (found.origin == KernelOrigin::Archive)
    ++archiveHits;
  if (found.origin == KernelOrigin::Disk)
    ++diskHits;
  return std::move(*kernel);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

llvm::Expected<KernelStore::KernelPtr>
KernelStore::obtain(const KernelKeys &keys, Compile compile, Load load) {
  auto make = [&]() -> cache::Result<KernelPtr> {
    auto found = findOrCompile(keys, compile);
    if (!found)
      return found.error();
    auto kernel = loadFound(keys, *found, load);
    if (kernel || kernel.error().kind != cache::ErrorKind::Damaged)
      return kernel;
    // Whole, and yet no kernel: made again.
    tell(EngineEvent::Kind::CacheWarning, &keys, 0,
         kernel.error().message + ": it is taken for missing");
    bool isOnDisk = disk && found->origin == KernelOrigin::Disk;
    if (isOnDisk)
      disk->remove(keys.local);
    auto entry = compileEntry(keys, compile);
    if (!entry)
      return entry.error();
    if (isOnDisk)
      (void)disk->store(keys.local, *entry); // counts and tells what fails
    return loadFound(keys, {std::move(*entry), KernelOrigin::Compiled}, load);
  };
  while (true) {
    bool isOwn = false;
    auto kernel = memory.getOrMake(keys.local, [&] {
      isOwn = true;
      return make();
    });
    if (kernel)
      return std::move(*kernel);
    if (isOwn || policy == JITPolicy::Forbid || !isRefusal(kernel.error()))
      return takeError(kernel.error());
  }
}

llvm::Expected<KernelStore::KernelPtr>
KernelStore::lookUp(const KernelKeys &keys, Load load) {
  auto notFound = [&] {
    return Failure{FailureKind::NotFound,
                   "the kernel is neither in memory nor in an archive nor on "
                   "disk: key " +
                       keys.local.digest().hex()};
  };
  auto make = [&]() -> cache::Result<KernelPtr> {
    auto found = findMade(keys);
    if (!found)
      return toCacheError(notFound());
    auto kernel = loadFound(keys, *found, load);
    if (!kernel && kernel.error().kind == cache::ErrorKind::Damaged)
      return toCacheError(notFound());
    return kernel;
  };
  // Whoever compiles it now is not waited for.
  auto kernel =
      memory.getOrMake(keys.local, make, std::chrono::steady_clock::now());
  if (kernel)
    return std::move(*kernel);
  if (kernel.error().kind == cache::ErrorKind::Timeout)
    return llvm::make_error<FailureError>(notFound());
  return takeError(kernel.error());
}

llvm::Expected<cache::Entry> KernelStore::entry(const KernelKeys &keys,
                                                Compile compile) {
  auto found = findOrCompile(keys, compile);
  if (!found)
    return takeError(found.error());
  return found->entry;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

llvm::Error KernelStore::once(const cache::CacheKey &key,
                              llvm::function_ref<llvm::Error()> check) {
  if (!disk)
    return check();
  auto passed = disk->getOrMake(key, [&]() -> cache::Result<cache::Entry> {
    if (llvm::Error error = check())
      return toCacheError(describeFailure(std::move(error)));
    const cache::Section verdict[] = {{"check", "passed"}};
    return cache::Entry::make(key, build, verdict);
  });
  return passed ? llvm::Error::success() : takeError(passed.error());
}

bool KernelStore::isRemembered(const cache::CacheKey &key) {
  return disk && disk->lookup(key);
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

EngineCounters KernelStore::counters() const {
  EngineCounters counts;
  counts.memoryHits = memory.count(cache::MemoryEvent::Hit);
  counts.memoryMisses = memory.count(cache::MemoryEvent::Miss);
  counts.evictions = memory.count(cache::MemoryEvent::Evicted);
  counts.archiveHits = archiveHits;
  counts.diskHits = diskHits;
  counts.compiles = compiles;
  counts.compileFailures = compileFailures;
  counts.compileNanoseconds = compileNanoseconds;
  counts.forbidden = forbidden;
  counts.kernelsInMemory = memory.size();
  if (!disk)
    return counts;
  counts.stored = disk->count(cache::DiskEvent::Stored);
  counts.storeFailures = disk->count(cache::DiskEvent::StoreFailed);
  counts.damaged = disk->count(cache::DiskEvent::Damaged);
  counts.peerWaits = disk->count(cache::DiskEvent::PeerWait);
  counts.peerTimeouts = disk->count(cache::DiskEvent::PeerTimeout);
  return counts;
}

} // namespace mla_jit
