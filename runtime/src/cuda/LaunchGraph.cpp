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

LaunchGraph::LaunchGraph(ArrayRef<Kernel> given)
    : kernels(given.begin(), given.end()), told(given.size()) {
  // Here, as launches allocate nothing.
  for (size_t i = 0; i < kernels.size(); ++i)
    told[i].bytes.resize(kernels[i].numBytes);
}

LaunchGraph::LaunchGraph(LaunchGraph &&other) noexcept
    : kernels(std::move(other.kernels)), nodes(std::move(other.nodes)),
      told(std::move(other.told)), graph(std::exchange(other.graph, nullptr)),
      executable(std::exchange(other.executable, nullptr)) {}

LaunchGraph::~LaunchGraph() {
  if (!graph)
    return;
  Expected<ContextScope> scope = context().enter();
  if (!scope) { // a context that is gone has taken all with it
    llvm::consumeError(scope.takeError());
    return;
  }
  const Driver &driver = context().driver();
  RelaxedCaptureScope relaxed(driver);
  if (executable)
    driver.call().graphExecDestroy(executable);
  driver.call().graphDestroy(graph);
}

Expected<std::vector<LaunchGraph>> LaunchGraph::create(ArrayRef<Kernel> kernels,
                                                       size_t most) {
  const Context &context = kernels.front().function->context();
  const Driver &driver = context.driver();
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  RelaxedCaptureScope relaxed(driver);
  StreamHandle stream = nullptr;
  if (Error error =
          driver.check(driver.call().streamCreate(&stream, kStreamNonBlocking),
                       "cuStreamCreate"))
    return std::move(error);
  std::vector<LaunchGraph> made;
  Error error = Error::success();
  while (!error && made.size() < most) {
    LaunchGraph graph(kernels);
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
  if (Error error = capture(stream))
    return error;
  const Driver &driver = context().driver();
  if (Error error =
          driver.check(driver.call().graphInstantiate(&executable, graph, 0),
                       "cuGraphInstantiateWithFlags"))
    return error;
  // Else the first launch would do it.
  return driver.check(driver.call().graphUpload(executable, stream),
                      "cuGraphUpload");
}

/// Launches are captured, so that their attributes mean what they mean in a
/// stream.
Error LaunchGraph::capture(StreamHandle stream) {
  const Driver &driver = context().driver();
  if (Error error = driver.check(
          driver.call().streamBeginCapture(stream, CaptureMode::ThreadLocal),
          "cuStreamBeginCapture"))
    return error;
  Error error = captureNodes(stream);
  // Also of a capture that failed.
  Error ended = driver.check(driver.call().streamEndCapture(stream, &graph),
                             "cuStreamEndCapture");
  if (!error)
    return ended;
  llvm::consumeError(std::move(ended));
  return error;
}

Error LaunchGraph::captureNodes(StreamHandle stream) {
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

Error LaunchGraph::tell(size_t node, const Call &call) {
  const Kernel &kernel = kernels[node];
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
  Result result =
      driver.call().graphExecKernelNodeSetParams(executable, nodes[node], &raw);
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
  for (size_t i = 0; i < kernels.size(); ++i)
    if (Error error = tell(i, calls[i]))
      return error;
  return repeat(scope, stream);
}

Error LaunchGraph::repeat(const ContextScope &, StreamHandle stream) {
  const Driver &driver = context().driver();
  Result result = driver.call().graphLaunch(executable, stream);
  return result == Success
             ? Error::success()
             : driver.check(result, "cuGraphLaunch",
                            "kernel '" +
                                kernels.front().function->info().symbol + "'");
}
