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
static int anyEvent; // its address is the handle

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
/// Nodes are launches; a graph to be launched is a copy.
struct FakeGraph {
  std::vector<std::unique_ptr<GraphLaunch>> nodes;
  std::vector<GraphNodeHandle> newest;
};
struct FakeStream {
  bool capturing = false;
  bool isGlobal = false, isBroken = false; ///< of the capture
  FakeGraph graph;
};
struct FakeExec {
  std::map<GraphNodeHandle, GraphLaunch> launches;
  std::vector<GraphNodeHandle> order;
};
} // namespace

static std::set<FakeStream *> &capturing = *new std::set<FakeStream *>;
/// Graphs of processes that end with live handles are no leaks.
static std::set<const void *> &live = *new std::set<const void *>;

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
  capturing.erase(handle<FakeStream *>(stream));
  delete handle<FakeStream *>(stream);
  return Success;
}
Result streamSynchronize(StreamHandle) {
  FAKE_IN_CONTEXT(cuStreamSynchronize);
  return Success;
}
Result streamQuery(StreamHandle) {
  FAKE_IN_CONTEXT(cuStreamQuery);
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
  *capture = {true, mode == CaptureMode::Global, false, {}};
  capturing.insert(capture);
  return Success;
}
Result streamEndCapture(StreamHandle stream, GraphHandle *graph) {
  FAKE_IN_CONTEXT(cuStreamEndCapture);
  auto *capture = handle<FakeStream *>(stream);
  bool isBroken = capture->isBroken;
  auto *made = new FakeGraph(std::move(capture->graph));
  *capture = {};
  capturing.erase(capture);
  if (isBroken) {
    delete made;
    return CaptureInvalidated;
  }
  ++fake.graphs;
  live.insert(made);
  *graph = handle<GraphHandle>(made);
  return Success;
}
Result exchangeCaptureMode(CaptureMode *mode) {
  FAKE(cuThreadExchangeStreamCaptureMode);
  std::swap(*mode, captureMode);
  return Success;
}
bool capture(const DriverLaunchConfig &config, FunctionHandle function,
             const std::vector<uint64_t> &parameters) {
  auto *stream = handle<FakeStream *>(config.stream);
  if (!capturing.count(stream))
    return false;
  stream->graph.nodes.emplace_back(
      new GraphLaunch{config, {}, function, parameters});
  GraphLaunch &node = *stream->graph.nodes.back();
  node.attributes.assign(config.attributes,
                         config.attributes + config.numAttributes);
  stream->graph.newest = {handle<GraphNodeHandle>(&node)};
  return true;
}
Result streamGetCaptureInfo(StreamHandle stream, CaptureStatus *status,
                            uint64_t *id, GraphHandle *graph,
                            const GraphNodeHandle **newest, const GraphEdge **,
                            size_t *numNewest) {
  FAKE_IN_CONTEXT(cuStreamGetCaptureInfo);
  auto *capture = handle<FakeStream *>(stream);
  *status = capture->capturing ? CaptureStatus::Active : CaptureStatus::None;
  *id = 1;
  *graph = handle<GraphHandle>(&capture->graph);
  *newest = capture->graph.newest.data();
  *numNewest = capture->graph.newest.size();
  return Success;
}
Result graphInstantiate(GraphExecHandle *exec, GraphHandle graph,
                        unsigned long long) {
  FAKE_UNSAFE_IN_CONTEXT(cuGraphInstantiateWithFlags);
  if (!takeMemory(kGraphBytes))
    return OutOfMemory;
  ++fake.graphs;
  auto *made = new FakeExec;
  for (const auto &node : handle<FakeGraph *>(graph)->nodes) {
    made->order.push_back(handle<GraphNodeHandle>(node.get()));
    made->launches[made->order.back()] = *node;
  }
  live.insert(made);
  *exec = handle<GraphExecHandle>(made);
  return Success;
}
Result graphExecKernelNodeSetParams(GraphExecHandle exec, GraphNodeHandle node,
                                    const KernelNodeParams *params) {
  FAKE_IN_CONTEXT(cuGraphExecKernelNodeSetParams);
  auto &launches = handle<FakeExec *>(exec)->launches;
  auto found = launches.find(node);
  if (found == launches.end() || found->second.function != params->function)
    return InvalidValue;
  GraphLaunch &launch = found->second;
  std::copy_n(params->grid, 3, launch.config.grid);
  std::copy_n(params->block, 3, launch.config.block);
  launch.config.sharedBytes = params->sharedBytes;
  launch.parameters = readParameters(params->function, params->parameters);
  return Success;
}
Result graphUpload(GraphExecHandle, StreamHandle) {
  FAKE_IN_CONTEXT(cuGraphUpload);
  return Success;
}
Result graphLaunch(GraphExecHandle exec, StreamHandle stream) {
  FAKE_IN_CONTEXT(cuGraphLaunch);
  if (capturing.count(handle<FakeStream *>(stream)))
    return CaptureUnsupported;
  auto *graph = handle<FakeExec *>(exec);
  for (GraphNodeHandle node : graph->order) {
    GraphLaunch launch = graph->launches[node];
    launch.config.stream = stream;
    start(std::move(launch));
  }
  return Success;
}
Result graphExecDestroy(GraphExecHandle exec) {
  FAKE(cuGraphExecDestroy);
  --fake.graphs;
  fake.usedBytes -= kGraphBytes;
  live.erase(exec);
  delete handle<FakeExec *>(exec);
  return Success;
}
Result graphDestroy(GraphHandle graph) {
  FAKE(cuGraphDestroy);
  --fake.graphs;
  live.erase(graph);
  delete handle<FakeGraph *>(graph);
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
