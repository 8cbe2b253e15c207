//===- EngineState.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ENGINESTATE_H
#define MLA_JIT_SRC_ENGINESTATE_H

#include "Compiler.h"
#include "Failure.h"
#include "KernelState.h"
#include "KernelStore.h"
#include "LaunchGraphBudget.h"
#include "SideBySide.h"
#include "WorkerPool.h"
#include "cuda/Device.h"
#include "mla/Target/PtxReport.h"

#include <mutex>
#include <unordered_map>

namespace mla_jit {

using ContextPtr = std::shared_ptr<const cuda::Context>;

struct AssemblerChoice;

struct Engine::State {
  explicit State(EngineOptions given);

  bool isHost() const { return options.target == TargetKind::Host; }

  //===--------------------------------------------------------------------===//
  // The device (Engine.cpp)
  //===--------------------------------------------------------------------===//

  /// The device's context. A failure is not kept: the next call tries again.
  llvm::Expected<ContextPtr> openDevice();
  /// The device, which has to be able to run the code that is compiled.
  llvm::Expected<ContextPtr> openDeviceOfChip();
  /// The device of a GPU if there is one that can run the code.
  ContextPtr deviceIfAny();
  /// The chip to compile for.
  llvm::Expected<std::string> chip();
  /// The CPU to compile for.
  llvm::Expected<TargetInfo> hostTarget();
  /// An error where kernels cannot be loaded: without the device that runs
  /// them, or in a child of the process whose driver has it.
  llvm::Error checkDevice();
  /// Threads that compile at once, at least 1.
  size_t compileThreads() const;
  /// Of these the ones that may work on one kernel, whose entries are done side
  /// by side.
  ThreadBudget::Share threadsForKernel();

  //===--------------------------------------------------------------------===//
  // Compilations (Engine.cpp)
  //===--------------------------------------------------------------------===//

  llvm::Expected<CompileRequest> request(std::string mlir, std::string name);
  llvm::Expected<CompileRequest> request(const Spec &spec);
  /// The keys of something where that device assembles, or none.
  using KeysFor =
      llvm::function_ref<llvm::Expected<KernelKeys>(const cuda::Context *)>;
  /// A compilation in the sense of policy, events and counters where the stage
  /// is machine code. Of text failures are told.
  llvm::Expected<std::string> compile(llvm::Expected<CompileRequest> request,
                                      Stage stage, KeysFor keysFor);
  llvm::Expected<std::string> makeStage(const CompileRequest &request,
                                        Stage stage,
                                        const AssemblerChoice &assembler,
                                        const ContextPtr &device);
  llvm::Expected<std::unique_ptr<KernelState>>
  load(llvm::Expected<CompileRequest> request);

  //===--------------------------------------------------------------------===//
  // Kernels of specs (EngineKeys.cpp, EngineKernels.cpp, EngineArchives.cpp)
  //===--------------------------------------------------------------------===//

  /// Without what plainly no kernel for it depends on.
  Spec normalised(const Spec &spec) const;
  /// What a spec's kernel depends on, and no more: equal ones have one kernel.
  llvm::Expected<Spec> canonical(const Spec &spec);
  /// With the device that assembles, or null: the tool of this machine does.
  llvm::Expected<KernelKeys> makeKeys(const Spec &spec,
                                      const cuda::Context *device);
  llvm::Expected<KernelKeys> keysOfText(const std::string &mlir,
                                        const cuda::Context *device);
  /// Adds the fields that name target and tools.
  llvm::Expected<KernelKeys> buildKeys(cache::KeyBuilder local,
                                       cache::KeyBuilder archive,
                                       const cuda::Context *device);
  /// The keys of a kernel that is loaded here. Kept.
  llvm::Expected<std::shared_ptr<const KernelKeys>> keysOf(const Spec &spec);
  /// The kernel, if it is in memory. Takes no lock and writes no count that
  /// threads share.
  std::shared_ptr<Kernel> findInMemory(const Spec &spec);
  /// The kernel, compiled if it has to be and may be.
  llvm::Expected<std::shared_ptr<Kernel>> obtain(const Spec &spec,
                                                 bool mayCompile);
  llvm::Error addTarget(cache::KeyBuilder &local, cache::KeyBuilder &archive,
                        const cuda::Context *device);
  /// Object code, or PTX and, without a device that assembles, the cubin of a
  /// tool; and every stage on the way.
  llvm::Expected<CompileResult>
  compileCode(const Spec &spec, const KernelKeys &keys,
              const cuda::Context *device,
              const std::shared_ptr<CompileTrail> &trail);
  llvm::Expected<std::shared_ptr<Kernel>>
  loadCode(const CompileResult &compiled, const cache::Entry &entry,
           KernelOrigin origin, const KernelKeys &keys);
  /// Loads a cubin; where the driver refuses it, the PTX that it was made of.
  llvm::Expected<std::unique_ptr<KernelState>>
  loadOnDevice(const CompileResult &compiled, const cache::Entry &entry,
               const KernelKeys &keys);

  //===--------------------------------------------------------------------===//
  // Assemblers that nobody has verified (EngineSelfCheck.cpp)
  //===--------------------------------------------------------------------===//

  /// An error if code of the driver's assembler, or of that ptxas, is not to be
  /// used on the device: it is denied, or failed the self-check.
  llvm::Error checkAssembler(const ContextPtr &device,
                             const std::string &ptxas);
  /// Why an assembler is not to be used, if it is not.
  using Verdict = std::optional<Failure>;
  /// Errors say nothing of the assembler.
  llvm::Expected<Verdict> judge(const ContextPtr &device,
                                const std::string &name, bool isPtxas,
                                const cache::CacheKey &key);
  /// `ptxas`: what assembles; else the driver does.
  llvm::Error runCheck(const ContextPtr &device, const std::string &assembler,
                       const std::optional<mlir::mla::Assembler> &ptxas);
  llvm::Expected<std::shared_ptr<Kernel>>
  loadCheck(const Spec &spec, const ContextPtr &device,
            const std::optional<mlir::mla::Assembler> &ptxas);

  /// The keys have to live as long.
  KernelStore::Load loader(const KernelKeys &keys);

  struct Wanted {
    size_t place; ///< in the list
    const Spec *spec;
    KernelKeys keys;
  };
  /// The device that assembles for archives: none where the target has a chip,
  /// as they need no driver then.
  ContextPtr archivesDevice();
  /// The kernels of the specs, each once.
  llvm::Expected<std::vector<Wanted>> findWanted(llvm::ArrayRef<Spec> specs);
  /// Makes the entries, on some threads, and then appends them in their order.
  llvm::Error appendAll(llvm::ArrayRef<Wanted> wanted,
                        cache::ArchiveBuilder &builder);

  const EngineOptions options;
  std::shared_ptr<WorkerPool> pool; // host
  KernelStore store;
  const std::shared_ptr<LaunchGraphBudget> launchGraphs =
      std::make_shared<LaunchGraphBudget>(options.launchGraphs);
  const std::shared_ptr<PlanRecords> plans = std::make_shared<PlanRecords>();
  std::mutex mutex;
  ContextPtr context; // CUDA, from the first need on
  /// The same once it was found to run what is compiled.
  std::atomic<const cuda::Context *> usable = nullptr;
  ThreadBudget budget;            // of threads that compile
  std::optional<TargetInfo> host; // from the first need on
  /// By assembler; whoever needs one that is being found waits for it.
  cache::MemoryCache<Verdict> verdicts{/*capacity=*/16};

  /// Specs of which is remembered what was worked out; past it, that begins
  /// anew. To work it out again takes as long as some tens of hits.
  size_t mostKnown() const { return 4 * options.cache.memoryEntries; }
  /// By fingerprint of the spec.
  cache::StripedMutex knownMutex;
  std::unordered_map<std::string, std::shared_ptr<const KernelKeys>> knownKeys;
  std::unordered_map<std::string, std::shared_ptr<const KernelInfo>> knownInfos;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_ENGINESTATE_H
