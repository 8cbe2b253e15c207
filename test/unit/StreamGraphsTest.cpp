//===- StreamGraphsTest.cpp ----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/StreamGraphs.h"
#include "../../runtime/src/cuda/Tools.h"
#include "CudaFixture.h"
#include "llvm/ADT/Hashing.h"

#include <map>
#include <thread>

using namespace mla_jit;
using cuda::StreamHandle;

namespace {
class StreamGraphsTest : public cuda::CudaTest {
protected:
  StreamGraphsTest() {
    function = loadFunction();
    StreamGraphs::Entry entry{{function.get(), {}, 3}};
    entry.kernel.config.programmaticDependent = true;
    entries = {entry, entry, entry};
  }
  ~StreamGraphsTest() override { function.reset(); }

  bool has(StreamGraphs &graphs, StreamHandle stream,
           LaunchPart part = LaunchPart::All, bool paired = false) {
    StreamGraphs::Lease lease;
    graphs.take(lease, scope(), stream, part, paired);
    return static_cast<bool>(lease);
  }
  /// For the rest of the expression.
  cuda::ContextScope scope() { return cuda::get(context->enter()); }
  cuda::Stream newStream() { return cuda::get(cuda::Stream::create(context)); }

  /// Enough for two graphs of each part.
  std::shared_ptr<LaunchGraphBudget> budget =
      std::make_shared<LaunchGraphBudget>(6);
  std::shared_ptr<const cuda::Function> function;
  llvm::SmallVector<StreamGraphs::Entry, 4> entries;
};
} // namespace

TEST_F(StreamGraphsTest, LaunchesWhatSingleLaunchesWould) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/true);
  EXPECT_TRUE(fake->launches.empty());
  uint64_t values[3] = {11, 12, 13};
  void *parameters[3] = {&values[0], &values[1], &values[2]};
  for (auto [part, count] : {std::pair{LaunchPart::All, 3u},
                             {LaunchPart::Plan, 1u},
                             {LaunchPart::Work, 2u}}) {
    cuda::Stream stream = newStream();
    StreamGraphs::Lease lease;
    graphs.take(lease, scope(), nullptr, part, /*paired=*/false);
    ASSERT_TRUE(lease);
    std::vector<cuda::LaunchGraph::Call> calls(count, {{7, 1, 1}, parameters});
    calls.back().grid[0] = 9;
    fake->launches.clear();
    ASSERT_TRUE(
        cuda::Failure(lease->launch(scope(), stream.handle(), calls)).ok);
    ASSERT_EQ(fake->launches.size(), count);
    EXPECT_EQ(fake->launches.back().config.grid[0], 9u);
    EXPECT_EQ(fake->launches.back().config.stream, stream.handle());
    EXPECT_EQ(fake->launches.back().parameters,
              (std::vector<uint64_t>{11, 12, 13}));
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(fake->launches[i].attributes.size(), i ? 1u : 0u) << i;
  }
}

namespace {
/// Launches of one graph of two kernels, and how often the driver was told of
/// parameters.
class ToldTest : public StreamGraphsTest {
protected:
  ToldTest() {
    cuda::LaunchGraph::Kernel kernel = entries[0].kernel;
    kernel.numBytes = sizeof(values[0]);
    graph.emplace(std::move(
        cuda::get(cuda::LaunchGraph::create({kernel, kernel}, 1)).front()));
  }

  void launch() {
    std::vector<void *> pointers[2];
    std::vector<cuda::LaunchGraph::Call> calls;
    for (size_t i = 0; i < 2; ++i) {
      for (uint64_t &value : values[i])
        pointers[i].push_back(&value);
      llvm::ArrayRef<char> bytes(reinterpret_cast<char *>(values[i].data()),
                                 sizeof(values[i]));
      calls.push_back({{grid, 1, 1},
                       pointers[i],
                       hasBytes ? bytes : llvm::ArrayRef<char>()});
    }
    fake->launches.clear();
    failure = cuda::Failure(graph->launch(scope(), nullptr, calls));
  }
  /// Launches with what is set now, and returns how often the driver was told.
  int tellings() {
    int &count = fake->calls["cuGraphExecKernelNodeSetParams"];
    count = 0;
    launch();
    if (fake->launches.size() == 2)
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(fake->launches[i].parameters,
                  std::vector<uint64_t>(values[i].begin(), values[i].end()));
        EXPECT_EQ(fake->launches[i].config.grid[0], grid);
      }
    return count;
  }

  std::array<std::array<uint64_t, 3>, 2> values = {{{1, 2, 3}, {4, 5, 6}}};
  unsigned grid = 7;
  bool hasBytes = true;
  cuda::Failure failure = llvm::Error::success();
  std::optional<cuda::LaunchGraph> graph;
};
} // namespace

TEST_F(ToldTest, OfWhatChangedAlone) {
  EXPECT_EQ(tellings(), 2);
  EXPECT_EQ(tellings(), 0);
  values[1][2] = 60;
  EXPECT_EQ(tellings(), 1);
  EXPECT_EQ(tellings(), 0);
  values[0][0] = 10;
  EXPECT_EQ(tellings(), 1);
  grid = 8;
  EXPECT_EQ(tellings(), 2);
  EXPECT_EQ(tellings(), 0);
}

TEST_F(ToldTest, AlwaysWithoutTheBytes) {
  hasBytes = false;
  EXPECT_EQ(tellings(), 2);
  EXPECT_EQ(tellings(), 2);
  hasBytes = true;
  EXPECT_EQ(tellings(), 2);
  EXPECT_EQ(tellings(), 0);
}

TEST_F(ToldTest, AgainAfterAFailure) {
  EXPECT_EQ(tellings(), 2);
  values[0][1] = 20;
  fail("cuGraphExecKernelNodeSetParams", cuda::OutOfMemory);
  launch();
  EXPECT_FALSE(failure.ok);
  fake->failures.clear();
  // Also if that is what the driver knew before.
  values[0][1] = 2;
  EXPECT_EQ(tellings(), 1);
}

namespace {
/// Launches that are remembered, of kernels with one parameter each.
class RememberedTest : public StreamGraphsTest {
protected:
  static constexpr size_t kGraphs = 4;
  RememberedTest() {
    budget = std::make_shared<LaunchGraphBudget>(4 * kGraphs);
    graphs.emplace(budget);
    graphs->create(entries, /*paired=*/false, /*hasPlanEntry=*/false, kGraphs);
  }

  static LaunchKey keyOf(const std::string &text) {
    LaunchKey key;
    key.bytes = text;
    key.hash = llvm::hash_value(text);
    return key;
  }
  /// Launches with all parameters that value; false if there is no graph.
  bool launch(const LaunchKey &key, uint64_t value,
              StreamHandle stream = nullptr) {
    StreamGraphs::Lease lease;
    graphs->take(lease, scope(), stream, LaunchPart::All, /*paired=*/false,
                 key.hash);
    if (!lease)
      return false;
    void *parameters[3] = {&value, &value, &value};
    std::vector<cuda::LaunchGraph::Call> calls(3, {{1, 1, 1}, parameters});
    if (!cuda::Failure(lease->launch(scope(), stream, calls)).ok)
      return false;
    lease.remember(key);
    return true;
  }
  /// Launches texts[i] with 10 + i, something else, and that again.
  bool launchTwice(size_t i) {
    return launch(keyOf(texts[i]), 10 + i) &&
           launch(keyOf("once " + texts[i]), 1) &&
           launch(keyOf(texts[i]), 10 + i);
  }
  /// The parameter that is launched again; 0 if nothing is.
  uint64_t repeat(const LaunchKey &key, StreamHandle stream = nullptr) {
    StreamGraphs::Lease lease;
    graphs->takeRemembered(lease, stream, key);
    if (!lease)
      return 0;
    fake->launches.clear();
    EXPECT_TRUE(cuda::Failure(lease->repeat(scope(), stream)).ok);
    EXPECT_EQ(fake->launches.size(), 3u);
    return fake->launches.back().parameters[0];
  }

  std::optional<StreamGraphs> graphs;
  const std::array<std::string, 5> texts = {"one", "two", "three", "four",
                                            "five"};
};
} // namespace

TEST_F(RememberedTest, EachGraphKeepsItsLaunch) {
  for (auto [i, text] : llvm::enumerate(texts))
    EXPECT_EQ(repeat(keyOf(text)), 0u) << i;
  // The first is for what is new, the last is left to another stream.
  for (size_t i = 0; i < kGraphs - 2; ++i)
    EXPECT_TRUE(launchTwice(i));
  int told = fake->calls["cuGraphExecKernelNodeSetParams"];
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < kGraphs - 2; ++i)
      EXPECT_EQ(repeat(keyOf(texts[i])), 10 + i);
  EXPECT_EQ(fake->calls["cuGraphExecKernelNodeSetParams"], told);
}

TEST_F(RememberedTest, WhatIsNotRepeatedIsForgotten) {
  // Two of four graphs are for what is new, and for another stream.
  EXPECT_TRUE(launchTwice(0));
  EXPECT_TRUE(launchTwice(1));
  for (int i = 0; i < 128; ++i) {
    EXPECT_TRUE(launch(keyOf("new " + std::to_string(i)), 1));
    EXPECT_EQ(repeat(keyOf(texts[1])), 11u);
  }
  EXPECT_TRUE(launchTwice(2));
  EXPECT_TRUE(launchTwice(3)); // has none of its own: it is that of what is new
  EXPECT_TRUE(launch(keyOf("newest"), 1));
  EXPECT_EQ(repeat(keyOf(texts[0])), 0u);
  EXPECT_EQ(repeat(keyOf(texts[1])), 11u);
  EXPECT_EQ(repeat(keyOf(texts[2])), 12u);
  EXPECT_EQ(repeat(keyOf(texts[3])), 0u);
}

// A step of more layers than there are graphs: some are remembered all the
// same.
TEST_F(RememberedTest, WhatThereIsNoRoomForTakesNoOthersGraph) {
  std::array<int, 5> repeated = {};
  for (int step = 0; step < 20; ++step)
    for (auto [i, text] : llvm::enumerate(texts))
      if (uint64_t value = repeat(keyOf(text))) {
        EXPECT_EQ(value, 10 + i);
        ++repeated[i];
      } else {
        EXPECT_TRUE(launch(keyOf(text), 10 + i));
      }
  EXPECT_EQ(repeated, (std::array<int, 5>{18, 18, 0, 0, 0}));
}

TEST_F(RememberedTest, WhatComesOnceTakesNoOthersGraph) {
  EXPECT_TRUE(launchTwice(0));
  EXPECT_TRUE(launchTwice(1));
  for (size_t i : {2, 3, 4}) {
    EXPECT_TRUE(launch(keyOf(texts[i]), 10 + i));
    EXPECT_EQ(repeat(keyOf(texts[i])), 10u + i); // at once
  }
  EXPECT_EQ(repeat(keyOf(texts[0])), 10u);
  EXPECT_EQ(repeat(keyOf(texts[1])), 11u);
  EXPECT_EQ(repeat(keyOf(texts[3])), 0u);
}

TEST_F(RememberedTest, OfItsStreamAlone) {
  cuda::Stream other = newStream(), third = newStream();
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(launchTwice(i));
  EXPECT_EQ(repeat(keyOf(texts[3]), other.handle()), 0u);
  EXPECT_TRUE(launch(keyOf(texts[3]), 20, other.handle()));
  EXPECT_EQ(repeat(keyOf(texts[3]), other.handle()), 20u);
  EXPECT_EQ(repeat(keyOf(texts[3])), 13u);
  EXPECT_FALSE(launch(keyOf(texts[3]), 30, third.handle()));
}

// Two keys of one hash take one graph in turn, and are not confused.
TEST_F(RememberedTest, ByAllOfTheKey) {
  LaunchKey one = keyOf(texts[0]), two = keyOf(texts[1]);
  two.hash = one.hash;
  EXPECT_TRUE(launch(one, 10));
  EXPECT_EQ(repeat(two), 0u);
  EXPECT_TRUE(launch(two, 20));
  EXPECT_EQ(repeat(one), 0u);
  EXPECT_EQ(repeat(two), 20u);
  two.plansVersion = 1;
  EXPECT_EQ(repeat(two), 0u);
}

TEST_F(RememberedTest, NotALaunchThatFailed) {
  LaunchKey key = keyOf(texts[0]);
  EXPECT_TRUE(launch(key, 10));
  for (const char *call : {"cuGraphExecKernelNodeSetParams", "cuGraphLaunch"}) {
    fail(call, cuda::OutOfMemory);
    EXPECT_FALSE(launch(key, 20)) << call;
    fake->failures.clear();
    EXPECT_EQ(repeat(key), 0u) << call;
    EXPECT_TRUE(launch(key, 10));
    EXPECT_EQ(repeat(key), 10u) << call;
  }
}

// A stream that has none takes what another has not used for longest.
TEST_F(RememberedTest, AnotherStreamsOnceAbandoned) {
  cuda::Stream second = newStream(), third = newStream();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(launchTwice(i));
  EXPECT_TRUE(launch(keyOf(texts[3]), 20, second.handle()));
  size_t refused = 0;
  while (!launch(keyOf(texts[4]), 30, third.handle())) {
    ++refused;
    if (refused == StreamGraphs::kAbandoned / 2) {
      EXPECT_EQ(repeat(keyOf(texts[1])), 11u);
      EXPECT_EQ(repeat(keyOf(texts[3]), second.handle()), 20u);
    }
    ASSERT_LE(refused, StreamGraphs::kAbandoned);
  }
  EXPECT_GT(refused, StreamGraphs::kAbandoned - 20);
  EXPECT_EQ(repeat(keyOf(texts[4]), third.handle()), 30u);
  EXPECT_EQ(repeat(keyOf(texts[0])), 0u);
  EXPECT_EQ(repeat(keyOf(texts[0]), third.handle()), 0u);
  EXPECT_EQ(repeat(keyOf(texts[1])), 11u);
  EXPECT_EQ(repeat(keyOf(texts[3]), second.handle()), 20u);
}

TEST_F(RememberedTest, NotAnotherStreamsThatIsInUse) {
  graphs.emplace(budget);
  graphs->create(entries, /*paired=*/false, /*hasPlanEntry=*/false, 2);
  cuda::Stream second = newStream(), third = newStream();
  EXPECT_TRUE(launch(keyOf(texts[0]), 10));
  EXPECT_TRUE(launch(keyOf(texts[0]), 20, second.handle()));
  for (size_t i = 0; i < 3 * StreamGraphs::kAbandoned; ++i) {
    ASSERT_FALSE(launch(keyOf(texts[1]), 30, third.handle()));
    if (i % (StreamGraphs::kAbandoned / 2) == 0) {
      EXPECT_EQ(repeat(keyOf(texts[0])), 10u);
      EXPECT_TRUE(launch(keyOf(texts[0]), 20, second.handle()));
    }
  }
}

// A host that makes its stream anew has its layers remembered again.
TEST_F(RememberedTest, AllButOneOfAnAbandonedStream) {
  cuda::Stream old = newStream(), fresh = newStream();
  auto launchLayers = [&](const cuda::Stream &stream) {
    size_t repeated = 0;
    for (size_t i : {0, 1}) {
      if (repeat(keyOf(texts[i]), stream.handle()))
        ++repeated;
      else
        EXPECT_TRUE(launch(keyOf(texts[i]), 10 + i, stream.handle()));
    }
    return repeated;
  };
  for (int step = 0; step < 4; ++step)
    launchLayers(old);
  EXPECT_EQ(launchLayers(old), 2u);
  size_t steps = 0;
  while (launchLayers(fresh) < 2)
    ASSERT_LT(++steps, StreamGraphs::kAbandoned);
  EXPECT_GT(steps, StreamGraphs::kAbandoned / 2 - 20);
  EXPECT_TRUE(launch(keyOf(texts[2]), 30, old.handle()));
}

namespace {
class ThreadsTest : public RememberedTest {
protected:
  static constexpr size_t kThreads = 4, kKeys = 24;
  using Count = std::map<std::pair<StreamHandle, uint64_t>, size_t>;

  ThreadsTest() {
    budget = std::make_shared<LaunchGraphBudget>(32);
    graphs.emplace(budget);
    graphs->create(entries, /*paired=*/false, /*hasPlanEntry=*/false, 8);
  }
  /// Threads share kernels and streams, keys come and go, and some have one
  /// hash: whatever a graph repeats is what its key says.
  void launchAll(
      size_t rounds,
      llvm::function_ref<StreamHandle(size_t thread, size_t round)> streamOf);

  Count seen; ///< launches of a value in a stream
  std::atomic<size_t> repeated = 0;
};
} // namespace

void ThreadsTest::launchAll(
    size_t rounds,
    llvm::function_ref<StreamHandle(size_t thread, size_t round)> streamOf) {
  Count started[kThreads];
  auto work = [&](size_t thread) {
    uint64_t random = thread + 1;
    for (size_t round = 0; round < rounds; ++round) {
      StreamHandle stream = streamOf(thread, round);
      random = random * 6364136223846793005u + 1442695040888963407u;
      // One key is what comes most; the plans change now and then.
      size_t number = random >> 33 & 1 ? 0 : (random >> 40) % kKeys;
      std::string text(1 + number, 'k');
      LaunchKey key = keyOf(text);
      key.hash = 1 + number / 2;
      key.plansVersion = round / 1000;
      uint64_t value = 1000 + 10 * number + key.plansVersion;
      bool isStarted = false;
      {
        StreamGraphs::Lease lease;
        graphs->takeRemembered(lease, stream, key);
        if (lease) {
          ++repeated;
          isStarted = cuda::Failure(lease->repeat(scope(), stream)).ok;
        }
      }
      if (isStarted || launch(key, value, stream))
        ++started[thread][{stream, value}];
    }
  };
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread &thread : threads)
    thread.join();
  Count expected;
  for (const Count &count : started)
    for (auto [what, number] : count)
      expected[what] += 3 * number;
  for (const FakeCuda::Launch &launch : fake->launches)
    ++seen[{launch.config.stream, launch.parameters[0]}];
  EXPECT_EQ(seen, expected);
}

TEST_F(ThreadsTest, KeepTheirStreams) {
  cuda::Stream streams[] = {newStream(), newStream()};
  launchAll(3000, [&](size_t thread, size_t) {
    return streams[thread % 2].handle();
  });
  EXPECT_GT(repeated, 300u);
}

// More streams than graphs, some of them left: what is abandoned changes hands
// while others look for it.
TEST_F(ThreadsTest, LeaveTheirStreams) {
  std::vector<cuda::Stream> streams;
  for (int i = 0; i < 12; ++i)
    streams.push_back(newStream());
  constexpr size_t kStay = 8000;
  launchAll(3 * kStay, [&](size_t thread, size_t round) {
    return streams[(4 * (round / kStay) + thread + round % 2) % streams.size()]
        .handle();
  });
  EXPECT_GT(repeated, 300u);
  std::set<StreamHandle> served;
  for (const auto &[what, count] : seen)
    served.insert(what.first);
  EXPECT_GT(served.size(), 8u); // than there are graphs
}

TEST_F(RememberedTest, NotWithoutAKey) {
  EXPECT_TRUE(launch(LaunchKey(), 10));
  EXPECT_EQ(repeat(LaunchKey()), 0u);
}

TEST_F(StreamGraphsTest, TakeOfTheBudgetWhatTheyHave) {
  budget = std::make_shared<LaunchGraphBudget>(40);
  {
    StreamGraphs graphs(budget);
    graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
    EXPECT_EQ(budget->take(100), 7u); // of 30
    budget->giveBack(7);
  }
  EXPECT_EQ(budget->take(100), 10u);
  // What the driver did not make.
  budget = std::make_shared<LaunchGraphBudget>(40);
  StreamGraphs none(budget);
  fail("cuGraphUpload", cuda::OutOfMemory);
  none.create(entries, /*paired=*/false, /*hasPlanEntry=*/true);
  EXPECT_EQ(budget->take(100), 10u);
}

// The KV pool has most of the memory: what is loaded later needs the rest.
TEST_F(StreamGraphsTest, LeaveMemoryToWhatComesLater) {
  auto graphsWith = [&](size_t freeBytes) {
    budget = std::make_shared<LaunchGraphBudget>(40);
    fake->memoryBytes = 2 * (fake->usedBytes + freeBytes);
    StreamGraphs graphs(budget);
    graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
    size_t left = budget->take(100);
    EXPECT_EQ(left, (40 - graphs.size()) / 4);
    return graphs.size();
  };
  constexpr size_t kBytes = cuda::LaunchGraph::kDeviceBytes;
  EXPECT_EQ(graphsWith(8 * 9 * kBytes), 9u);
  EXPECT_EQ(graphsWith(8 * 10 * kBytes), 10u);
  EXPECT_EQ(graphsWith(8 * 11 * kBytes), 10u); // of the budget
  fake->calls.clear();
  EXPECT_EQ(graphsWith(8 * kBytes - 1), 0u);
  EXPECT_EQ(fake->calls["cuMemGetInfo"], 1);
  EXPECT_EQ(fake->calls["cuStreamCreate"], 0);
}

TEST_F(StreamGraphsTest, AreMadeOfOneCapture) {
  budget = std::make_shared<LaunchGraphBudget>(40);
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  EXPECT_EQ(fake->calls["cuStreamBeginCapture"], 1);
  EXPECT_EQ(fake->calls["cuGraphInstantiateWithFlags"], 10);
}

TEST_F(StreamGraphsTest, NoneWithoutABudget) {
  for (const auto &none : {std::shared_ptr<LaunchGraphBudget>(),
                           std::make_shared<LaunchGraphBudget>(0)}) {
    StreamGraphs graphs(none);
    graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/true);
    EXPECT_FALSE(has(graphs, nullptr));
  }
}

TEST(LaunchGraphBudgetTest, LeavesSomeToOthers) {
  LaunchGraphBudget budget(20);
  EXPECT_EQ(budget.take(3), 3u);
  EXPECT_EQ(budget.take(97), 4u); // of 17
  EXPECT_EQ(budget.take(97), 3u); // of 13
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(budget.take(97), 2u);
  EXPECT_EQ(budget.take(97), 0u);
  budget.giveBack(1);
  EXPECT_EQ(budget.take(97), 1u);
}

TEST_F(StreamGraphsTest, StreamsKeepTheirGraphs) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  cuda::Stream first = newStream(), second = newStream();
  EXPECT_TRUE(has(graphs, first.handle()));
  EXPECT_TRUE(has(graphs, nullptr)); // the default stream
  EXPECT_FALSE(has(graphs, second.handle()));
  EXPECT_TRUE(has(graphs, first.handle()));
  EXPECT_FALSE(has(graphs, first.handle(), LaunchPart::Work));
}

TEST_F(StreamGraphsTest, LaunchesWithClustersHaveGraphsOfTheirOwn) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  EXPECT_FALSE(has(graphs, nullptr, LaunchPart::All, /*paired=*/true));
  entries[0].kernel.config.cluster[0] = 2;
  entries[0].kernel.config.grid[0] = 2;
  graphs.create(entries, /*paired=*/true, /*hasPlanEntry=*/false);
  EXPECT_TRUE(has(graphs, nullptr, LaunchPart::All, /*paired=*/true));
  EXPECT_TRUE(has(graphs, nullptr));
}

TEST_F(StreamGraphsTest, PerThreadStreamsAreManyStreams) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  EXPECT_FALSE(has(graphs, reinterpret_cast<StreamHandle>(uintptr_t(2))));
}

TEST_F(StreamGraphsTest, OneThreadAtATime) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  {
    StreamGraphs::Lease lease;
    graphs.take(lease, scope(), nullptr, LaunchPart::All, /*paired=*/false);
    ASSERT_TRUE(lease);
    std::thread other([&] { EXPECT_FALSE(has(graphs, nullptr)); });
    other.join();
  }
  EXPECT_TRUE(has(graphs, nullptr));
}

TEST_F(StreamGraphsTest, NotInACapture) {
  StreamGraphs graphs(budget);
  graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
  cuda::Stream stream = newStream();
  auto graph = cuda::Graph::capture(context, stream, [&]() -> llvm::Error {
    EXPECT_FALSE(has(graphs, stream.handle()));
    return llvm::Error::success();
  });
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_TRUE(has(graphs, stream.handle()));
}

// While another stream is captured in this thread, which forbids much.
TEST_F(StreamGraphsTest, AreMadeBesideACapture) {
  cuda::Stream stream = newStream();
  auto graph = cuda::Graph::capture(context, stream, [&]() -> llvm::Error {
    StreamGraphs graphs(budget);
    graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/false);
    EXPECT_TRUE(has(graphs, nullptr));
    return llvm::Error::success();
  });
  EXPECT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
}

TEST_F(StreamGraphsTest, NoneWhereTheDriverMakesNone) {
  for (const char *call :
       {"cuMemGetInfo", "cuStreamCreate", "cuStreamBeginCapture",
        "cuLaunchKernelEx", "cuStreamGetCaptureInfo", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphUpload"}) {
    StreamGraphs graphs(budget);
    fail(call, cuda::OutOfMemory);
    graphs.create(entries, /*paired=*/false, /*hasPlanEntry=*/true);
    fake->failures.clear();
    EXPECT_FALSE(has(graphs, nullptr)) << call;
  }
}

TEST_F(StreamGraphsTest, FailuresNameTheCallAndTheKernel) {
  auto graph = std::move(
      cuda::get(cuda::LaunchGraph::create({entries[0].kernel}, 1)).front());
  uint64_t value = 0;
  void *parameters[3] = {&value, &value, &value};
  cuda::LaunchGraph::Call call{{1, 1, 1}, parameters};
  for (const char *name : {"cuGraphExecKernelNodeSetParams", "cuGraphLaunch"}) {
    fail(name, cuda::IllegalAddress);
    cuda::Failure failure = graph.launch(scope(), nullptr, {call});
    EXPECT_EQ(failure.kind, cuda::ErrorKind::DeviceLost);
    EXPECT_TRUE(failure.says(name)) << failure.message;
    EXPECT_TRUE(failure.says("vector_add")) << failure.message;
    fake->failures.clear();
  }
}
