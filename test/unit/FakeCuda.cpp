//===- FakeCuda.cpp - A CUDA driver without a GPU -------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudaCalls.h"

namespace fake_driver {
// Never destroyed: hosts call until the very end, and get an error.
FakeCuda &state = *new FakeCuda;
static bool isShutDown = false;
namespace {
struct ShutDown {
  ~ShutDown() { isShutDown = true; }
};
} // namespace
static ShutDown shutDown;
thread_local std::vector<ContextHandle> contextStack;
thread_local CaptureMode captureMode = CaptureMode::Global;
static int anyEvent, anyGraph, anyExec; // their addresses are the handles

Result begin(const char *name, bool needsContext) {
  if (isShutDown)
    return Deinitialized;
  ++state.calls[name];
  auto failure = state.failures.find(name);
  if (failure != state.failures.end())
    return failure->second;
  if (needsContext && state.isLost)
    return LaunchFailed;
  bool has = !contextStack.empty() && contextStack.back();
  return needsContext && !has ? InvalidContext : Success;
}

//===----------------------------------------------------------------------===//
// Streams, graphs and events
//===----------------------------------------------------------------------===//

namespace {
struct FakeStream {
  bool capturing = false;
  bool isGlobal = false, isBroken = false; ///< of the capture
};
} // namespace
static std::set<FakeStream *> &capturing = *new std::set<FakeStream *>;

Result beginUnsafe(const char *name, bool needsContext) {
  Result failure = begin(name, needsContext);
  if (captureMode == CaptureMode::Relaxed)
    return failure;
  for (FakeStream *stream : capturing)
    if (stream->isGlobal) {
      stream->isBroken = true;
      failure = CaptureUnsupported;
    }
  return failure;
}

Result streamCreate(StreamHandle *stream, unsigned flags) {
  FAKE_IN_CONTEXT(cuStreamCreate);
  if (flags != kStreamNonBlocking)
    return InvalidValue;
  ++fake.streams;
  *stream = handle<StreamHandle>(new FakeStream);
  return Success;
}
Result streamDestroy(StreamHandle stream) {
  FAKE_IN_CONTEXT(cuStreamDestroy);
  --fake.streams;
  delete handle<FakeStream *>(stream);
  return Success;
}
Result streamSynchronize(StreamHandle) {
  FAKE_IN_CONTEXT(cuStreamSynchronize);
  return Success;
}
Result streamIsCapturing(StreamHandle stream, CaptureStatus *status) {
  FAKE_IN_CONTEXT(cuStreamIsCapturing);
  bool capturing = stream && handle<FakeStream *>(stream)->capturing;
  *status = capturing ? CaptureStatus::Active : CaptureStatus::None;
  return Success;
}
Result streamBeginCapture(StreamHandle stream, CaptureMode mode) {
  FAKE_IN_CONTEXT(cuStreamBeginCapture);
  if (mode == CaptureMode::Relaxed)
    return InvalidValue;
  auto *capture = handle<FakeStream *>(stream);
  *capture = {true, mode == CaptureMode::Global, false};
  capturing.insert(capture);
  return Success;
}
Result streamEndCapture(StreamHandle stream, GraphHandle *graph) {
  FAKE_IN_CONTEXT(cuStreamEndCapture);
  auto *capture = handle<FakeStream *>(stream);
  bool isBroken = capture->isBroken;
  *capture = {};
  capturing.erase(capture);
  if (isBroken)
    return CaptureInvalidated;
  ++fake.graphs;
  *graph = handle<GraphHandle>(&anyGraph);
  return Success;
}
Result exchangeCaptureMode(CaptureMode *mode) {
  FAKE(cuThreadExchangeStreamCaptureMode);
  std::swap(*mode, captureMode);
  return Success;
}
Result graphInstantiate(GraphExecHandle *exec, GraphHandle,
                        unsigned long long) {
  FAKE_IN_CONTEXT(cuGraphInstantiateWithFlags);
  ++fake.graphs;
  *exec = handle<GraphExecHandle>(&anyExec);
  return Success;
}
Result graphLaunch(GraphExecHandle, StreamHandle) {
  FAKE_IN_CONTEXT(cuGraphLaunch);
  return Success;
}
Result graphExecDestroy(GraphExecHandle) {
  FAKE(cuGraphExecDestroy);
  --fake.graphs;
  return Success;
}
Result graphDestroy(GraphHandle) {
  FAKE(cuGraphDestroy);
  --fake.graphs;
  return Success;
}

Result eventCreate(EventHandle *event, unsigned) {
  FAKE_IN_CONTEXT(cuEventCreate);
  ++fake.events;
  *event = handle<EventHandle>(&anyEvent);
  return Success;
}
Result eventDestroy(EventHandle) {
  FAKE(cuEventDestroy);
  --fake.events;
  return Success;
}
Result eventRecord(EventHandle, StreamHandle) {
  FAKE_IN_CONTEXT(cuEventRecord);
  return Success;
}
Result eventSynchronize(EventHandle) {
  FAKE(cuEventSynchronize);
  return Success;
}
Result eventElapsedTime(float *milliseconds, EventHandle, EventHandle) {
  FAKE(cuEventElapsedTime);
  *milliseconds = 1;
  if (!fake.milliseconds.empty()) {
    *milliseconds = fake.milliseconds.front();
    fake.milliseconds.erase(fake.milliseconds.begin());
  }
  return Success;
}
} // namespace fake_driver

//===----------------------------------------------------------------------===//
// What the library exports
//===----------------------------------------------------------------------===//

using namespace fake_driver;

extern "C" {
[[gnu::visibility("default")]] FakeCuda *mlaFakeCuda() { return &state; }

/// For hosts in C: launches, and whether one may begin before what is ahead.
[[gnu::visibility("default")]] int mlaFakeLaunches() {
  return static_cast<int>(state.launches.size());
}
[[gnu::visibility("default")]] int mlaFakeIsDependent(int launch) {
  for (const auto &attribute : state.launches[launch].attributes)
    if (attribute.id ==
        mla_jit::cuda::LaunchAttributeId::ProgrammaticStreamSerialization)
      return attribute.allowed;
  return 0;
}

[[gnu::visibility("default")]] Result cuDriverGetVersion(int *version) {
  FAKE(cuDriverGetVersion);
  *version = fake.version;
  return Success;
}

[[gnu::visibility("default")]] Result cuGetProcAddress_v2(const char *symbol,
                                                          void **function,
                                                          int version, uint64_t,
                                                          int *status) {
  FAKE(cuGetProcAddress);
  *function = nullptr;
  *status = 1;
  if (version > fake.version)
    return InvalidValue;
  if (fake.missing.count(symbol))
    return Success;
#define MLA_FAKE_FIND(field, name, since, parameters)                          \
  if (!strcmp(symbol, #name) && version >= since)                              \
    *function = reinterpret_cast<void *>(fake_driver::field);
  MLA_CUDA_REQUIRED_FUNCTIONS(MLA_FAKE_FIND)
  MLA_CUDA_OPTIONAL_FUNCTIONS(MLA_FAKE_FIND)
#undef MLA_FAKE_FIND
  *status = *function ? 0 : 1;
  return Success;
}
}
