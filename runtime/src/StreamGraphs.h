//===- StreamGraphs.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_STREAMGRAPHS_H
#define MLA_JIT_SRC_STREAMGRAPHS_H

#include "KernelState.h"
#include "cuda/LaunchGraph.h"

#include <atomic>

namespace mla_jit {

/// Launch graphs of one kernel for the first streams that launch it. A stream
/// keeps its graphs for good: in another they could wait for what that one
/// waits for. All launches elsewhere are single ones.
class StreamGraphs {
public:
  static constexpr size_t kStreams = 2;

  /// Makes those of all streams, so that a launch allocates nothing; none where
  /// the device has no room. `paired`: of paired launches.
  void create(llvm::ArrayRef<cuda::LaunchGraph::Kernel> entries, bool paired,
              bool hasPlanEntry);

  /// The use of a graph by one thread.
  class Lease {
  public:
    Lease() = default;
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease() {
      if (busy)
        busy->clear(std::memory_order_release);
    }
    cuda::LaunchGraph *operator->() const { return graph; }
    /// Which of the kStreams it is of.
    size_t stream() const { return place; }
    explicit operator bool() const { return graph; }

  private:
    friend class StreamGraphs;
    cuda::LaunchGraph *graph = nullptr;
    size_t place = 0;
    std::atomic_flag *busy = nullptr;
  };
  /// Nothing where there is no graph of the stream, where another thread uses
  /// it, and of streams that are being captured. Inside the context.
  void take(Lease &lease, const cuda::ContextScope &scope,
            cuda::StreamHandle stream, LaunchPart part, bool paired);

private:
  struct OfStream {
    std::atomic<cuda::StreamHandle> stream = kNone;
    std::atomic_flag busy;
    std::array<std::optional<cuda::LaunchGraph>, 6> graphs;
  };
  static const cuda::StreamHandle kNone, kPerThread;

  static size_t indexOf(LaunchPart part, bool paired) {
    return 2 * static_cast<size_t>(part) + paired;
  }
  OfStream *find(cuda::StreamHandle stream);

  std::array<OfStream, kStreams> streams;
  const cuda::Context *context = nullptr; ///< null: there are none
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_STREAMGRAPHS_H
