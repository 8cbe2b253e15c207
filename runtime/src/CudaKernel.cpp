//===- CudaKernel.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernel.h"
#include "Assemble.h"
#include "CudaParameters.h"
#include "DeviceContents.h"
#include "EntryLibraries.h"
#include "StreamGraphs.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using llvm::createStringError;

namespace mla_jit {

int usedSMs(const cuda::Device &device, int maxWorkers) {
  return maxWorkers > 0 ? std::min(maxWorkers, device.numSMs) : device.numSMs;
}

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {

class CudaKernel final : public KernelState {
public:
  /// Launches keep the parameters of all entries on the stack.
  static constexpr size_t kMaxEntries = 4;

  CudaKernel(const CompileResult &compiled,
             std::shared_ptr<const cuda::Context> context, int maxWorkers,
             std::shared_ptr<LaunchGraphBudget> budget)
      : KernelState(compiled), context(std::move(context)),
        graphs(std::move(budget)) {
    workers = limited(usedSMs(this->context->device(), maxWorkers));
  }

  /// Gets the functions of the cubin if there is one, else of the PTX, which
  /// the driver assembles.
  llvm::Error load(const std::string &ptx, const std::string &cubin,
                   unsigned threads);

  int numWorkers() const override { return workers; }
  int64_t workspaceWorkers(int limit) const override {
    return numCTAs(info->entries.front(), limit);
  }
  size_t alignment() const override { return kCudaAlignment; }
  llvm::Error run(const Arguments &arguments, const LaunchValues &values,
                  LaunchPart part, void *stream,
                  const LaunchKey &key) const override;
  llvm::Expected<bool> repeat(const LaunchKey &key,
                              void *stream) const override;
  llvm::Error checkContents(const Arguments &arguments,
                            void *stream) const override {
    return checkDeviceContents(arguments, *context,
                               static_cast<cuda::StreamHandle>(stream));
  }

private:
  /// Checks that launches can marshal what the kernel takes.
  llvm::Error check() const;
  /// Keeps what the driver says of the code that it made.
  llvm::Error describeAssembly(std::string log);
  /// Row blocks that are done side by side need as many CTAs.
  int limited(int limit) const {
    return std::max<int64_t>(
        limit, std::min<int64_t>(info->rowBlocks, context->device().numSMs));
  }
  int64_t numCTAs(const KernelInfo::Entry &entry, int limit) const {
    int64_t used = limit > 0 ? std::min(limited(limit), workers) : workers;
    return used * entry.launch.ctasPerWorker;
  }

  /// Whether a launch starts the entries with clusters.
  bool isPaired(const Arguments &arguments) const;
  /// Entries in the order of a launch.
  using EntryList = llvm::SmallVector<size_t, kMaxEntries>;
  /// Of a launch of the entry.
  cuda::LaunchConfig configOf(size_t entry, int limit, bool dependent) const;
  /// Finds out what does not depend on arguments.
  void prepareLaunches();
  void makeGraphs();

  std::shared_ptr<const cuda::Context> context;
  int workers;
  std::vector<std::shared_ptr<const cuda::Function>> functions; ///< by entry
  std::vector<ParameterRecipe> recipes;                         ///< by entry
  std::array<EntryList, 2> started; ///< by a launch; by whether it is paired
  mutable StreamGraphs graphs;      // goes before the functions
};

} // namespace

llvm::Error CudaKernel::check() const {
  if (info->entries.empty() || info->entries.size() > kMaxEntries)
    return createStringError(
        llvm::formatv("a kernel requires 1 to {0} entries, but has {1}",
                      kMaxEntries, info->entries.size()));
  if (llvm::Error error = checkLimits(*info))
    return error;
  return checkCudaParameters(*info);
}

llvm::Error CudaKernel::load(const std::string &ptx, const std::string &cubin,
                             unsigned threads) {
  if (llvm::Error error = check())
    return cuda::inStage("load", std::move(error));
  auto start = Clock::now();
  auto loaded = cubin.empty() ? loadEntries(context, ptx, *info, threads)
                              : loadCubin(context, cubin, *info);
  if (!loaded)
    return loaded.takeError();
  functions = std::move(loaded->functions);
  times.push_back({cubin.empty() ? "assemble" : "load", secondsSince(start),
                   /*isLoading=*/true});
  start = Clock::now();
  prepareLaunches();
  makeGraphs();
  deviceBytes += graphs.size() * cuda::LaunchGraph::kDeviceBytes;
  times.push_back({"graphs", secondsSince(start), /*isLoading=*/true});
  return cubin.empty() ? describeAssembly(std::move(loaded->assemblerLog))
                       : llvm::Error::success();
}

llvm::Error CudaKernel::describeAssembly(std::string log) {
  mlir::mla::PtxReport assembled = reportOfDriver(*context, std::move(log));
  info->warnings = mlir::mla::findPerformanceLosses(assembled);
  addLoaded(assembled, functions);
  auto text = describeCode(assembled, *info, /*withInstructions=*/false);
  if (!text)
    return text.takeError();
  report = std::move(*text);
  return llvm::Error::success();
}

bool CudaKernel::isPaired(const Arguments &arguments) const {
  return llvm::any_of(info->entries, [&](const KernelInfo::Entry &entry) {
    return entry.launch.cluster > 1 &&
           arguments.hasPairs(numCTAs(entry, arguments.maxWorkers()));
  });
}

void CudaKernel::prepareLaunches() {
  for (const KernelInfo::Entry &entry : info->entries)
    recipes.emplace_back(*info, entry);
  for (bool paired : {false, true})
    for (size_t e = 0; e < info->entries.size(); ++e)
      if (info->isStarted(e, paired))
        started[paired].push_back(e);
}

cuda::LaunchConfig CudaKernel::configOf(size_t index, int limit,
                                        bool dependent) const {
  const KernelInfo::Entry &entry = info->entries[index];
  cuda::LaunchConfig config;
  config.grid[0] = static_cast<unsigned>(numCTAs(entry, limit));
  config.cluster[0] = static_cast<unsigned>(entry.launch.cluster);
  config.block[0] = static_cast<unsigned>(entry.launch.threads);
  config.dynamicShared = static_cast<unsigned>(entry.launch.sharedBytes);
  config.programmaticDependent = dependent && entry.launch.dependent;
  return config;
}

void CudaKernel::makeGraphs() {
  bool hasPairs =
      llvm::any_of(info->entries, [](const KernelInfo::Entry &entry) {
        return entry.launch.cluster > 1;
      });
  for (bool paired : {false, true}) {
    if (paired && !hasPairs)
      break;
    llvm::SmallVector<StreamGraphs::Entry, kMaxEntries> entries;
    for (size_t e : started[paired])
      entries.push_back(
          {{functions[e].get(), configOf(e, /*limit=*/0, /*dependent=*/true),
            info->entries[e].params.size(), recipes[e].bytes()},
           recipes[e].numMaps()});
    graphs.create(entries, paired, info->hasPlanEntry,
                  info->isMerge ? 2 : StreamGraphs::kMostGraphs);
  }
}

llvm::Error CudaKernel::run(const Arguments &arguments,
                            const LaunchValues &values, LaunchPart part,
                            void *stream, const LaunchKey &key) const {
  if (arguments.isEmpty())
    return llvm::Error::success();
  bool paired = isPaired(arguments);
  llvm::ArrayRef<size_t> entries = started[paired];
  if (part != LaunchPart::All)
    entries =
        part == LaunchPart::Plan ? entries.take_front() : entries.drop_front();
  size_t first = entries.front();
  if (arguments.isDependent() && !info->entries[first].launch.dependent)
    return unsupported(ofArgument("flags"),
                       "requires no MLA_LAUNCH_PDL_WAIT: this kernel reads "
                       "before it waits for the kernel ahead");
  // Once for all that the driver is asked.
  auto scope = context->enter();
  if (!scope)
    return scope.takeError();
  // A graph begins when all before it has ended, and what is behind it when it
  // has.
  StreamGraphs::Lease graph;
  if (!arguments.isDependent() && !arguments.letsDependentsBegin())
    graphs.take(graph, *scope, static_cast<cuda::StreamHandle>(stream), part,
                paired, key.hash);
  int limit = arguments.maxWorkers();
  std::array<CudaParameters, kMaxEntries> parameters;
  for (auto [i, e] : llvm::enumerate(entries))
    if (llvm::Error error = recipes[e].fill(
            parameters[e], values, numCTAs(info->entries[e], limit), *scope,
            *context,
            graph ? graph.maps(i) : llvm::MutableArrayRef<EncodedMap>()))
      return error;
  if (graph) {
    llvm::SmallVector<cuda::LaunchGraph::Call, kMaxEntries> calls;
    for (size_t e : entries)
      calls.push_back(
          {{static_cast<unsigned>(numCTAs(info->entries[e], limit)), 1, 1},
           parameters[e].pointers(),
           parameters[e].bytes()});
    if (llvm::Error error = graph->launch(
            *scope, static_cast<cuda::StreamHandle>(stream), calls))
      return error;
    graph.remember(key);
    return llvm::Error::success();
  }
  for (size_t e : entries) {
    cuda::LaunchConfig config =
        configOf(e, limit, e != first || arguments.isDependent());
    config.stream = static_cast<cuda::StreamHandle>(stream);
    if (llvm::Error error =
            cuda::launch(*functions[e], config, parameters[e].pointers()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<bool> CudaKernel::repeat(const LaunchKey &key,
                                        void *given) const {
  auto *stream = static_cast<cuda::StreamHandle>(given);
  StreamGraphs::Lease graph;
  graphs.takeRemembered(graph, stream, key);
  if (!graph)
    return false;
  auto scope = context->enter();
  if (!scope)
    return scope.takeError();
  auto capturing = cuda::isCapturing(*scope, *context, stream);
  if (!capturing) { // the launch with all checks will say so
    llvm::consumeError(capturing.takeError());
    return false;
  }
  if (*capturing)
    return false;
  if (llvm::Error error = graph->repeat(*scope, stream))
    return std::move(error);
  return true;
}

llvm::Expected<std::unique_ptr<KernelState>>
loadCudaKernel(const CompileResult &compiled,
               std::shared_ptr<const cuda::Context> context, int maxWorkers,
               unsigned threads, std::shared_ptr<LaunchGraphBudget> graphs) {
  auto state = std::make_unique<CudaKernel>(compiled, std::move(context),
                                            maxWorkers, std::move(graphs));
  if (llvm::Error error = state->load(compiled.text, compiled.cubin, threads))
    return std::move(error);
  return state;
}

} // namespace mla_jit
