//===- KernelTest.cpp - Tests of launches ---------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallKernel.h"

#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace mla_jit;

//===----------------------------------------------------------------------===//
// Fixture
//===----------------------------------------------------------------------===//

namespace {
class KernelTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    kernel = llvm::cantFail(smallEngine().prepare(smallSpec()));
  }
  static void TearDownTestSuite() { kernel.reset(); }

  static GenOptions shape(std::vector<int64_t> seqLens = {37, 5, 0, 400},
                          int64_t sQ = 2) {
    GenOptions options;
    options.seqLens = std::move(seqLens);
    options.sQ = sQ;
    return options;
  }
  static SmallLaunch makeLaunch(const GenOptions &options = shape()) {
    return SmallLaunch(kernel, smallSpec(), options);
  }
  static size_t workspaceWith(int64_t numSplits,
                              const GenOptions &options = shape()) {
    SmallLaunch launch = makeLaunch(options);
    llvm::cantFail(launch.arguments.set("num_splits", numSplits));
    return kernel->workspaceBytes(launch.arguments);
  }
  static std::vector<uint8_t> bytesOf(const SmallLaunch &launch) {
    std::vector<uint8_t> bytes;
    for (const char *name : {"out", "lse"})
      llvm::append_range(bytes, launch.tensors.storage(name));
    return bytes;
  }

  static std::shared_ptr<Kernel> kernel;
};
std::shared_ptr<Kernel> KernelTest::kernel;
} // namespace

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, RefusesASmallWorkspace) {
  SmallLaunch launch = makeLaunch();
  size_t bytes = kernel->workspaceBytes(launch.arguments);
  ASSERT_GT(bytes, 0u);
  void *workspace = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  std::vector<uint8_t> before = bytesOf(launch);
  expectParts(textOf(kernel->launch(launch.arguments, workspace, bytes - 1)),
              {"'workspace'", std::to_string(bytes).c_str(),
               std::to_string(bytes - 1).c_str()});
  expectParts(textOf(kernel->launch(launch.arguments, nullptr, 0)),
              {"'workspace'", std::to_string(bytes).c_str(), "0"});
  expectParts(textOf(kernel->launch(launch.arguments,
                                    static_cast<char *>(workspace) + 4, bytes)),
              {"'workspace'", "alignment of 64"});
  EXPECT_EQ(bytesOf(launch), before) << "nothing may be written";
  EXPECT_EQ(textOf(kernel->launch(launch.arguments, workspace, bytes)), "");
  EXPECT_NE(bytesOf(launch), before);
  std::free(workspace);
}

TEST_F(KernelTest, RefusesArgumentsOfAnother) {
  Spec spec = smallSpec(); // the same spec would be the same kernel
  spec.pageSize = 32;
  auto other = llvm::cantFail(smallEngine().prepare(spec));
  SmallLaunch launch = makeLaunch();
  launch.kernel = other;
  expectParts(textOf(launch.launch()), {"arguments", "this kernel", "another"});
}

TEST_F(KernelTest, RefusesIncompleteArguments) {
  SmallLaunch launch = makeLaunch();
  launch.arguments = Arguments(kernel->info());
  expectParts(textOf(launch.launch()), {"missing"});
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, AutomaticSplitsNeedTwoSlotsAWorker) {
  // However many requests, queries and keys there are.
  size_t bytes = workspaceWith(0);
  EXPECT_EQ(workspaceWith(0, shape({1})), bytes);
  EXPECT_EQ(workspaceWith(0, shape(std::vector<int64_t>(500, 3), 7)), bytes);

  size_t want = 0;
  for (const KernelInfo::Buffer &buffer : kernel->info()->workspace) {
    int64_t count = kernel->numWorkers() *
                    (buffer.scope == KernelInfo::Scope::Slot ? 2 : 1);
    want += (count * buffer.bytesEach + 63) / 64 * 64;
  }
  EXPECT_EQ(bytes, want);
}

TEST_F(KernelTest, WorkspaceGrowsWithSplitsAndRows) {
  size_t last = 0;
  for (int64_t splits : {1, 2, 3, 8, 64, 1000}) {
    size_t bytes = workspaceWith(splits);
    EXPECT_GT(bytes, last) << splits << " splits";
    last = bytes;
  }
  last = 0;
  for (int64_t batch : {1, 2, 5, 100}) {
    size_t bytes = workspaceWith(3, shape(std::vector<int64_t>(batch, 20)));
    EXPECT_GT(bytes, last) << "batch " << batch;
    last = bytes;
  }
  last = 0;
  for (int64_t sQ : {1, 2, 5, 100}) {
    size_t bytes = workspaceWith(3, shape({20, 30}, sQ));
    EXPECT_GE(bytes, last) << sQ << " queries";
    last = bytes;
  }
}

TEST_F(KernelTest, WorkspaceMayHoldAnything) {
  SmallLaunch launch = makeLaunch();
  size_t bytes = kernel->workspaceBytes(launch.arguments);
  void *workspace = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  std::vector<uint8_t> first;
  for (int fill : {0x00, 0xFF, 0x7F, 0x80}) {
    std::memset(workspace, fill, bytes);
    llvm::cantFail(kernel->launch(launch.arguments, workspace, bytes));
    if (first.empty())
      first = bytesOf(launch);
    EXPECT_EQ(bytesOf(launch), first) << fill;
  }
  std::free(workspace);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, RunsFromManyThreads) {
  constexpr int kThreads = 4;
  std::vector<SmallLaunch> launches;
  std::vector<std::vector<uint8_t>> alone;
  for (int i = 0; i < kThreads; ++i) {
    GenOptions options = shape({37 + i, 5, 0, 100 * i});
    options.seed = i;
    launches.push_back(makeLaunch(options));
    llvm::cantFail(launches.back().launch());
    alone.push_back(bytesOf(launches.back()));
    for (const char *name : {"out", "lse"})
      llvm::fill(launches.back().tensors.storage(name), 0xFF);
  }
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (SmallLaunch &launch : launches)
    threads.emplace_back([&launch] {
      for (int repeat = 0; repeat < 50; ++repeat)
        llvm::cantFail(launch.launch());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(bytesOf(launches[i]), alone[i]) << "thread " << i;
}

TEST_F(KernelTest, OutlivesItsEngine) {
  auto engine = std::make_unique<Engine>(EngineOptions{"native", 2});
  auto other = llvm::cantFail(engine->prepare(smallSpec()));
  engine.reset();
  EXPECT_EQ(other->numWorkers(), 2);
  SmallLaunch launch(other, smallSpec(), shape());
  EXPECT_EQ(textOf(launch.launch()), "");
}

TEST_F(KernelTest, BatchZero) {
  SmallLaunch launch = makeLaunch(shape({}));
  EXPECT_EQ(textOf(launch.arguments.checkContents()), "");
  EXPECT_EQ(textOf(launch.launch()), "");
}

TEST_F(KernelTest, CompileTimesNameTheStages) {
  std::vector<std::string> stages;
  for (const StageTime &time : kernel->compileTimes()) {
    EXPECT_GE(time.seconds, 0);
    stages.push_back(time.stage);
  }
  EXPECT_NE(llvm::find(stages, "codegen"), stages.end());
  EXPECT_NE(llvm::find(stages, "link"), stages.end());
}

//===----------------------------------------------------------------------===//
// Reads outside the inputs
//===----------------------------------------------------------------------===//

namespace {
/// Memory that ends (or begins) at a page that cannot be touched.
class FencedMemory {
public:
  FencedMemory(llvm::ArrayRef<uint8_t> contents, bool fenceBefore) {
    size_t page = sysconf(_SC_PAGESIZE);
    size_t whole = (contents.size() + page - 1) / page * page;
    size = whole + page;
    base = static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    uint8_t *fence = fenceBefore ? base : base + whole;
    data = fenceBefore ? base + page : fence - contents.size();
    llvm::copy(contents, data);
    mprotect(fence, page, PROT_NONE);
  }
  FencedMemory(FencedMemory &&other)
      : data(other.data), base(std::exchange(other.base, nullptr)),
        size(other.size) {}
  ~FencedMemory() {
    if (base)
      munmap(base, size);
  }
  uint8_t *data;

private:
  uint8_t *base;
  size_t size;
};
} // namespace

/// Every tensor of the launch lies at a fence: a read or write past its last
/// byte (or before its first) is a crash.
static void runFenced(const Spec &spec, const GenOptions &shape,
                      const std::string &cpu) {
  static Engine v3({.cpu = "x86-64-v3", .numWorkers = 2});
  Engine &engine = cpu.empty() ? smallEngine() : v3;
  auto kernel = llvm::cantFail(engine.prepare(spec));
  SmallLaunch plain(kernel, spec, shape);
  for (int64_t splits : {0, 1, 4})
    for (bool fenceBefore : {false, true}) {
      llvm::cantFail(plain.arguments.set("num_splits", splits));
      ASSERT_EQ(textOf(plain.launch()), "");
      SmallLaunch fenced(kernel, spec, shape);
      llvm::cantFail(fenced.arguments.set("num_splits", splits));
      std::map<std::string, FencedMemory> memory;
      for (const TensorSet::Entry &entry : fenced.tensors.entries()) {
        Tensor tensor = entry.tensor;
        auto [it, inserted] = memory.emplace(
            entry.name,
            FencedMemory(fenced.tensors.storage(entry.name), fenceBefore));
        tensor.data = it->second.data;
        llvm::cantFail(fenced.arguments.set(entry.name, tensor));
      }
      ASSERT_EQ(textOf(fenced.launch()), "");
      for (const char *name : {"out", "lse"}) {
        auto want = plain.tensors.storage(name);
        EXPECT_EQ(std::memcmp(memory.at(name).data, want.data(), want.size()),
                  0)
            << name;
      }
    }
}

TEST_F(KernelTest, ReadsNothingOutsideItsInputs) {
  struct Sizes {
    int64_t numHeads, headDim, headDimV, ropeDim;
    DType dtype;
  };
  for (const std::string &cpu : {"", "x86-64-v3"})
    for (KVLayout layout : {KVLayout::Paged, KVLayout::CSR, KVLayout::Dense})
      for (Sizes sizes : {Sizes{4, 72, 40, 0, DType::BF16},
                          {3, 24, 8, 8, DType::F16},
                          {17, 136, 120, 16, DType::F32}}) {
        Spec spec;
        spec.numHeads = sizes.numHeads;
        spec.headDim = sizes.headDim;
        spec.headDimV = sizes.headDimV;
        spec.ropeDim = sizes.ropeDim;
        spec.qDType = spec.kvDType = spec.outDType = sizes.dtype;
        spec.layout = layout;
        spec.pageSize = sizes.numHeads == 4 ? 1 : 61;
        spec.raggedQ = sizes.numHeads == 3;
        GenOptions shape = KernelTest::shape({257, 5, 0, 130}, 3);
        shape.sparePages = shape.spareKeys = shape.spareColumns =
            shape.spareQRows = 0;
        SCOPED_TRACE(testing::Message()
                     << cpu << " " << std::string(toString(layout))
                     << " h=" << sizes.numHeads);
        runFenced(spec, shape, cpu);
      }
}
