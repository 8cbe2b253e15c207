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

static constexpr auto kRelaxed = std::memory_order_relaxed;

/// A graph is given up after so many new launches since it was used: two steps
/// of most models.
static constexpr size_t kPatience = 128;

/// No stream's: null is the default stream, and 2 (the driver's
/// CU_STREAM_PER_THREAD) another stream in each thread.
const StreamHandle StreamGraphs::kNone =
    reinterpret_cast<StreamHandle>(~uintptr_t(0));
const StreamHandle StreamGraphs::kPerThread =
    reinterpret_cast<StreamHandle>(uintptr_t(2));

StreamGraphs::~StreamGraphs() {
  for (Set &set : sets) {
    set.graphs.clear();
    if (set.granted)
      budget->giveBack(set.granted);
  }
}

void StreamGraphs::makeSet(Set &set, llvm::ArrayRef<Entry> entries,
                           size_t most) {
  set.granted = budget->take(most);
  if (!set.granted)
    return;
  llvm::SmallVector<cuda::LaunchGraph::Kernel, 4> kernels;
  for (const Entry &entry : entries)
    kernels.push_back(entry.kernel);
  kernels.front().config.programmaticDependent = false;
  auto made = cuda::LaunchGraph::create(kernels, set.granted);
  size_t count = made ? made->size() : 0;
  budget->giveBack(std::exchange(set.granted, count) - count);
  if (!made) // launches are single ones, which take longer
    return llvm::consumeError(made.takeError());
  set.places = std::vector<Place>(count);
  set.graphs = std::vector<Graph>(count);
  for (auto [graph, executable] : llvm::zip_equal(set.graphs, *made)) {
    graph.graph.emplace(std::move(executable));
    graph.keyBytes.reserve(LaunchKey::kMaxBytes);
    for (const Entry &entry : entries)
      graph.maps.emplace_back(entry.numMaps);
  }
}

void StreamGraphs::create(llvm::ArrayRef<Entry> entries, bool paired,
                          bool hasPlanEntry, size_t most) {
  if (!budget)
    return;
  if (hasPlanEntry) {
    // Those who have plans made share them, so what is behind comes first; a
    // plan is made once a step.
    makeSet(sets[indexOf(LaunchPart::Work, paired)], entries.drop_front(),
            most);
    makeSet(sets[indexOf(LaunchPart::Plan, paired)], entries.take_front(),
            std::min<size_t>(most, 2));
  }
  makeSet(sets[indexOf(LaunchPart::All, paired)], entries, most);
  context = &entries.front().kernel.function->context();
}

size_t StreamGraphs::size() const {
  size_t count = 0;
  for (const Set &set : sets)
    count += set.graphs.size();
  return count;
}

size_t StreamGraphs::Set::find(StreamHandle stream, uint64_t hash) const {
  for (size_t i = 0, count = numTaken.load(kRelaxed); i < count; ++i)
    if (places[i].hash.load(kRelaxed) == hash &&
        places[i].stream.load(kRelaxed) == stream)
      return i;
  return kNowhere;
}

bool StreamGraphs::Set::takeNew(size_t index, StreamHandle stream) {
  if (!numTaken.compare_exchange_strong(index, index + 1, kRelaxed))
    return false;
  use(index);
  // Not abandoned from the moment that it is the stream's.
  places[index].stream.store(stream, std::memory_order_release);
  return true;
}

bool StreamGraphs::Set::isAbandoned(size_t index) const {
  const Place &place = places[index];
  return place.stream.load(std::memory_order_acquire) != kNone &&
         place.lastLaunch.load(kRelaxed) + kAbandoned <
             numLaunches.load(kRelaxed);
}

size_t StreamGraphs::Set::abandoned(bool leavesOne) const {
  auto isOnly = [&](size_t index) {
    return llvm::count_if(places, [&](const Place &place) {
             return place.stream.load(kRelaxed) ==
                    places[index].stream.load(kRelaxed);
           }) == 1;
  };
  size_t found = kNowhere;
  for (size_t i = 0, count = numTaken.load(kRelaxed); i < count; ++i)
    if (isAbandoned(i) &&
        (found == kNowhere || places[i].lastLaunch.load(kRelaxed) <
                                  places[found].lastLaunch.load(kRelaxed)) &&
        !(leavesOne && isOnly(i)))
      found = i;
  return found;
}

bool StreamGraphs::Set::own(size_t index, StreamHandle stream) {
  if (places[index].stream.load(kRelaxed) == stream)
    return true;
  if (!isAbandoned(index)) // used or taken since it was found
    return false;
  places[index].stream.store(stream, kRelaxed);
  return true;
}

bool StreamGraphs::Set::see(uint64_t hash) {
  for (std::atomic<uint64_t> &one : seen)
    if (one.load(kRelaxed) == hash)
      return true;
  size_t index = numSeen.fetch_add(1, kRelaxed) % seen.size();
  seen[index].store(hash, kRelaxed);
  return false;
}

size_t StreamGraphs::Set::first(StreamHandle stream) {
  for (size_t i = 0, count = places.size(); i < count; ++i) {
    // Another stream may take it at the same time.
    if (i == numTaken.load(kRelaxed) && takeNew(i, stream))
      return i;
    if (places[i].stream.load(kRelaxed) == stream)
      return i;
  }
  return kNowhere;
}

size_t StreamGraphs::Set::other(StreamHandle stream, size_t first) {
  size_t count = places.size();
  size_t taken = numTaken.load(kRelaxed);
  if (taken + 1 < count && takeNew(taken, stream))
    return taken;
  size_t now = numNew.load(kRelaxed);
  for (size_t i = 0; i < count; ++i)
    if (i != first && places[i].stream.load(kRelaxed) == stream &&
        places[i].lastUse.load(kRelaxed) + kPatience < now)
      return i;
  size_t others = abandoned(/*leavesOne=*/true);
  return others == kNowhere ? first : others;
}

size_t StreamGraphs::Set::choose(StreamHandle stream, uint64_t hash) {
  size_t index = first(stream);
  if (index == kNowhere)
    return abandoned(/*leavesOne=*/false);
  if (!hash)
    return index;
  numNew.fetch_add(1, kRelaxed);
  return see(hash) ? other(stream, index) : index;
}

void StreamGraphs::take(Lease &lease, const cuda::ContextScope &scope,
                        StreamHandle stream, LaunchPart part, bool paired,
                        uint64_t hash) {
  if (!context || stream == kPerThread)
    return;
  auto capturing = cuda::isCapturing(scope, *context, stream);
  if (!capturing) // the launch will say so
    return llvm::consumeError(capturing.takeError());
  if (*capturing)
    return;
  Set &set = sets[indexOf(part, paired)];
  set.numLaunches.fetch_add(1, kRelaxed);
  size_t index = set.find(stream, hash);
  if (index == kNowhere)
    index = set.choose(stream, hash);
  if (index == kNowhere || !lease.hold(set.graphs[index]))
    return;
  if (!set.own(index, stream))
    return lease.release();
  lease.held->keyBytes.clear();
  set.places[index].hash.store(hash, kRelaxed);
  set.use(index);
}

void StreamGraphs::takeRemembered(Lease &lease, StreamHandle stream,
                                  const LaunchKey &key) {
  if (!context || key.bytes.empty() || stream == kPerThread)
    return;
  for (Set &set : sets) {
    size_t index = set.find(stream, key.hash);
    if (index == kNowhere)
      continue;
    Graph &graph = set.graphs[index];
    Lease found;
    if (!found.hold(graph))
      return;
    if (set.places[index].stream.load(kRelaxed) != stream ||
        graph.plansVersion != key.plansVersion ||
        llvm::ArrayRef(graph.keyBytes) != key.bytes)
      continue;
    set.use(index);
    lease.held = std::exchange(found.held, nullptr);
    return;
  }
}

void StreamGraphs::Lease::remember(const LaunchKey &key) const {
  held->keyBytes.assign(key.bytes.begin(), key.bytes.end());
  held->plansVersion = key.plansVersion;
}

} // namespace mla_jit
