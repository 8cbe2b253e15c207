//===- Engine.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ENGINE_H
#define MLA_JIT_SRC_ENGINE_H

#include "Failure.h"
#include "Kernel.h"
#include "mla/Problem/Spec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mla_jit {

/// The forms in which a compilation can be seen. Of the host, in this order:
/// problem, tile, host, llvm (the dialect), asm, obj; of a GPU: problem, tile,
/// gpu, nvvm, llvm (LLVM IR), ptx, cubin, report (what the assembler says).
enum class Stage {
  Problem,
  Tile,
  Host,
  GPU,
  NVVM,
  LLVM,
  Assembly,
  Object,
  PTX,
  Cubin,
  Report
};
/// "problem", "tile", "host", "gpu", "nvvm", "llvm", "asm", "obj", "ptx",
/// "cubin", "report".
std::string_view toString(Stage stage);
/// The stage of that name, or an error that lists them.
llvm::Expected<Stage> parseStage(std::string_view text);

/// Names of the launch-time parameters of a mask ("causal" or "#mla.causal"),
/// in the mask's order; an error if there is no mask of that name.
llvm::Expected<std::vector<std::string>> maskParameters(std::string_view mask);

/// Where kernels run.
enum class TargetKind { Host, CUDA };

/// What may be compiled. Warn: anything, but every time is an event of a kind
/// of its own.
enum class JITPolicy { Allow, Warn, Forbid };

/// Which assemblers of kernels for GPUs have to make right code of small
/// decodes, on the device, before their code is used. What passed is remembered
/// in the cache's directory.
enum class SelfCheck {
  Unverified, ///< those that this library was not verified with
  Never,
  Always
};

enum class CacheMode { ReadWrite, ReadOnly, Off };

/// Where kernels of specs are kept (docs/cache.md).
struct CacheOptions {
  std::string directory = {}; ///< empty: none are kept on disk
  uint64_t maxBytes = uint64_t(2) << 30;
  CacheMode mode = CacheMode::ReadWrite; ///< of the directory
  bool trustGroup = false;   ///< the directory may be writable by its group
  size_t memoryEntries = 64; ///< kernels that nobody holds, at most
  /// How long to wait for another process that compiles the same kernel.
  std::chrono::milliseconds peerWait = std::chrono::seconds(60);
};

/// What an engine tells of itself: on the thread of the call that it is of, at
/// its end, without a lock.
struct EngineEvent {
  enum class Kind {
    Compiled,
    CompiledLate, ///< where the policy is JITPolicy::Warn
    CompileFailed,
    Forbidden,
    CacheWarning,
    SelfCheck ///< of an assembler: done, or why not
  };
  Kind kind;
  double seconds; ///< that a compilation took
  std::string message;
  std::string digest, key; ///< of the kernel; empty where it is of none
};

struct EngineCounters {
  uint64_t memoryHits = 0, memoryMisses = 0, evictions = 0;
  uint64_t archiveHits = 0, diskHits = 0;
  uint64_t compiles = 0, compileFailures = 0, compileNanoseconds = 0;
  uint64_t forbidden = 0;
  uint64_t stored = 0, storeFailures = 0, damaged = 0; ///< on disk
  uint64_t peerWaits = 0, peerTimeouts = 0;            ///< for other processes
  uint64_t kernelsInMemory = 0;
};

namespace cache {
class Archive;
struct Digest;
} // namespace cache

struct EngineOptions {
  std::string cpu = "native"; ///< host: LLVM's name; "native": this machine's
  /// Host: threads, 0: one for each processor that the process may use. CUDA:
  /// at most so many SMs are used, 0: all.
  int numWorkers = 0;
  TargetKind target = TargetKind::Host;
  int device = 0; ///< CUDA: the driver's number of the device
  /// CUDA: "sm_90a"; empty: the device's. With a chip, compile() needs neither
  /// driver nor device.
  std::string chip = {};
  /// Of one compilation, and of a tool that assembles.
  std::chrono::milliseconds timeLimit = std::chrono::seconds(60);
  CacheOptions cache = {};
  JITPolicy policy = JITPolicy::Allow; ///< at first, see setPolicy
  /// Kernels of prepareMany, and CUDA: entries of a kernel, that are compiled
  /// at once; 0: one for each processor that we may use.
  int compileThreads = 0;
  /// CUDA: path of the assembler that makes cubins where there is no device;
  /// empty: none. Without a value it is the toolkit's, if that is there.
  std::optional<std::string> ptxas = {};
  SelfCheck selfCheck = SelfCheck::Unverified; ///< CUDA
  /// Of each decode of a self-check: code that is wrong may never end.
  std::chrono::milliseconds selfCheckLimit = std::chrono::seconds(10);
  /// CUDA: graphs that launches of all kernels keep, see LaunchGraphBudget.
  size_t launchGraphs = 512;
  std::function<void(const EngineEvent &)> onEvent = nullptr;
  /// A spec as lists for archives have it: ends the message of what the policy
  /// forbids to compile.
  std::function<std::string(const Spec &)> listText = nullptr;
};

/// What an engine compiles for.
struct TargetInfo {
  std::string cpu;      ///< LLVM's name of the CPU, or the chip of a GPU
  std::string features; ///< what this machine lacks of it: "-amx-tile,..."
  int64_t vectorBits, vectorRegisters, l1Bytes, l2Bytes; ///< of a CPU
};

/// A GPU that is there.
struct DeviceInfo {
  /// "NVIDIA H200", "sm_90a", "CUDA 13.0".
  std::string name, chip, driver;
  int numSMs, sharedBytes, l2Bytes;
  uint64_t memoryBytes;
  bool isVerified; ///< the driver's assembler was, for that chip
};

/// Compiles and runs kernels of one target. Making one asks no driver; the
/// first call that needs a device does. Thread-safe. A child process may use
/// one that has not yet asked the driver.
class Engine {
public:
  explicit Engine(EngineOptions options = {});
  ~Engine();

  const EngineOptions &options() const;
  /// Threads; of a GPU the SMs that are used. With a chip the option
  /// 'numWorkers', which asks no driver; else 0 if there is no device.
  int numWorkers() const;
  /// What is compiled for, or why the option 'target' names nothing, or
  /// there is no device to ask for its chip.
  llvm::Expected<TargetInfo> target() const;
  /// The GPU of the option 'device', or why there is none.
  llvm::Expected<DeviceInfo> device() const;

  /// The kernel of a spec: from memory, an archive or the disk, or compiled if
  /// the policy lets it; and loaded.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const Spec &spec);
  /// The same for many, in the order of the specs, on some threads. `progress`
  /// is called by this thread with how many are done; once it returns false no
  /// more are begun, and those are FailureKind::NotFound.
  std::vector<llvm::Expected<std::shared_ptr<Kernel>>>
  prepareMany(llvm::ArrayRef<Spec> specs,
              llvm::function_ref<bool(size_t done)> progress);
  /// The same as prepare, but never compiles the kernel nor waits for who does:
  /// NotFound.
  llvm::Expected<std::shared_ptr<Kernel>> lookUp(const Spec &spec);
  /// The same for MLIR text at the problem, tile, host, gpu or nvvm level;
  /// `name` is for messages. Always compiled, so not where the policy forbids
  /// that. A module of the last three is run as it is: its mla.kernel is
  /// trusted.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const std::string &mlir,
                                                  const std::string &name);

  /// Compiles up to a stage and returns its text (or bytes).
  llvm::Expected<std::string> compile(const Spec &spec, Stage stage);
  llvm::Expected<std::string> compile(const std::string &mlir,
                                      const std::string &name, Stage stage);

  /// Nothing if the target has a kernel for the spec, else the reason why not.
  llvm::Error isSupported(const Spec &spec);

  /// What the kernel of a spec is, without its code. With a chip it needs no
  /// driver. Kept: asking again costs nothing.
  llvm::Expected<std::shared_ptr<const KernelInfo>> describe(const Spec &spec);
  /// Bytes of workspace for any launch of at most so many requests, queries of
  /// all requests, and splits (0: only automatic splits). Grows with each.
  /// With a chip and numWorkers it needs no driver.
  llvm::Expected<size_t>
  workspaceBound(const Spec &spec, int64_t batch, int64_t totalQueries,
                 int64_t maxSplits, WorkspacePart part = WorkspacePart::All);
  size_t workspaceAlignment() const;

  /// Writes the kernels of these specs to a file; they need no device, and with
  /// a chip no driver.
  llvm::Error buildArchive(llvm::ArrayRef<Spec> specs, const std::string &path);
  /// Looks there too from now on, in what was opened last first. `pin`: the
  /// SHA-256 that the file has to have. Requires an archive of this build.
  llvm::Expected<std::shared_ptr<cache::Archive>>
  openArchive(const std::string &path, const cache::Digest *pin = nullptr);
  void closeArchive(const std::shared_ptr<cache::Archive> &archive);

  void setPolicy(JITPolicy policy);
  EngineCounters counters() const;
  /// Drops the kernels that nobody holds; returns how many.
  size_t trim();
  /// Names the build of this library: part of every key.
  const std::string &buildId() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_ENGINE_H
