//===- CudaKernelTest.cpp
//--------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches of a compiled kernel on a fake driver.
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"

#include <map>
#include <thread>

using namespace mla_jit;
using Info = KernelInfo;

namespace {
class CudaKernelTest : public FakeKernelTest {};
} // namespace

TEST_F(CudaKernelTest, LaunchesEachEntryOnAllSMs) {
  auto state = cuda::get(load());
  EXPECT_EQ(state->numWorkers(), 132);
  ASSERT_TRUE(cuda::Failure(run(*state, fakeArguments(state->info))).ok);
  ASSERT_EQ(fake->launches.size(), 2u);
  const FakeCuda::Launch &main = fake->launches[0];
  EXPECT_EQ(main.config.grid[0], 132u);
  EXPECT_EQ(main.config.block[0], 192u);
  EXPECT_EQ(main.config.sharedBytes, 169984u);
  EXPECT_TRUE(main.attributes.empty());
  float scale = 0.5;
  uint32_t scaleBits;
  memcpy(&scaleBits, &scale, sizeof(scale));
  // The size of partial_out, whose place in the workspace is the first.
  EXPECT_EQ(main.parameters,
            (std::vector<uint64_t>{0x1000, 2, 2 * 16 * 576, scaleBits, 42,
                                   0x100000 + 264 * 32768, 264, 132}));
  const FakeCuda::Launch &combine = fake->launches[1];
  EXPECT_EQ(combine.config.grid[0], 264u);
  EXPECT_EQ(combine.parameters.back(), 264u);
  ASSERT_EQ(combine.attributes.size(), 1u);
  EXPECT_EQ(combine.attributes[0].id,
            cuda::LaunchAttributeId::ProgrammaticStreamSerialization);
  ASSERT_EQ(fake->maps.size(), 2u);
  EXPECT_EQ(fake->maps[0].dims, (std::vector<uint64_t>{64, 64, 9, 1, 100}));
  EXPECT_EQ(fake->calls["cuStreamSynchronize"], 0);
  EXPECT_EQ(fake->calls["cuMemAlloc"], 0);
}

TEST_F(CudaKernelTest, RefusesRowsThatAreNotWhereTheyWerePromised) {
  info.arguments[0].alignment = 16;
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  Tensor aligned = arguments.tensor("q");
  auto launch = [&](const Tensor &q) {
    llvm::cantFail(arguments.set("q", q));
    fake->launches.clear();
    return run(*state, arguments);
  };
  auto expectRefusal = [&](const Tensor &q, const char *given) {
    llvm::Error error = launch(q);
    EXPECT_TRUE(error.isA<UnsupportedError>());
    std::string text = llvm::toString(std::move(error));
    for (const char *part :
         {"argument 'q' requires memory and strides at multiples of 16 bytes",
          given, "MLA_FEATURE_UNALIGNED"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_TRUE(fake->launches.empty());
  };
  Tensor q = aligned;
  q.data = reinterpret_cast<void *>(0x1008);
  expectRefusal(q, "bf16[3, 2, 16, 576] begins at 0x1008;");
  q = aligned;
  q.stride[2] = 580;
  expectRefusal(q, "dimension 2 of bf16[3, 2, 16, 576] has a stride of 1160;");
  // A stride that leads nowhere, and no memory at all.
  q = aligned;
  q.shape[0] = 1;
  q.stride[0] = 1;
  llvm::cantFail(arguments.set(
      "seq_lens", Tensor(reinterpret_cast<void *>(0x3000), DType::I32, {1})));
  EXPECT_TRUE(cuda::Failure(launch(q)).ok);
}

TEST_F(CudaKernelTest, TakesRowsAnywhereUnlessTheyWerePromised) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  Tensor q = arguments.tensor("q");
  q.data = reinterpret_cast<void *>(0x1002);
  llvm::cantFail(arguments.set("q", q));
  EXPECT_TRUE(cuda::Failure(run(*state, arguments)).ok);
}

/// Adds an entry for paired launches behind the main one.
static void addPairs(Info &info, std::string &ptx, size_t main) {
  Info::Entry pairs = info.entries[main];
  pairs.symbol = "decode_pairs";
  pairs.launch.cluster = 2;
  pairs.launch.threads = 224;
  info.entries.insert(info.entries.begin() + main + 1, pairs);
  ptx += "\n.version 8.0\n.entry decode_pairs()";
}

TEST_F(CudaKernelTest, StartsAnEntryWithClustersWhereTwoDoARowBlock) {
  addPairs(info, ptx, 0);
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  auto expectMain = [&](bool paired) {
    ASSERT_EQ(fake->launches.size(), 2u);
    const FakeCuda::Launch &main = fake->launches[0];
    EXPECT_EQ(main.config.block[0], paired ? 224u : 192u);
    ASSERT_EQ(main.attributes.size(), paired ? 1u : 0u);
    if (paired) {
      EXPECT_EQ(main.attributes[0].id,
                cuda::LaunchAttributeId::ClusterDimension);
      EXPECT_EQ(main.attributes[0].cluster[0], 2u);
    }
    // The merge, behind either.
    EXPECT_EQ(fake->launches[1].config.block[0], 128u);
    EXPECT_EQ(fake->launches[1].attributes.size(), 1u);
  };
  // Of 3 requests with two row blocks each.
  for (auto [limit, paired] :
       {std::pair{12, true}, {16, true}, {13, false}, {18, false}}) {
    SCOPED_TRACE(limit);
    fake->launches.clear();
    arguments.limitWorkers(limit);
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    expectMain(paired);
  }
  // A count of splits is merged by the other entry.
  arguments.limitWorkers(12);
  ASSERT_TRUE(cuda::Failure(arguments.set("num_splits", 2)).ok);
  fake->launches.clear();
  ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  expectMain(/*paired=*/false);
}

TEST_F(CudaKernelTest, PlansBeforeEitherMainEntry) {
  Info::Entry plan = info.entries[0];
  plan.symbol = "decode_plan";
  plan.launch = {256, 0, 1, false};
  info.entries.insert(info.entries.begin(), plan);
  info.hasPlanEntry = true;
  ptx += "\n.version 8.0\n.entry decode_plan()";
  addPairs(info, ptx, 1);
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  for (auto [limit, mainThreads] : {std::pair{12, 224u}, {18, 192u}}) {
    arguments.limitWorkers(limit);
    fake->launches.clear();
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    std::vector<unsigned> threads;
    for (const FakeCuda::Launch &launch : fake->launches)
      threads.push_back(launch.config.block[0]);
    EXPECT_EQ(threads, (std::vector<unsigned>{256, mainThreads, 128}));
  }
}

TEST_F(CudaKernelTest, MayBeginEarlyIfItWaits) {
  info.entries[0].launch.dependent = true;
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  EXPECT_TRUE(fake->launches[0].attributes.empty()); // not by default
  arguments.setDependent(true);
  ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  ASSERT_EQ(fake->launches[2].attributes.size(), 1u);
  EXPECT_EQ(fake->launches[2].attributes[0].id,
            cuda::LaunchAttributeId::ProgrammaticStreamSerialization);

  info.entries[0].launch.dependent = false;
  auto reader = cuda::get(load());
  arguments = fakeArguments(reader->info);
  arguments.setDependent(true);
  cuda::Failure failure = run(*reader, arguments);
  EXPECT_TRUE(failure.says("argument 'flags'")) << failure.message;
  EXPECT_EQ(fake->launches.size(), 4u);
}

// A graph would make either side wait.
TEST_F(CudaKernelTest, LaunchesThatOverlapOthersAreNoGraphs) {
  info.entries[0].launch.dependent = true;
  info.arguments.push_back(scalarArgument("pdl_trigger", DType::I32));
  auto state = cuda::get(load());
  Arguments alone = fakeArguments(state->info), waits = alone, triggers = alone;
  waits.setDependent(true);
  llvm::cantFail(triggers.set("pdl_trigger", 1));
  for (const Arguments *arguments : {&waits, &triggers})
    ASSERT_TRUE(cuda::Failure(run(*state, *arguments)).ok);
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 0);
  ASSERT_TRUE(cuda::Failure(run(*state, alone)).ok);
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 1);
  EXPECT_EQ(fake->launches.size(), 6u);
}

TEST_F(CudaKernelTest, BatchZeroLaunchesNothing) {
  auto state = cuda::get(load());
  EXPECT_TRUE(cuda::Failure(run(*state, fakeArguments(state->info, 0))).ok);
  EXPECT_TRUE(fake->launches.empty());
}

TEST_F(CudaKernelTest, UsesFewerSMsWhereAsked) {
  auto state = cuda::get(load(/*maxWorkers=*/7));
  EXPECT_EQ(state->numWorkers(), 7);
  ASSERT_TRUE(cuda::Failure(run(*state, fakeArguments(state->info))).ok);
  EXPECT_EQ(fake->launches[0].config.grid[0], 7u);
  EXPECT_EQ(countIn(workspace, 0), 14);
  // As many as do neighbouring row blocks together.
  info.rowBlocks = 4;
  EXPECT_EQ(cuda::get(load(/*maxWorkers=*/1))->numWorkers(), 4);
  auto limited = cuda::get(load());
  Arguments arguments = fakeArguments(limited->info);
  arguments.limitWorkers(1);
  ASSERT_TRUE(cuda::Failure(run(*limited, arguments)).ok);
  EXPECT_EQ(fake->launches.back().config.grid[0], 8u); // 2 CTAs of each
}

TEST_F(CudaKernelTest, ChecksAllTensorsBeforeTheFirstLaunch) {
  // Only the second entry reads k by TMA.
  std::swap(info.entries[0].params[4].map.boxColumns,
            info.entries[1].params[4].map.boxColumns);
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  Tensor k = keys();
  k.stride[1] = 580;
  llvm::cantFail(arguments.set("k", k));
  cuda::Failure failure = run(*state, arguments);
  EXPECT_TRUE(failure.says("argument 'k'")) << failure.message;
  EXPECT_TRUE(failure.says("1160")) << failure.message;
  k = keys();
  k.data = reinterpret_cast<void *>(0x20008);
  llvm::cantFail(arguments.set("k", k));
  failure = run(*state, arguments);
  EXPECT_TRUE(failure.says("argument 'k'")) << failure.message;
  EXPECT_TRUE(failure.says("got 0x20008")) << failure.message;
  EXPECT_TRUE(fake->launches.empty());
}

TEST_F(CudaKernelTest, TellsTheDriverWhatChanged) {
  info.entries[1].params.erase(info.entries[1].params.begin() + 4); // k
  fake->parameterCounts = {{"decode_main", 8}, {"decode_combine", 7}};
  fake->parameterBytes.clear();
  fake->missing = {"cuKernelGetParamInfo"};
  context.reset();
  openContext();
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  // How often the driver is told of an entry, and asked for a tensor map.
  using Counts = std::pair<int, int>;
  auto countsOf = [&](void *stream = nullptr) {
    int &told = fake->calls["cuGraphExecKernelNodeSetParams"];
    told = 0;
    fake->maps.clear();
    fake->launches.clear();
    EXPECT_TRUE(cuda::Failure(run(*state, arguments, stream)).ok);
    EXPECT_EQ(fake->launches.size(), 2u);
    return Counts(told, fake->maps.size());
  };
  auto setK = [&](const Tensor &k) { llvm::cantFail(arguments.set("k", k)); };
  EXPECT_EQ(countsOf(), Counts(2, 1));
  EXPECT_EQ(countsOf(), Counts(0, 0));
  // Another layer's pool: the merge does not read it.
  Tensor k = keys();
  k.data = reinterpret_cast<void *>(0x40000);
  setK(k);
  EXPECT_EQ(countsOf(), Counts(1, 1));
  EXPECT_EQ(fake->maps.back().base, 0x40000u);
  k.stride[0] += 8;
  setK(k);
  EXPECT_EQ(countsOf(), Counts(1, 1));
  EXPECT_EQ(fake->maps.back().strides.back(), 2u * (64 * 576 + 8));
  llvm::cantFail(arguments.set("softmax_scale", 0.25));
  EXPECT_EQ(countsOf(), Counts(2, 0));
  // A stream has its own graph, and a third one none.
  cuda::Stream second = cuda::get(cuda::Stream::create(context)),
               third = cuda::get(cuda::Stream::create(context));
  EXPECT_EQ(countsOf(second.handle()), Counts(2, 1));
  EXPECT_EQ(countsOf(second.handle()), Counts(0, 0));
  EXPECT_EQ(countsOf(), Counts(0, 0));
  EXPECT_EQ(countsOf(third.handle()), Counts(0, 1));
  EXPECT_EQ(countsOf(third.handle()), Counts(0, 1));
}

// Some by graphs, anew or again, and some by single launches: each starts what
// its own arguments say.
TEST_F(CudaKernelTest, LaunchesOfManyThreads) {
  constexpr size_t kThreads = 4, kRounds = 600, kScales = 3;
  auto state = cuda::get(load());
  std::vector<cuda::Stream> streams;
  for (size_t i = 0; i < kThreads; ++i)
    streams.push_back(cuda::get(cuda::Stream::create(context)));
  std::atomic<size_t> wrong = 0, repeated = 0;
  auto work = [&](size_t thread) {
    cuda::StreamHandle stream = streams[thread].handle();
    Arguments arguments = fakeArguments(state->info, 1 + thread);
    for (size_t round = 0; round < kRounds; ++round) {
      // Each twice in a row.
      size_t number = round / 2 % kScales;
      std::string text(1 + number, static_cast<char>('a' + thread));
      LaunchKey key;
      key.bytes = text;
      key.hash = 1 + number;
      auto isDone = state->repeat(key, stream);
      if (isDone && *isDone) {
        ++repeated;
        continue;
      }
      if (!isDone || arguments.set("softmax_scale", double(text.size()))) {
        ++wrong;
        return;
      }
      Workspace laidOut = layOutWorkspace(
          *state->info, arguments, state->workspaceWorkers(),
          state->alignment(), reinterpret_cast<void *>(0x100000));
      llvm::Error error =
          state->run(arguments, {*state->info, arguments, laidOut},
                     LaunchPart::All, stream, key);
      wrong += static_cast<bool>(error);
      llvm::consumeError(std::move(error));
    }
  };
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(repeated, 0u);
  EXPECT_GT(fake->calls["cuLaunchKernelEx"], 0);
  std::map<std::pair<cuda::StreamHandle, float>, size_t> started;
  for (const FakeCuda::Launch &launch : fake->launches) {
    auto bits = static_cast<uint32_t>(launch.parameters[3]);
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    ++started[{launch.config.stream, scale}];
  }
  EXPECT_EQ(started.size(), kThreads * kScales);
  for (const auto &[which, count] : started)
    EXPECT_EQ(count, 2 * kRounds / kScales) << which.second;
}
