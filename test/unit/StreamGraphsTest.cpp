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

#include <thread>

using namespace mla_jit;
using cuda::StreamHandle;

namespace {
class StreamGraphsTest : public cuda::CudaTest {
protected:
  StreamGraphsTest() {
    function = loadFunction();
    cuda::LaunchGraph::Kernel entry{function.get(), {}, 3};
    entry.config.programmaticDependent = true;
    kernels = {entry, entry, entry};
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

  std::shared_ptr<const cuda::Function> function;
  llvm::SmallVector<cuda::LaunchGraph::Kernel, 4> kernels;
};
} // namespace

TEST_F(StreamGraphsTest, LaunchesWhatSingleLaunchesWould) {
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/true);
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
    for (cuda::LaunchGraph::Kernel &kernel : kernels)
      kernel.numBytes = sizeof(values[0]);
    kernels.pop_back();
    graph.emplace(cuda::get(cuda::LaunchGraph::create(kernels)));
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

TEST_F(StreamGraphsTest, StreamsKeepTheirGraphs) {
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
  cuda::Stream first = newStream(), second = newStream();
  EXPECT_TRUE(has(graphs, first.handle()));
  EXPECT_TRUE(has(graphs, nullptr)); // the default stream
  EXPECT_FALSE(has(graphs, second.handle()));
  EXPECT_TRUE(has(graphs, first.handle()));
  EXPECT_FALSE(has(graphs, first.handle(), LaunchPart::Work));
}

TEST_F(StreamGraphsTest, LaunchesWithClustersHaveGraphsOfTheirOwn) {
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
  EXPECT_FALSE(has(graphs, nullptr, LaunchPart::All, /*paired=*/true));
  kernels[0].config.cluster[0] = 2;
  kernels[0].config.grid[0] = 2;
  graphs.create(kernels, /*paired=*/true, /*hasPlanEntry=*/false);
  EXPECT_TRUE(has(graphs, nullptr, LaunchPart::All, /*paired=*/true));
  EXPECT_TRUE(has(graphs, nullptr));
}

TEST_F(StreamGraphsTest, PerThreadStreamsAreManyStreams) {
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
  EXPECT_FALSE(has(graphs, reinterpret_cast<StreamHandle>(uintptr_t(2))));
}

TEST_F(StreamGraphsTest, OneThreadAtATime) {
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
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
  StreamGraphs graphs;
  graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
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
    StreamGraphs graphs;
    graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/false);
    EXPECT_TRUE(has(graphs, nullptr));
    return llvm::Error::success();
  });
  EXPECT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
}

TEST_F(StreamGraphsTest, NoneWhereTheDriverMakesNone) {
  for (const char *call :
       {"cuStreamCreate", "cuStreamBeginCapture", "cuLaunchKernelEx",
        "cuStreamGetCaptureInfo", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphUpload"}) {
    StreamGraphs graphs;
    fail(call, cuda::OutOfMemory);
    graphs.create(kernels, /*paired=*/false, /*hasPlanEntry=*/true);
    fake->failures.clear();
    EXPECT_FALSE(has(graphs, nullptr)) << call;
  }
}

TEST_F(StreamGraphsTest, FailuresNameTheCallAndTheKernel) {
  auto graph = cuda::get(cuda::LaunchGraph::create({kernels[0]}));
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
