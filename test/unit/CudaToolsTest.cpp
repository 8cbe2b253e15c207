//===- CudaToolsTest.cpp - Memory, streams, graphs and timing -------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <sys/wait.h>

using namespace mla_jit::cuda;

TEST_F(CudaTest, MemoryGoesThereAndBack) {
  openContext();
  Stream stream = get(Stream::create(context));
  DeviceBuffer a = get(DeviceBuffer::allocate(context, 64));
  DeviceBuffer b = get(DeviceBuffer::allocate(context, 64));
  DeviceBuffer none = get(DeviceBuffer::allocate(context, 0));
  EXPECT_EQ(none.address(), 0u);
  EXPECT_EQ(fake->buffers, 2);
  std::string sent(64, 's'), back(64, ' ');
  EXPECT_TRUE(Failure(stream.copyToDevice(a.address(), sent.data(), 64)).ok);
  EXPECT_TRUE(Failure(stream.copy(b.address(), a.address(), 64)).ok);
  EXPECT_TRUE(Failure(stream.fill(b.address(), 'f', 2)).ok);
  EXPECT_TRUE(Failure(stream.copyToHost(back.data(), b.address(), 64)).ok);
  EXPECT_TRUE(Failure(stream.synchronize()).ok);
  EXPECT_EQ(back, "ff" + sent.substr(2));
  // Nothing to do is nothing asked.
  EXPECT_TRUE(Failure(stream.copyToDevice(0, nullptr, 0)).ok);
  EXPECT_TRUE(Failure(stream.copyToHost(nullptr, 0, 0)).ok);
  EXPECT_TRUE(Failure(stream.copy(0, 0, 0)).ok);
  EXPECT_TRUE(Failure(stream.fill(0, 0, 0)).ok);

  DeviceBuffer moved = std::move(a);
  EXPECT_EQ(a.address(), 0u);
  EXPECT_EQ(moved.size(), 64u);
  a = std::move(moved);
  EXPECT_EQ(a.size(), 64u);
}

TEST_F(CudaTest, WaitsForAStreamAsLongAsItMay) {
  using namespace std::chrono_literals;
  openContext();
  Stream stream = get(Stream::create(context));
  EXPECT_TRUE(get(stream.synchronizeFor(0ms)));
  fail("cuStreamQuery", NotReady);
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(get(stream.synchronizeFor(20ms)));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_GT(fake->calls["cuStreamQuery"], 2);
  fail("cuStreamQuery", IllegalAddress);
  Failure failure = stream.synchronizeFor(20ms);
  EXPECT_EQ(failure.kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(failure.says("cuStreamQuery")) << failure.message;
}

TEST_F(CudaTest, MemoryFailures) {
  openContext();
  Failure failure = DeviceBuffer::allocate(context, size_t(1) << 50);
  EXPECT_EQ(failure.kind, ErrorKind::OutOfMemory);
  EXPECT_TRUE(failure.says("cuMemAlloc (1125899906842624 bytes) failed"));
  Stream stream = get(Stream::create(context));
  for (const char *call :
       {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync",
        "cuMemsetD8Async", "cuStreamSynchronize"})
    fail(call, IllegalAddress);
  char byte = 0;
  EXPECT_EQ(Failure(stream.copyToDevice(1, &byte, 1)).kind,
            ErrorKind::DeviceLost);
  EXPECT_EQ(Failure(stream.copyToHost(&byte, 1, 1)).kind,
            ErrorKind::DeviceLost);
  EXPECT_EQ(Failure(stream.copy(1, 1, 1)).kind, ErrorKind::DeviceLost);
  EXPECT_EQ(Failure(stream.fill(1, 0, 1)).kind, ErrorKind::DeviceLost);
  EXPECT_EQ(Failure(stream.synchronize()).kind, ErrorKind::DeviceLost);
  fail("cuStreamCreate", InvalidValue);
  fail("cuEventCreate", InvalidValue);
  EXPECT_EQ(Failure(Stream::create(context)).kind, ErrorKind::Invalid);
  EXPECT_EQ(Failure(Event::create(context)).kind, ErrorKind::Invalid);
}

TEST_F(CudaTest, CaptureIsSeen) {
  openContext();
  Stream stream = get(Stream::create(context));
  EXPECT_FALSE(get(isCapturing(*context, stream.handle())));
  bool inside = false;
  Graph graph = get(Graph::capture(context, stream, [&]() -> llvm::Error {
    inside = get(isCapturing(*context, stream.handle()));
    return llvm::Error::success();
  }));
  EXPECT_TRUE(inside);
  EXPECT_FALSE(get(isCapturing(*context, stream.handle())));
  EXPECT_EQ(fake->graphs, 1); // the executable one
  EXPECT_TRUE(Failure(graph.launch(stream)).ok);
  fail("cuStreamIsCapturing", static_cast<Result>(906));
  EXPECT_EQ(Failure(isCapturing(*context, nullptr)).kind, ErrorKind::Capturing);
}

TEST_F(CudaTest, CaptureFailures) {
  openContext();
  Stream stream = get(Stream::create(context));
  auto nothing = [] { return llvm::Error::success(); };
  // The work's error is told, and the capture ended.
  Failure failure = Graph::capture(context, stream, [] {
    return refuse(ErrorKind::Invalid, "work", "luck", "none");
  });
  EXPECT_EQ(failure.message, "work requires luck, but got none");
  EXPECT_FALSE(get(isCapturing(*context, stream.handle())));
  for (const char *call : {"cuStreamBeginCapture", "cuStreamEndCapture",
                           "cuGraphInstantiateWithFlags"}) {
    fake->failures = {{call, static_cast<Result>(901)}};
    failure = Graph::capture(context, stream, nothing);
    EXPECT_EQ(failure.kind, ErrorKind::Capturing);
    EXPECT_EQ(failure.message.find(call), 0u) << failure.message;
  }
  fake->failures.clear();
  get(Graph::capture(context, stream, nothing));
}

TEST_F(CudaTest, ReplaysAreTimed) {
  openContext();
  Stream stream = get(Stream::create(context));
  Graph graph = get(
      Graph::capture(context, stream, [] { return llvm::Error::success(); }));
  fake->milliseconds = {9, 8, 0.003f, 0.001f, 0.002f, 0.004f};
  int before = 0;
  TimingOptions options;
  options.warmups = 2;
  options.replays = 4;
  options.before = [&] {
    ++before;
    return llvm::Error::success();
  };
  Timing timing = get(timeReplays(context, graph, stream, options));
  EXPECT_NEAR(timing.median, 2.5, 1e-3);
  EXPECT_NEAR(timing.least, 1, 1e-3);
  EXPECT_NEAR(timing.most, 4, 1e-3);
  EXPECT_EQ(timing.replays, 4);
  EXPECT_EQ(before, 6);
  EXPECT_EQ(fake->calls["cuGraphLaunch"], 6);

  options.replays = 0;
  EXPECT_EQ(Failure(timeReplays(context, graph, stream, options)).kind,
            ErrorKind::Invalid);
  for (const char *call : {"cuEventCreate", "cuEventRecord", "cuGraphLaunch",
                           "cuEventSynchronize", "cuEventElapsedTime"}) {
    fake->failures = {{call, IllegalAddress}};
    EXPECT_EQ(Failure(timeReplays(context, graph, stream)).kind,
              ErrorKind::DeviceLost)
        << call;
  }
}

TEST_F(CudaTest, CachesAreCold) {
  openContext();
  Stream stream = get(Stream::create(context));
  L2Flush flush = get(L2Flush::create(context));
  EXPECT_TRUE(Failure(flush.run(stream)).ok);
  EXPECT_EQ(fake->calls["cuMemsetD8Async"], 1);
  EXPECT_EQ(rotationCopies(0, 100), 1);
  EXPECT_EQ(rotationCopies(1000, 100), 2);
  EXPECT_EQ(rotationCopies(100, 100), 4);
  EXPECT_EQ(rotationCopies(1, 100, 16), 16);
}

// The real driver, in a process of its own: it breaks its context at the end.
TEST(CudaSmokeTest, RunsOnThisMachine) {
  int status = system("\"" MLA_CUDA_SMOKE "\"");
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "no device";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
