//===- EngineKernels.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What an engine does with the kernels of specs: how they are made and loaded,
// many at once.
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "CudaKernel.h"
#include "EngineState.h"
#include "Failure.h"
#include "HostKernel.h"
#include "Processors.h"
#include "SpecFields.h"
#include "llvm/ADT/ScopeExit.h"

#include <condition_variable>
#include <new>

namespace mla_jit {

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

llvm::Expected<CompileResult>
Engine::State::compileCode(const Spec &spec, const KernelKeys &keys,
                           const cuda::Context *device,
                           const std::shared_ptr<CompileTrail> &trail) {
  auto asked = request(spec);
  if (!asked)
    return asked.takeError();
  asked->keepStages = true;
  asked->trail = trail;
  // The archive's key: the same wherever the code is assembled.
  asked->symbol = kernelSymbol(spec, isHost() ? "host" : asked->chip,
                               keys.archive.digest().hex());
  if (isHost())
    return mla_jit::compile(*asked, Stage::Object);
  auto assembler = chooseAssembler(device, options);
  if (!assembler)
    return assembler.takeError();
  asked->supportedPTX = assembler->ptxVersion;
  // A tool assembles one module.
  auto share = threadsForKernel();
  asked->entryThreads = assembler->ptxas ? 0 : share.threads();
  auto compiled = mla_jit::compile(*asked, Stage::PTX);
  if (!compiled || !assembler->ptxas)
    return compiled;
  trail->reach(toString(Stage::PTX), compiled->text);
  auto start = std::chrono::steady_clock::now();
  auto report = assembleByPtxas(compiled->text, *compiled->info,
                                *assembler->ptxas, options);
  if (!report)
    return report.takeError();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  compiled->times.push_back({"assemble", took.count()});
  auto description =
      describeCode(*report, *compiled->info, /*withInstructions=*/false);
  if (!description)
    return description.takeError();
  compiled->info->warnings = mlir::mla::findPerformanceLosses(*report);
  compiled->stages.emplace_back(toString(Stage::Report),
                                std::move(*description));
  compiled->cubin = std::move(report->cubin);
  compiled->assembler = assembler->name;
  return compiled;
}

llvm::Expected<std::unique_ptr<KernelState>>
Engine::State::loadOnDevice(const CompileResult &compiled,
                            const cache::Entry &entry, const KernelKeys &keys) {
  auto opened = openDeviceOfChip();
  if (!opened)
    return opened.takeError();
  auto load = [&](const CompileResult &code)
      -> llvm::Expected<std::unique_ptr<KernelState>> {
    if (llvm::Error error = checkAssembler(*opened, code.assembler))
      return std::move(error);
    return loadCudaKernel(code, *opened, options.numWorkers,
                          threadsForKernel().threads(), launchGraphs);
  };
  if (compiled.cubin.empty())
    return load(compiled);

  std::string name = "the cubin of " + compiled.assembler + " for " +
                     compiled.info->chip + " cannot be loaded by " +
                     nameDriversAssembler((*opened)->driver()) + ": ";
  auto loaded = load(compiled);
  if (loaded)
    return loaded;
  Failure refusal = describeFailure(loaded.takeError());
  if (refusal.kind != FailureKind::Compile)
    return toError(std::move(refusal));
  refusal.message = name + refusal.message;
  auto ptx = readEntry(entry);
  if (!ptx)
    return ptx.takeError();
  ptx->cubin.clear();
  ptx->assembler.clear();
  loaded = load(*ptx);
  if (loaded) {
    store.tell(EngineEvent::Kind::CacheWarning, &keys, 0,
               refusal.message + ": it has assembled the PTX beside it");
    return loaded;
  }
  refusal.message +=
      "\nand the PTX beside it: " + llvm::toString(loaded.takeError());
  return toError(std::move(refusal));
}

llvm::Expected<std::shared_ptr<Kernel>>
Engine::State::loadCode(const CompileResult &compiled,
                        const cache::Entry &entry, KernelOrigin origin,
                        const KernelKeys &keys) {
  auto loaded = isHost() ? loadHostKernel(compiled, pool)
                         : loadOnDevice(compiled, entry, keys);
  if (!loaded)
    return loaded.takeError();
  (*loaded)->entry = entry;
  (*loaded)->origin = origin;
  (*loaded)->digest = keys.local.digest().hex();
  (*loaded)->plans = plans;
  return std::shared_ptr<Kernel>(new Kernel(std::move(*loaded)));
}

KernelStore::Load Engine::State::loader(const KernelKeys &keys) {
  return [this, &keys](const CompileResult &compiled, const cache::Entry &entry,
                       KernelOrigin origin) {
    return loadCode(compiled, entry, origin, keys);
  };
}

std::shared_ptr<Kernel> Engine::State::findInMemory(const Spec &spec) {
  std::string fingerprint = specFingerprint(spec);
  // Held meanwhile: a copy of the keys would be a count that threads share.
  std::shared_lock lock(knownMutex.stripe(cache::thisStripe()));
  auto known = knownKeys.find(fingerprint);
  return known == knownKeys.end() ? nullptr : store.find(*known->second);
}

llvm::Expected<std::shared_ptr<Kernel>> Engine::State::obtain(const Spec &spec,
                                                              bool mayCompile) {
  if (llvm::Error error = checkDevice())
    return std::move(error);
  if (auto kernel = findInMemory(spec))
    return kernel;
  auto keys = keysOf(spec);
  if (!keys)
    return keys.takeError();
  if (!mayCompile)
    return store.lookUp(**keys, loader(**keys));
  auto compile = [&](const std::shared_ptr<CompileTrail> &trail) {
    return compileCode(spec, **keys, deviceIfAny().get(), trail);
  };
  return store.obtain(**keys, compile, loader(**keys));
}

llvm::Expected<std::shared_ptr<Kernel>> Engine::prepare(const Spec &spec) {
  return state->obtain(spec, /*mayCompile=*/true);
}

llvm::Expected<std::shared_ptr<Kernel>> Engine::lookUp(const Spec &spec) {
  return state->obtain(spec, /*mayCompile=*/false);
}

//===----------------------------------------------------------------------===//
// Many kernels
//===----------------------------------------------------------------------===//

std::vector<llvm::Expected<std::shared_ptr<Kernel>>>
Engine::prepareMany(llvm::ArrayRef<Spec> specs,
                    llvm::function_ref<bool(size_t done)> progress) {
  std::vector<std::optional<llvm::Expected<std::shared_ptr<Kernel>>>> made(
      specs.size());
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0, done = 0, running = 0;
  bool isStopped = false;
  auto work = [&](size_t) {
    std::unique_lock lock(mutex);
    // Also on the way of an exception.
    auto leave = llvm::make_scope_exit([&] {
      if (!lock.owns_lock())
        lock.lock();
      --running;
      changed.notify_one();
    });
    while (next < specs.size() && !isStopped) {
      size_t i = next++;
      lock.unlock();
      auto kernel = prepare(specs[i]);
      lock.lock();
      made[i].emplace(std::move(kernel));
      ++done;
      changed.notify_one();
    }
  };

  size_t wanted = std::min(state->compileThreads(), specs.size());
  auto share =
      state->budget.take(state->compileThreads(), std::max<size_t>(wanted, 1));
  running = wanted;
  ThreadGroup threads;
  size_t started = threads.start(wanted, work);
  std::unique_lock lock(mutex);
  running -= wanted - started;
  for (size_t told = 0; told < done || running;) {
    changed.wait(lock, [&] { return told < done || !running; });
    for (; told < done && !isStopped; lock.lock()) {
      size_t now = ++told;
      lock.unlock();
      bool goOn = progress(now);
      if (!goOn) {
        lock.lock();
        isStopped = true;
        lock.unlock();
      }
    }
    if (isStopped)
      told = done;
  }
  lock.unlock();
  threads.join();
  if (!started && !specs.empty())
    throw std::bad_alloc();

  std::vector<llvm::Expected<std::shared_ptr<Kernel>>> kernels;
  for (auto &kernel : made)
    kernels.push_back(kernel ? std::move(*kernel)
                             : fail(FailureKind::NotFound,
                                    "the kernel was not begun: "
                                    "'progress' ended the work"));
  return kernels;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

llvm::Expected<std::shared_ptr<const KernelInfo>>
Engine::describe(const Spec &spec) {
  std::string fingerprint = specFingerprint(state->normalised(spec));
  {
    std::shared_lock lock(state->knownMutex.stripe(cache::thisStripe()));
    auto known = state->knownInfos.find(fingerprint);
    if (known != state->knownInfos.end())
      return known->second;
  }
  auto asked = state->request(spec);
  if (!asked)
    return asked.takeError();
  auto compiled =
      mla_jit::compile(*asked, state->isHost() ? Stage::Host : Stage::NVVM);
  if (!compiled)
    return compiled.takeError();
  std::lock_guard lock(state->knownMutex);
  if (state->knownInfos.size() >= state->mostKnown())
    state->knownInfos.clear();
  return state->knownInfos
      .insert_or_assign(std::move(fingerprint), std::move(compiled->info))
      .first->second;
}

llvm::Error Engine::isSupported(const Spec &spec) {
  return describe(spec).takeError();
}

llvm::Expected<size_t> Engine::workspaceBound(const Spec &spec, int64_t batch,
                                              int64_t totalQueries,
                                              int64_t maxSplits,
                                              WorkspacePart part) {
  auto info = describe(spec);
  if (!info)
    return info.takeError();
  int64_t workers =
      state->isHost() ? state->pool->size() : state->options.numWorkers;
  if (workers <= 0) {
    auto opened = state->openDevice();
    if (!opened)
      return opened.takeError();
    workers = (*opened)->device().numSMs;
  }
  if (!state->isHost())
    workers = std::max(workers, (*info)->rowBlocks) *
              (*info)->entries.front().launch.ctasPerWorker;
  return mla_jit::workspaceBound(**info, part, batch, totalQueries, maxSplits,
                                 workers, workspaceAlignment());
}

size_t Engine::workspaceAlignment() const {
  return state->isHost() ? kHostAlignment : kCudaAlignment;
}

//===----------------------------------------------------------------------===//
// Policy, counters
//===----------------------------------------------------------------------===//

void Engine::setPolicy(JITPolicy policy) { state->store.setPolicy(policy); }
EngineCounters Engine::counters() const { return state->store.counters(); }
size_t Engine::trim() { return state->store.trim(); }
const std::string &Engine::buildId() const { return state->store.buildId(); }

} // namespace mla_jit
