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

cache::Error toCacheError(Failure failure) {
  std::string message = failure.message;
  return {cache::ErrorKind::Failed, std::move(message), 0,
          std::make_shared<const Failure>(std::move(failure))};
}

static const Failure *failureOf(const cache::Error &error) {
  return static_cast<const Failure *>(error.cause.get());
}

llvm::Error toError(const cache::Error &error) {
  if (const Failure *failure = failureOf(error))
    return toError(*failure);
  return fail(error.kind == cache::ErrorKind::NoMemory
                  ? FailureKind::OutOfMemory
                  : FailureKind::Compile,
              error.message);
}

static bool isOf(const cache::Error &error, FailureKind kind) {
  const Failure *failure = failureOf(error);
  return failure && failure->kind == kind;
}

/// That a kernel would have to be compiled, and why.
static Failure missing(const KernelKeys &keys, const Failure *refused) {
  std::string digest = keys.local.digest().hex();
  if (!refused)
    return {.kind = FailureKind::NotFound,
            .message = "the kernel is neither in memory nor in an archive nor "
                       "on disk: key " +
                       digest};
  Failure failure = *refused;
  failure.kind = FailureKind::NotFound;
  failure.message = "the kernel that is there cannot be loaded (key " + digest +
                    "): " + failure.message;
  if (failure.stage.empty())
    failure.stage = "load";
  return failure;
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
                                                      Compile &compile,
                                                      const Failure *refused) {
  Failure refusal = missing(keys, refused);
  refusal.message = "and " + refusal.message;
  // Not of a kernel that is there and failed at some stage of its loading.
  if (!keys.listed.empty() && refusal.stage.empty())
    refusal.message += ", spec\n" + keys.listed;
  std::optional<CompileResult> made;
  llvm::Error error =
      watch(keys, std::move(refusal), [&]() -> llvm::Expected<std::string> {
        memory.takesLong(keys.local);
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
  if (auto found = findMade(keys))
    return std::move(*found);
  bool isCompiled = false;
  auto make = [&] {
    isCompiled = true;
    return compileEntry(keys, compile);
  };
  // Without a right to compile there is no reason to wait for who has one.
  bool isShared = disk && policy != JITPolicy::Forbid;
  if (isShared)
    memory.takesLong(keys.local);
  auto entry = isShared ? disk->makeMissing(keys.local, make) : make();
  if (!entry)
    return entry.error();
  return Found{std::move(*entry),
               isCompiled ? KernelOrigin::Compiled : KernelOrigin::Disk};
}

/// Of an entry that is whole, and yet no kernel.
static cache::Error refuse(Failure failure) {
  cache::Error error = toCacheError(std::move(failure));
  error.kind = cache::ErrorKind::Damaged;
  return error;
}

cache::Result<KernelStore::KernelPtr>
KernelStore::loadFound(const KernelKeys &keys, const Found &found, Load &load) {
  auto compiled = readEntry(found.entry);
  if (!compiled)
    return refuse({.message = llvm::toString(compiled.takeError())});
  auto kernel = load(*compiled, found.entry, found.origin);
  if (!kernel) {
    Failure failure = describeFailure(kernel.takeError(), FailureKind::Compile);
    if (failure.kind == FailureKind::Compile &&
        found.origin != KernelOrigin::Compiled)
      return refuse(std::move(failure));
    bool isPTX = !compiled->info->chip.empty();
    keepFailed(keys, std::string(toString(Stage::PTX)),
               isPTX ? compiled->text : std::string(), failure);
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
  Silence silence(*this);
  auto make = [&]() -> cache::Result<KernelPtr> {
    auto found = findOrCompile(keys, compile);
    if (!found)
      return found.error();
    auto kernel = loadFound(keys, *found, load);
    if (kernel || kernel.error().kind != cache::ErrorKind::Damaged)
      return kernel;
    // Made again.
    tell(EngineEvent::Kind::CacheWarning, &keys, 0,
         kernel.error().message + ": it is taken for missing");
    auto entry = compileEntry(keys, compile, failureOf(kernel.error()));
    if (!entry)
      return entry.error();
    if (disk && found->origin == KernelOrigin::Disk) {
      disk->remove(keys.local);
      (void)disk->store(keys.local, *entry); // counts and tells what fails
    }
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
    // What others were refused, who asked for less, is no answer to who may
    // compile.
    bool isLess = isOf(kernel.error(), FailureKind::NotFound) ||
                  (isOf(kernel.error(), FailureKind::Forbidden) &&
                   policy != JITPolicy::Forbid);
    if (isOwn || !isLess)
      return toError(kernel.error());
  }
}

llvm::Expected<KernelStore::KernelPtr>
KernelStore::lookUp(const KernelKeys &keys, Load load) {
  Silence silence(*this);
  auto make = [&]() -> cache::Result<KernelPtr> {
    auto found = findMade(keys);
    if (!found)
      return toCacheError(missing(keys, nullptr));
    auto kernel = loadFound(keys, *found, load);
    if (kernel || kernel.error().kind != cache::ErrorKind::Damaged)
      return kernel;
    Failure failure = missing(keys, failureOf(kernel.error()));
    tell(EngineEvent::Kind::CacheWarning, &keys, 0, failure.message);
    return toCacheError(std::move(failure));
  };
  auto kernel = memory.getOrMake(keys.local, make, cache::WaitFor::NotLong);
  if (kernel)
    return std::move(*kernel);
  if (kernel.error().kind == cache::ErrorKind::Busy)
    return fail(FailureKind::NotFound,
                "another thread is compiling the kernel: key " +
                    keys.local.digest().hex());
  if (!isOf(kernel.error(), FailureKind::Forbidden))
    return toError(kernel.error());
  // Of a thread that was to compile it.
  Failure failure = *failureOf(kernel.error());
  failure.kind = FailureKind::NotFound;
  return toError(std::move(failure));
}

llvm::Expected<cache::Entry> KernelStore::entry(const KernelKeys &keys,
                                                Compile compile) {
  Silence silence(*this);
  auto found = findOrCompile(keys, compile);
  if (!found)
    return toError(found.error());
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
  return passed ? llvm::Error::success() : toError(passed.error());
}

bool KernelStore::isRemembered(const cache::CacheKey &key) {
  return disk && disk->lookup(key);
}

} // namespace mla_jit
