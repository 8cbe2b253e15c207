//===- CudaKernelTest.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches of a compiled kernel on a fake driver: what is made of KernelInfo.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/CudaKernel.h"
#include "../../runtime/src/Assemble.h"
#include "../../runtime/src/CudaParameters.h"
#include "CudaFixture.h"

using namespace mla_jit;
using Info = KernelInfo;
using Param = KernelInfo::Param;
using Kind = KernelInfo::ParamKind;
using Source = KernelInfo::Source;

//===----------------------------------------------------------------------===//
// A kernel and its tensors
//===----------------------------------------------------------------------===//

static ArgumentInfo tensorArgument(const char *name, DType dtype,
                                   std::initializer_list<int64_t> shape) {
  ArgumentInfo argument;
  argument.name = name;
  argument.isTensor = true;
  argument.dtype = dtype;
  argument.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), argument.shape.begin());
  argument.stride.fill(-1);
  return argument;
}

static ArgumentInfo scalarArgument(const char *name, DType dtype) {
  ArgumentInfo argument;
  argument.name = name;
  argument.dtype = dtype;
  return argument;
}

/// Rows x columns of k as tiles of 64 columns.
static Info::TensorMap mapOfK() {
  Info::TensorMap map;
  map.rank = 4;
  map.dims = {0, 2, 1, 3};
  map.boxRows = 64;
  map.boxColumns = 576;
  map.swizzle = 128;
  return map;
}

static Info fakeInfo() {
  Info info;
  info.arguments = {tensorArgument("q", DType::BF16, {-1, -1, 16, 576}),
                    tensorArgument("k", DType::BF16, {-1, 64, 1, 576}),
                    tensorArgument("seq_lens", DType::I32, {-1}),
                    scalarArgument("softmax_scale", DType::F32),
                    scalarArgument("num_splits", DType::I32)};
  info.workspace = {{"partial_out", Info::Scope::Slot, 16 * 512 * 4, 3, {}},
                    {"work_list", Info::Scope::Piece, 32, 2, {}},
                    {"work_range", Info::Scope::Worker, 8, 2, {}}};
  info.workspace[0].shape = {-1, 16, 512};
  info.workspace[1].shape = {-1, 8};
  info.workspace[2].shape = {-1, 2};
  std::vector<Param> params = {
      {Kind::Pointer, Source::Argument, 0, 0},
      {Kind::Size, Source::Argument, 0, 1},
      {Kind::Stride, Source::Argument, 0, 0},
      {Kind::Scalar, Source::Argument, 3, 0},
      {Kind::TensorMap, Source::Argument, 1, 0, mapOfK()},
      {Kind::Pointer, Source::Workspace, 1, 0},
      {Kind::Size, Source::Workspace, 0, 0},
      {Kind::Scalar, Source::NumWorkers, -1, 0}};
  info.entries = {{"decode_main", params, {192, 169984, 1, false}},
                  {"decode_combine", params, {128, 0, 2, true}}};
  info.blockM = 16;
  info.kvHeads = 1;
  info.group = 16;
  return info;
}

/// Arguments with made-up addresses.
static Arguments fakeArguments(const std::shared_ptr<const Info> &info,
                               int64_t batch = 3, int64_t queries = 2) {
  auto address = [](uintptr_t value) {
    return reinterpret_cast<void *>(value);
  };
  Arguments arguments(info);
  llvm::cantFail(arguments.set(
      "q", Tensor(address(0x1000), DType::BF16, {batch, queries, 16, 576})));
  llvm::cantFail(arguments.set(
      "k", Tensor(address(0x20000), DType::BF16, {100, 64, 1, 576})));
  llvm::cantFail(
      arguments.set("seq_lens", Tensor(address(0x3000), DType::I32, {batch})));
  llvm::cantFail(arguments.set("softmax_scale", 0.5));
  return arguments;
}

static int64_t countIn(const Workspace &workspace, int buffer) {
  return workspace.tensors[buffer].shape[0];
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

TEST(LaunchValuesTest, CountsOfTheWorkspace) {
  auto info = std::make_shared<Info>(fakeInfo());
  Arguments arguments = fakeArguments(info); // 3 requests x 2 row blocks
  constexpr uintptr_t kBase = 0x1000000;
  auto layOut = [&] {
    return layOutWorkspace(*info, arguments, 132, 256,
                           reinterpret_cast<void *>(kBase));
  };
  Workspace automatic = layOut();
  EXPECT_EQ(countIn(automatic, 0), 2 * 132);
  EXPECT_EQ(countIn(automatic, 1), 6 + 132);
  EXPECT_EQ(countIn(automatic, 2), 132);
  EXPECT_EQ(automatic.bytes, 264u * 32768 + (138 * 32 + 255) / 256 * 256 +
                                 (132 * 8 + 255) / 256 * 256);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(automatic.tensors[1].data),
            kBase + 264u * 32768);

  llvm::cantFail(arguments.set("num_splits", 5));
  EXPECT_EQ(countIn(layOut(), 0), 6 * 5);
  EXPECT_EQ(countIn(layOut(), 1), 6 * 5 + 132);

  // Row blocks of a request as a multiple of those that are done together.
  info->rowBlocks = 4;
  EXPECT_EQ(countIn(layOut(), 0), 12 * 5);
  EXPECT_EQ(countIn(layOut(), 1), 12 * 5 + 132);

  llvm::cantFail(arguments.set("num_splits", 0));
  info->defaultSplits = 32;
  EXPECT_EQ(countIn(layOut(), 0), 12 * 32);
}

TEST(LaunchValuesTest, RaggedQueries) {
  auto info = std::make_shared<Info>(fakeInfo());
  info->arguments[0] = tensorArgument("q", DType::BF16, {-1, 16, 576});
  info->rowBlocks = 2;
  Arguments arguments(info);
  auto *somewhere = reinterpret_cast<void *>(0x1000);
  llvm::cantFail(
      arguments.set("q", Tensor(somewhere, DType::BF16, {7, 16, 576})));
  llvm::cantFail(arguments.set("seq_lens", Tensor(somewhere, DType::I32, {3})));
  // 7 row blocks: 3 whole pairs, and one that is broken for each request.
  EXPECT_EQ(arguments.maxItems(), (3 + 3) * 2);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static Tensor keys(std::initializer_list<int64_t> shape = {100, 64, 1, 576}) {
  return Tensor(reinterpret_cast<void *>(0x20000), DType::BF16, shape);
}

static std::string refusal(const Tensor &tensor) {
  return llvm::toString(makeTensorMapSpec(mapOfK(), tensor, "k").takeError());
}

TEST(TensorMapSpecTest, WideBoxesAreTilesOfColumns) {
  auto spec = cuda::get(makeTensorMapSpec(mapOfK(), keys(), "k"));
  EXPECT_EQ(spec.rank, 5u);
  EXPECT_EQ(spec.base, 0x20000u);
  EXPECT_EQ(spec.type, cuda::ElementType::BF16);
  EXPECT_EQ(spec.swizzle, cuda::Swizzle::B128);
  // Columns of a tile, rows, tiles, heads, pages.
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{64, 64, 9, 1, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 64, 9, 1, 1}));
  EXPECT_EQ(spec.strides,
            (std::array<uint64_t, 4>{1152, 128, 1152, 64 * 1152}));
}

TEST(TensorMapSpecTest, NarrowBoxesAreNot) {
  Info::TensorMap map = mapOfK();
  map.rank = 3;
  map.dims = {0, 1, 3};
  map.boxColumns = 64;
  auto spec = cuda::get(makeTensorMapSpec(map, keys(), "k"));
  EXPECT_EQ(spec.rank, 3u);
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{576, 64, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 64, 1}));
  EXPECT_EQ(spec.strides, (std::array<uint64_t, 4>{1152, 64 * 1152}));
}

TEST(TensorMapSpecTest, StridesOfOneElementDoNotMatter) {
  Tensor k = keys();
  k.stride[2] = 577;
  EXPECT_EQ(refusal(k), "");
}

TEST(TensorMapSpecTest, TakesPoolsWithGaps) {
  Tensor k = keys();
  k.stride[1] = 656;          // a row has more than its columns
  k.stride[0] = 70 * 656 + 8; // and a page more than its rows
  auto spec = cuda::get(makeTensorMapSpec(mapOfK(), k, "k"));
  EXPECT_EQ(spec.strides,
            (std::array<uint64_t, 4>{2 * 656, 128, 1152, 2 * (70 * 656 + 8)}));
}

TEST(TensorMapSpecTest, LowBoxesOfSmallPages) {
  Info::TensorMap map = mapOfK();
  map.boxRows = 16;
  map.boxColumns = 64;
  auto spec = cuda::get(makeTensorMapSpec(map, keys({100, 16, 1, 576}), "k"));
  EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{576, 16, 1, 100}));
  EXPECT_EQ(spec.box, (std::array<uint32_t, 5>{64, 16, 1, 1}));
}

TEST(TensorMapSpecTest, EmptyTensorsGetALegalView) {
  EXPECT_EQ(refusal(keys({0, 64, 1, 576})), "");
  Tensor k = keys({0, 64, 1, 576});
  k.data = nullptr;
  EXPECT_EQ(refusal(k), "");
}

TEST(TensorMapSpecTest, RefusesWhatTMACannotTake) {
  auto expectRefusal = [](const Tensor &k, const char *part) {
    std::string text = refusal(k);
    EXPECT_NE(text.find("argument 'k'"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  Tensor k = keys();
  k.stride[1] = 577;
  expectRefusal(k, "dimension 1 of bf16[100, 64, 1, 576] has a stride of 1154");
  k = keys();
  k.stride[0] += 4;
  expectRefusal(k,
                "dimension 0 of bf16[100, 64, 1, 576] has a stride of 73736");
  k = keys();
  k.data = reinterpret_cast<void *>(0x20002);
  expectRefusal(k, "multiple of 16, but got 0x20002");
  k = keys();
  k.stride[3] = 2;
  expectRefusal(k, "contiguous columns");
  expectRefusal(keys({100, 64, 1, 72}), "tiles of 64, but there are 72");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
class CudaKernelTest : public cuda::CudaTest {
protected:
  CudaKernelTest() {
    fake->parameterBytes = {8, 8, 8, 4, 128, 8, 8, 8};
    fake->infoLog = "ptxas info : Used 8 registers";
    openContext();
  }

  llvm::Expected<std::unique_ptr<KernelState>>
  load(int maxWorkers = 0, std::string cubin = "",
       std::optional<std::string> text = std::nullopt) {
    CompileResult compiled;
    compiled.text = text.value_or(ptx);
    compiled.cubin = std::move(cubin);
    compiled.info = std::make_shared<Info>(info);
    return loadCudaKernel(std::move(compiled), context, maxWorkers, threads);
  }

  llvm::Error run(const KernelState &state, const Arguments &arguments,
                  void *stream = nullptr) {
    workspace =
        layOutWorkspace(*state.info, arguments, state.workspaceWorkers(),
                        state.alignment(), reinterpret_cast<void *>(0x100000));
    return state.run(arguments, {*state.info, arguments, workspace},
                     LaunchPart::All, stream);
  }

  Info info = fakeInfo();
  std::string ptx = "\n.version 8.0\n.entry decode_main()"
                    "\n.version 8.0\n.entry decode_combine()";
  unsigned threads = 2;
  Workspace workspace;
};
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

TEST_F(CudaKernelTest, RequiresAnEntryForLaunchesWithoutPairs) {
  info.entries[0].launch.cluster = 2;
  auto loaded = load();
  ASSERT_FALSE(bool(loaded));
  EXPECT_NE(llvm::toString(loaded.takeError())
                .find("entry 'decode_main' with clusters requires one without "
                      "before it, but has none"),
            std::string::npos);
}

TEST_F(CudaKernelTest, LoadsEachModuleAsALibrary) {
  auto state = cuda::get(load());
  EXPECT_EQ(fake->libraries, 2);
  EXPECT_EQ(fake->linked.size(), 2u);
  // The same on one thread, and of one module with both entries.
  threads = 1;
  auto onOneThread = cuda::get(load());
  EXPECT_EQ(fake->libraries, 4);
  ptx = "\n.version 8.0\n.entry decode_main()\n.entry decode_combine()";
  auto together = cuda::get(load());
  EXPECT_EQ(fake->libraries, 5);
  ASSERT_TRUE(cuda::Failure(run(*together, fakeArguments(together->info))).ok);
  EXPECT_EQ(fake->launches.size(), 2u);
}

TEST_F(CudaKernelTest, RefusesAnEntryThatNoModuleHas) {
  info.entries[1].symbol = "decode_other";
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("kernel 'decode_other'")) << failure.message;
}

TEST_F(CudaKernelTest, RefusedPTXOfTheSecondModule) {
  ptx += "bad";
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("Unknown symbol 'bad'")) << failure.message;
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

TEST_F(CudaKernelTest, TensorMapsAreOfThePoolThatIsPassed) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  for (uintptr_t address : {0x20000ul, 0x7f0000000010ul}) {
    Tensor k = keys();
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    EXPECT_EQ(fake->maps.back().base, address);
  }
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

TEST_F(CudaKernelTest, ARefusedAddressLeavesNoMapBehind) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  for (uintptr_t address : {0x20008ul, 0x20000ul}) {
    Tensor k = keys();
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    fake->maps.clear();
    cuda::Failure failure = run(*state, arguments);
    EXPECT_EQ(failure.ok, address == 0x20000) << failure.message;
  }
  EXPECT_FALSE(fake->maps.empty());
  EXPECT_EQ(fake->maps[0].base, 0x20000u);
  // One that the driver refuses.
  Tensor k = keys();
  k.data = reinterpret_cast<void *>(0x40000);
  llvm::cantFail(arguments.set("k", k));
  fail("cuTensorMapEncodeTiled", cuda::InvalidValue);
  EXPECT_FALSE(cuda::Failure(run(*state, arguments)).ok);
  fake->failures.clear();
  fake->maps.clear();
  EXPECT_TRUE(cuda::Failure(run(*state, arguments)).ok);
  EXPECT_EQ(fake->maps.size(), 2u);
}

TEST_F(CudaKernelTest, EmptyPoolsOfTheSameShape) {
  auto state = cuda::get(load());
  Arguments arguments = fakeArguments(state->info);
  for (uintptr_t address : {0x20000ul, 0x40000ul}) {
    Tensor k = keys({0, 64, 1, 576});
    k.data = reinterpret_cast<void *>(address);
    llvm::cantFail(arguments.set("k", k));
    ASSERT_TRUE(cuda::Failure(run(*state, arguments)).ok);
    EXPECT_EQ(fake->maps.back().dims.back(), 1u);
    EXPECT_NE(fake->maps.back().base, address);
  }
}

TEST_F(CudaKernelTest, RefusesWhatTheDeviceLacks) {
  info.entries[0].launch.sharedBytes = 232449;
  cuda::Failure failure = load();
  EXPECT_EQ(failure.kind, cuda::ErrorKind::Unsupported);
  EXPECT_TRUE(failure.says("stage 'load'")) << failure.message;
  EXPECT_TRUE(failure.says("232448")) << failure.message;
  EXPECT_TRUE(failure.says("got 232449")) << failure.message;
}

TEST_F(CudaKernelTest, RefusesOtherParametersThanTheCode) {
  fake->parameterBytes[3] = 8;
  cuda::Failure failure = load();
  EXPECT_TRUE(failure.says("parameter 3")) << failure.message;
  EXPECT_TRUE(failure.says("requires 8 bytes, but got 4")) << failure.message;
}

TEST_F(CudaKernelTest, WarnsOfLosses) {
  ptx = "decode_main decode_combine";
  fake->infoLog = "ptxas info    : Compiling entry function 'decode_main' for "
                  "'sm_90a'\n"
                  "ptxas info    : Function properties for decode_main\n"
                  "ptxas         .     0 bytes stack frame, 8 bytes spill "
                  "stores, 0 bytes spill loads\n"
                  "ptxas info    : (C7510) Potential Performance Loss: wgmma";
  auto state = cuda::get(load());
  ASSERT_EQ(state->info->warnings.size(), 2u);
  EXPECT_EQ(state->info->warnings[0],
            "decode_main: 8 bytes of spill stores, over the limit of 0");
  EXPECT_EQ(state->info->warnings[1],
            "C7510: Potential Performance Loss: wgmma");
}

TEST_F(CudaKernelTest, ReportsWhatTheDriverAssembled) {
  auto state = cuda::get(load());
  for (const char *part :
       {"assembler: ptxas 12.8 (the driver's)\n",
        "launch decode_main: ", "kernel decode_combine:\n  registers: 168\n"})
    EXPECT_NE(state->report.find(part), std::string::npos) << state->report;
  EXPECT_EQ(state->deviceBytes, 0u);
  EXPECT_TRUE(state->times.back().isLoading);
}

TEST_F(CudaKernelTest, PrefersTheCubin) {
  info.warnings = {"of the tool that assembled it"};
  std::string cubin = fakeCubin("decode_main decode_combine");
  auto state = cuda::get(load(/*maxWorkers=*/0, cubin, "bad"));
  EXPECT_TRUE(fake->linked.empty()); // nothing was assembled
  EXPECT_EQ(state->info->warnings, info.warnings);
  EXPECT_EQ(state->report, "");
  EXPECT_EQ(state->deviceBytes, cubin.size());
  EXPECT_EQ(state->times.back().stage, "load");
  cuda::Failure failure = load(/*maxWorkers=*/0, fakeCubin("other"));
  EXPECT_TRUE(failure.says("stage 'load'")) << failure.message;
  EXPECT_TRUE(failure.says("decode_main")) << failure.message;
}

TEST_F(CudaKernelTest, RefusedPTX) {
  cuda::Failure failure = load(/*maxWorkers=*/0, "", "bad decode_main");
  EXPECT_TRUE(failure.says("stage 'assemble'")) << failure.message;
  EXPECT_TRUE(failure.says("Unknown symbol 'bad'")) << failure.message;
}

//===----------------------------------------------------------------------===//
// Reports of the driver's assembler
//===----------------------------------------------------------------------===//

TEST_F(CudaKernelTest, ReportsOnTheCodeAsItIsLoaded) {
  info.chip = "sm_90a";
  ptx += "setmaxnreg";
  auto report = cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_EQ(fake->calls["cuLinkCreate"], 0);
  EXPECT_EQ(fake->libraries, 0);
  EXPECT_EQ(report.release, "12.8 (the driver's)");
  EXPECT_TRUE(report.cubin.empty());
  ASSERT_EQ(report.kernels.size(), 3u); // one without a name from the log
  EXPECT_EQ(report.kernels[1].name, "decode_main");
  EXPECT_EQ(report.kernels[1].registers, 168u);
  EXPECT_EQ(report.kernels[1].stackBytes, 16u);
  std::string text = cuda::get(describeCode(report, info));
  EXPECT_NE(text.find("cubin: not available"), std::string::npos) << text;
  EXPECT_NE(text.find("launch decode_combine"), std::string::npos) << text;
}

TEST_F(CudaKernelTest, AssemblesAgainWhatTheDriverHadInItsCache) {
  info.chip = "sm_90a";
  fake->cacheHits = true;
  cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_EQ(fake->calls["cuLibraryLoadData"], 2);
  auto report = cuda::get(assembleByDriver(ptx, info, false, context));
  EXPECT_NE(report.log.find("Used 8 registers"), std::string::npos);
}

TEST_F(CudaKernelTest, GivesNoCubinThatWouldIgnoreSetmaxnreg) {
  info.chip = "sm_90a";
  auto report = cuda::get(assembleByDriver(ptx, info, true, context));
  EXPECT_EQ(llvm::StringRef(report.cubin).substr(1, 3), "ELF");
  cuda::Failure failure =
      assembleByDriver(ptx + "setmaxnreg", info, true, context);
  EXPECT_TRUE(failure.says("requires ptxas")) << failure.message;
  EXPECT_TRUE(failure.says("setmaxnreg")) << failure.message;
}
