//===- LaunchGraph.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cstring>

using namespace mla_jit::cuda;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

/// The kernels as the driver's graph, whose nodes name those of all graphs that
/// are made of it.
class LaunchGraph::Capture {
public:
  explicit Capture(ArrayRef<Kernel> kernels)
      : kernels(kernels.begin(), kernels.end()) {}
  Capture(const Capture &) = delete;
  ~Capture();

  const Context &context() const { return kernels.front().function->context(); }
  /// Launches are captured, so that their attributes mean what they mean in a
  /// stream; here one of nobody else's.
  Error make(StreamHandle stream);

  llvm::SmallVector<Kernel, 3> kernels;
  llvm::SmallVector<GraphNodeHandle, 3> nodes; ///< by kernel
  GraphHandle graph = nullptr;

private:
  Error makeNodes(StreamHandle stream);
};

LaunchGraph::Capture::~Capture() {
  if (!graph)
    return;
  Expected<ContextScope> scope = context().enter();
  if (!scope) { // a context that is gone has taken all with it
    llvm::consumeError(scope.takeError());
    return;
  }
  const Driver &driver = context().driver();
  RelaxedCaptureScope relaxed(driver);
  driver.call().graphDestroy(graph);
}

Error LaunchGraph::Capture::make(StreamHandle stream) {
  const Driver &driver = context().driver();
  if (Error error = driver.check(
          driver.call().streamBeginCapture(stream, CaptureMode::ThreadLocal),
          "cuStreamBeginCapture"))
    return error;
  Error error = makeNodes(stream);
  // Also of a capture that failed.
  Error ended = driver.check(driver.call().streamEndCapture(stream, &graph),
                             "cuStreamEndCapture");
  if (!error)
    return ended;
  llvm::consumeError(std::move(ended));
  return error;
}

Error LaunchGraph::Capture::makeNodes(StreamHandle stream) {
  const Driver &driver = context().driver();
  if (!driver.call().streamGetCaptureInfo)
    return refuse(ErrorKind::Unsupported, "the graph of a kernel",
                  "a driver of CUDA 12.3 or newer",
                  versionText(driver.version()));
  TensorMap anything; // no parameter is larger
  for (const Kernel &kernel : kernels) {
    llvm::SmallVector<void *, 64> parameters(kernel.numParameters, &anything);
    LaunchConfig config = kernel.config;
    config.stream = stream;
    if (Error error = cuda::launch(*kernel.function, config, parameters))
      return error;
    CaptureStatus status;
    uint64_t id = 0;
    GraphHandle unused = nullptr;
    const GraphNodeHandle *newest = nullptr;
    const GraphEdge *edges = nullptr;
    size_t count = 0;
    if (Error error = driver.check(
            driver.call().streamGetCaptureInfo(stream, &status, &id, &unused,
                                               &newest, &edges, &count),
            "cuStreamGetCaptureInfo"))
      return error;
    if (count != 1)
      return refuse(ErrorKind::Other, "the graph of a kernel",
                    "one newest node", llvm::Twine(count));
    nodes.push_back(newest[0]);
  }
  return Error::success();
}

LaunchGraph::LaunchGraph(std::shared_ptr<const Capture> given)
    : capture(std::move(given)), told(capture->kernels.size()) {
  // Here, as launches allocate nothing.
  for (auto [last, kernel] : llvm::zip_equal(told, capture->kernels))
    last.bytes.resize(kernel.numBytes);
}

LaunchGraph::LaunchGraph(LaunchGraph &&other) noexcept
    : capture(std::move(other.capture)), told(std::move(other.told)),
      executable(std::exchange(other.executable, nullptr)) {}

LaunchGraph::~LaunchGraph() {
  if (!executable)
    return;
  Expected<ContextScope> scope = context().enter();
  if (!scope) {
    llvm::consumeError(scope.takeError());
    return;
  }
  const Driver &driver = context().driver();
  RelaxedCaptureScope relaxed(driver);
  driver.call().graphExecDestroy(executable);
}

const Context &LaunchGraph::context() const { return capture->context(); }

/// Graphs for which there is memory that others will hardly miss: they are a
/// cache, and what is loaded later is not.
static Expected<size_t> affordableGraphs(const Driver &driver) {
  size_t free = 0, total = 0;
  if (Error error =
          driver.check(driver.call().memGetInfo(&free, &total), "cuMemGetInfo"))
    return std::move(error);
  return free / 8 / LaunchGraph::kDeviceBytes;
}

Expected<std::vector<LaunchGraph>> LaunchGraph::create(ArrayRef<Kernel> kernels,
                                                       size_t most) {
  const Context &context = kernels.front().function->context();
  const Driver &driver = context.driver();
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  RelaxedCaptureScope relaxed(driver);
  Expected<size_t> affordable = affordableGraphs(driver);
  if (!affordable)
    return affordable.takeError();
  most = std::min(most, *affordable);
  std::vector<LaunchGraph> made;
  if (most == 0)
    return made;
  StreamHandle stream = nullptr;
  if (Error error =
          driver.check(driver.call().streamCreate(&stream, kStreamNonBlocking),
                       "cuStreamCreate"))
    return std::move(error);
  auto capture = std::make_shared<Capture>(kernels);
  Error error = capture->make(stream);
  while (!error && made.size() < most) {
    LaunchGraph graph(capture);
    error = graph.make(stream);
    if (!error)
      made.push_back(std::move(graph));
  }
  driver.call().streamDestroy(stream);
  if (made.empty())
    return std::move(error);
  llvm::consumeError(std::move(error));
  return std::move(made);
}

Error LaunchGraph::make(StreamHandle stream) {
  const Driver &driver = context().driver();
  if (Error error = driver.check(
          driver.call().graphInstantiate(&executable, capture->graph, 0),
          "cuGraphInstantiateWithFlags"))
    return error;
  // Else the first launch would do it.
  return driver.check(driver.call().graphUpload(executable, stream),
                      "cuGraphUpload");
}

Error LaunchGraph::tell(size_t node, const Call &call) {
  const Kernel &kernel = capture->kernels[node];
  Told &last = told[node];
  assert(call.bytes.empty() || call.bytes.size() == last.bytes.size());
  if (last.isKnown && !call.bytes.empty() && last.grid == call.grid &&
      std::memcmp(last.bytes.data(), call.bytes.data(), call.bytes.size()) == 0)
    return Error::success();
  KernelNodeParams raw = {};
  raw.function = kernel.function->handle();
  for (int dim = 0; dim < 3; ++dim) {
    raw.grid[dim] = call.grid[dim];
    raw.block[dim] = kernel.config.block[dim];
  }
  raw.sharedBytes = kernel.config.dynamicShared;
  raw.parameters = const_cast<void **>(call.parameters.data());
  const Driver &driver = context().driver();
  Result result = driver.call().graphExecKernelNodeSetParams(
      executable, capture->nodes[node], &raw);
  last.isKnown = result == Success && !call.bytes.empty();
  if (result != Success)
    return driver.check(result, "cuGraphExecKernelNodeSetParams",
                        "kernel '" + kernel.function->info().symbol + "'");
  last.grid = call.grid;
  llvm::copy(call.bytes, last.bytes.begin());
  return Error::success();
}

Error LaunchGraph::launch(const ContextScope &scope, StreamHandle stream,
                          ArrayRef<Call> calls) {
  for (size_t i = 0; i < told.size(); ++i)
    if (Error error = tell(i, calls[i]))
      return error;
  return repeat(scope, stream);
}

Error LaunchGraph::repeat(const ContextScope &, StreamHandle stream) {
  const Driver &driver = context().driver();
  Result result = driver.call().graphLaunch(executable, stream);
  return result == Success
             ? Error::success()
             : driver.check(
                   result, "cuGraphLaunch",
                   "kernel '" +
                       capture->kernels.front().function->info().symbol + "'");
}
