//===- StreamGraphs.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamGraphs.h"

namespace mla_jit {

using cuda::StreamHandle;

/// No stream's: null is the default stream, and 2 (the driver's
/// CU_STREAM_PER_THREAD) another stream in each thread.
const StreamHandle StreamGraphs::kNone =
    reinterpret_cast<StreamHandle>(~uintptr_t(0));
const StreamHandle StreamGraphs::kPerThread =
    reinterpret_cast<StreamHandle>(uintptr_t(2));

void StreamGraphs::create(llvm::ArrayRef<cuda::LaunchGraph::Kernel> entries,
                          bool paired, bool hasPlanEntry) {
  for (OfStream &one : streams) {
    auto make = [&](LaunchPart part,
                    llvm::ArrayRef<cuda::LaunchGraph::Kernel> of) {
      llvm::SmallVector<cuda::LaunchGraph::Kernel, 4> kernels(of);
      kernels.front().config.programmaticDependent = false;
      auto graph = cuda::LaunchGraph::create(kernels);
      if (!graph) // launches are single ones, which take longer
        return llvm::consumeError(graph.takeError());
      one.graphs[indexOf(part, paired)].emplace(std::move(*graph));
    };
    make(LaunchPart::All, entries);
    if (hasPlanEntry) {
      make(LaunchPart::Plan, entries.take_front());
      make(LaunchPart::Work, entries.drop_front());
    }
  }
  context = &entries.front().function->context();
}

StreamGraphs::OfStream *StreamGraphs::find(StreamHandle stream) {
  for (OfStream &one : streams) {
    StreamHandle owner = one.stream.load(std::memory_order_relaxed);
    if (owner == stream ||
        (owner == kNone && (one.stream.compare_exchange_strong(owner, stream) ||
                            owner == stream)))
      return &one;
  }
  return nullptr;
}

void StreamGraphs::take(Lease &lease, const cuda::ContextScope &scope,
                        StreamHandle stream, LaunchPart part, bool paired) {
  if (!context || stream == kPerThread)
    return;
  auto capturing = cuda::isCapturing(scope, *context, stream);
  if (!capturing) // the launch will say so
    return llvm::consumeError(capturing.takeError());
  if (*capturing)
    return;
  OfStream *found = find(stream);
  if (!found)
    return;
  auto &graph = found->graphs[indexOf(part, paired)];
  if (!graph || found->busy.test_and_set(std::memory_order_acquire))
    return;
  lease.graph = &*graph;
  lease.place = found - streams.begin();
  lease.busy = &found->busy;
}

} // namespace mla_jit
