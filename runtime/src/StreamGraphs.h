//===- StreamGraphs.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_STREAMGRAPHS_H
#define MLA_JIT_SRC_STREAMGRAPHS_H

#include "EncodedMap.h"
#include "KernelState.h"
#include "LaunchGraphBudget.h"
#include "LaunchKey.h"
#include "cuda/LaunchGraph.h"

#include <atomic>

namespace mla_jit {

/// Launch graphs of one kernel. A graph keeps the stream that takes it first:
/// in another it could wait for what that one waits for. Each keeps what it
/// launched last. A stream's first one launches what is new; what comes again,
/// as a model's layers do at each step, gets one of its own, and needs nothing
/// then but to be started. All made beforehand, as launches allocate nothing.
/// Where there are none, launches are single ones.
///
/// A stream may be destroyed, of which nobody tells. So a graph that its stream
/// has not used for kAbandoned launches is taken by another that needs one.
/// Launches of one graph run one after the other in whatever streams, so the
/// new one waits for the old stream's last. That has nearly always ended, as no
/// stream's queue has room for so many. Where it has not, since its stream
/// stands still, what it waits for by events was enqueued before it, and so
/// before the new one: none waits for itself. Only waits for memory, which
/// whatever is behind may write, have no such order: they must not last for so
/// many launches.
class StreamGraphs {
public:
  /// Most graphs for launches of one kind: for 126 layers of a model, for what
  /// is new, and for another stream.
  static constexpr size_t kMostGraphs = 128;

  struct Entry {
    cuda::LaunchGraph::Kernel kernel;
    size_t numMaps = 0;
  };

  /// `budget` null: no graphs.
  explicit StreamGraphs(std::shared_ptr<LaunchGraphBudget> budget)
      : budget(std::move(budget)) {}
  ~StreamGraphs();
  /// Launches of one part, not counting repeated ones, after which a graph that
  /// its stream has not used may become another's. The driver queues a fourth.
  static constexpr size_t kAbandoned = 4096;

  /// Makes those of all parts of a launch. `paired`: of paired launches;
  /// `most`: of each part.
  void create(llvm::ArrayRef<Entry> entries, bool paired, bool hasPlanEntry,
              size_t most = kMostGraphs);
  /// Graphs of all parts.
  size_t size() const;

private:
  struct Graph {
    std::atomic_flag busy;
    std::optional<cuda::LaunchGraph> graph;
    std::vector<std::vector<EncodedMap>> maps; ///< of the last launch, by entry
    /// Of the last launch, if that succeeded.
    std::vector<char> keyBytes;
    uint64_t plansVersion = 0;
  };
  /// What graphs are found by; apart, as launches look at many.
  struct Place {
    std::atomic<uint64_t> hash = 0; ///< of the last launch's key
    std::atomic<cuda::StreamHandle> stream = kNone;
    std::atomic<size_t> lastUse = 0;    ///< Set::numNew of then
    std::atomic<size_t> lastLaunch = 0; ///< Set::numLaunches of then
  };
  /// Of one part of launches.
  struct Set {
    std::vector<Place> places;
    std::vector<Graph> graphs;        ///< by place
    size_t granted = 0;               ///< of the budget
    std::atomic<size_t> numTaken = 0; ///< the first so many belong to streams
    std::atomic<size_t> numNew = 0;   ///< launches that no graph had
    /// All that were not repeated, also those of streams without a graph.
    std::atomic<size_t> numLaunches = 0;
    /// Hashes of the latest ones that were not among these.
    std::array<std::atomic<uint64_t>, 256> seen = {};
    std::atomic<size_t> numSeen = 0;

    /// The position of the stream's graph that launched such a key last.
    size_t find(cuda::StreamHandle stream, uint64_t hash) const;
    /// That of a graph for another launch of the stream: its own, or one that
    /// isAbandoned.
    size_t choose(cuda::StreamHandle stream, uint64_t hash);
    /// The stream's first graph.
    size_t first(cuda::StreamHandle stream);
    /// Another one: one that no stream has, but for the last, or one of the
    /// stream's that was not used for long, or of another stream. Else the
    /// first: where more launches come in turn than there are graphs, each
    /// would lose its own before it comes again.
    size_t other(cuda::StreamHandle stream, size_t first);
    /// Of those that isAbandoned the one that was not used for longest.
    /// `leavesOne`: not the only one of its stream.
    size_t abandoned(bool leavesOne) const;
    /// Whether its stream has not used it for kAbandoned launches.
    bool isAbandoned(size_t index) const;
    void use(size_t index) {
      constexpr auto kRelaxed = std::memory_order_relaxed;
      places[index].lastUse.store(numNew.load(kRelaxed), kRelaxed);
      places[index].lastLaunch.store(numLaunches.load(kRelaxed), kRelaxed);
    }
    bool takeNew(size_t index, cuda::StreamHandle stream);
    /// Whether the graph, which the caller holds, is the stream's; one that
    /// isAbandoned becomes it.
    bool own(size_t index, cuda::StreamHandle stream);
    /// Whether such a launch was seen not long ago; else it is now.
    bool see(uint64_t hash);
  };
  static constexpr size_t kNowhere = ~size_t(0);

public:
  /// The use of a graph by one thread.
  class Lease {
  public:
    Lease() = default;
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease() { release(); }
    explicit operator bool() const { return held; }
    cuda::LaunchGraph *operator->() const { return &*held->graph; }
    /// The tensor maps of the last launch, of its entry at `index`.
    llvm::MutableArrayRef<EncodedMap> maps(size_t index) const {
      return held->maps[index];
    }
    /// After a launch that succeeded.
    void remember(const LaunchKey &key) const;

  private:
    friend class StreamGraphs;
    bool hold(Graph &graph) {
      if (graph.busy.test_and_set(std::memory_order_acquire))
        return false;
      held = &graph;
      return true;
    }
    void release() {
      if (held)
        std::exchange(held, nullptr)->busy.clear(std::memory_order_release);
    }
    Graph *held = nullptr;
  };

  /// A graph to launch with new arguments. Nothing where the stream has none,
  /// where another thread uses it, and of streams that are being captured.
  /// Inside the context.
  void take(Lease &lease, const cuda::ContextScope &scope,
            cuda::StreamHandle stream, LaunchPart part, bool paired,
            uint64_t hash = 0);
  /// The stream's graph whose last launch had that key, if there is one.
  void takeRemembered(Lease &lease, cuda::StreamHandle stream,
                      const LaunchKey &key);

private:
  static const cuda::StreamHandle kNone, kPerThread;

  static size_t indexOf(LaunchPart part, bool paired) {
    return 2 * static_cast<size_t>(part) + paired;
  }
  void makeSet(Set &set, llvm::ArrayRef<Entry> entries, size_t most);

  std::shared_ptr<LaunchGraphBudget> budget;
  std::array<Set, 6> sets;
  const cuda::Context *context = nullptr; ///< null: there are no graphs
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_STREAMGRAPHS_H
