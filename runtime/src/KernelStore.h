//===- KernelStore.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where kernels come from: memory, archives, the disk, the compiler, in this
// order; and what may be compiled at all.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELSTORE_H
#define MLA_JIT_SRC_KERNELSTORE_H

#include "Failure.h"
#include "KernelEntry.h"
#include "cache/Archive.h"
#include "cache/DiskCache.h"
#include "cache/MemoryCache.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace mla_jit {

/// What a kernel is found by. An archive's keys say nothing of the assembler:
/// it is made where there may be no driver, for machines that have one.
struct KernelKeys {
  cache::CacheKey local, archive;
  std::string listed; ///< the spec as a list for archives has it, or empty
};

/// "parse 0.2 ms, tile 1.1 ms": what a compilation took, stage by stage.
std::string describeTimes(const std::vector<StageTime> &times);

cache::Error toCacheError(Failure failure);
llvm::Error toError(const cache::Error &error);

/// Thread-safe. Callbacks run without a lock, and where nobody waits for the
/// thread that they are on.
class KernelStore {
public:
  using KernelPtr = std::shared_ptr<Kernel>;
  /// What this thread would tell meanwhile is told at its end: not while it has
  /// what others wait for.
  class Silence;
  /// Compiles to code that can be loaded; tells the trail how far it came.
  using Compile = llvm::unique_function<llvm::Expected<CompileResult>(
      const std::shared_ptr<CompileTrail> &)>;
  /// Loads what was compiled, now or before.
  using Load = llvm::unique_function<llvm::Expected<KernelPtr>(
      const CompileResult &, const cache::Entry &, KernelOrigin)>;

  /// Does it, and returns what there is to tell.
  using Compilation = llvm::function_ref<llvm::Expected<std::string>()>;

  KernelStore(const CacheOptions &options, JITPolicy policy,
              std::function<void(const EngineEvent &)> onEvent);

  /// The kernel that is in memory, or null.
  KernelPtr find(const KernelKeys &keys) { return memory.find(keys.local); }
  /// The kernel, compiled if it has to be and the policy lets it.
  llvm::Expected<KernelPtr> obtain(const KernelKeys &keys, Compile compile,
                                   Load load);
  /// The kernel, unless it would have to be compiled: NotFound, also while
  /// another thread compiles it. Waits for who only loads it.
  llvm::Expected<KernelPtr> lookUp(const KernelKeys &keys, Load load);
  /// What would be loaded, compiled if it has to be and the policy lets it.
  llvm::Expected<cache::Entry> entry(const KernelKeys &keys, Compile compile);

  /// A compilation: told of and counted, or, where the policy forbids it,
  /// refused. `refusal` ends the message of that.
  llvm::Error watch(const KernelKeys &keys, Failure refusal,
                    Compilation compile);
  /// What the policy is not about: a failure is told of, and no more.
  llvm::Error tellFailure(const KernelKeys &keys, Compilation compile);

  /// Nothing if `check` was passed, now or, as the disk knows, before. Other
  /// processes that want to know the same wait for who checks.
  llvm::Error once(const cache::CacheKey &key,
                   llvm::function_ref<llvm::Error()> check);
  /// Whether the disk knows that it was passed.
  bool isRemembered(const cache::CacheKey &key);
  /// Tells the host; `keys` may be null.
  void tell(EngineEvent::Kind kind, const KernelKeys *keys, double seconds,
            std::string message) const;

  llvm::Error append(cache::ArchiveBuilder &builder, const KernelKeys &keys,
                     const cache::Entry &entry);
  llvm::Expected<std::shared_ptr<cache::Archive>>
  openArchive(const std::string &path, const cache::Digest *pin);
  void closeArchive(const std::shared_ptr<cache::Archive> &archive);

  void setPolicy(JITPolicy value) { policy = value; }
  JITPolicy currentPolicy() const { return policy; }
  EngineCounters counters() const;
  /// Drops kernels that nobody holds; how many.
  size_t trim() { return memory.trim(); }
  const std::string &buildId() const { return build; }

private:
  struct Found {
    cache::Entry entry;
    KernelOrigin origin;
  };
  std::optional<cache::Entry> findInArchives(const cache::CacheKey &key);
  std::optional<Found> findMade(const KernelKeys &keys);
  cache::Result<Found> findOrCompile(const KernelKeys &keys, Compile &compile);
  /// `refused`: why what was found cannot be loaded, or null.
  cache::Result<cache::Entry> compileEntry(const KernelKeys &keys,
                                           Compile &compile,
                                           const Failure *refused = nullptr);
  cache::Result<KernelPtr> loadFound(const KernelKeys &keys, const Found &found,
                                     Load &load);
  /// Keeps what the stage that failed was given where there is a disk, and
  /// names the file.
  void keepFailed(const KernelKeys &keys, const std::string &stage,
                  std::string_view text, Failure &failure);
  void openDisk(const CacheOptions &options);

  std::string build;
  cache::MemoryCache<Kernel> memory;
  std::unique_ptr<cache::DiskCache> disk; // null: nothing is kept there
  std::shared_mutex archivesMutex;
  std::vector<std::shared_ptr<cache::Archive>> archives; // the newest first
  std::atomic<JITPolicy> policy;
  std::function<void(const EngineEvent &)> onEvent;
  std::atomic<uint64_t> compiles = 0, compileFailures = 0, forbidden = 0,
                        archiveHits = 0, diskHits = 0, compileNanoseconds = 0;
};

class KernelStore::Silence {
public:
  explicit Silence(const KernelStore &store);
  ~Silence();
  Silence(const Silence &) = delete;
  Silence &operator=(const Silence &) = delete;

private:
  const KernelStore &store;
  const bool isOutermost;
  std::vector<EngineEvent> events;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELSTORE_H
