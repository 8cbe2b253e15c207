//===- Tools.cpp - Memory, streams and timing for tools -------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tools.h"

#include <algorithm>
#include <thread>
#include <vector>

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Runs a driver call in the context and checks it.
template <typename Call>
static Error inside(const Context &context, llvm::StringRef name,
                    const Twine &purpose, Call call) {
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  return context.driver().check(call(context.driver().call()), name, purpose);
}

/// Runs a driver call that gives something back; its error has nobody to go to.
template <typename Call>
static void release(const Context &context, Call call) {
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return llvm::consumeError(scope.takeError());
  RelaxedCaptureScope relaxed(context.driver());
  call(context.driver().call());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<DeviceBuffer>
DeviceBuffer::allocate(std::shared_ptr<const Context> context, size_t bytes) {
  DeviceBuffer buffer;
  if (bytes) {
    RelaxedCaptureScope relaxed(context->driver());
    if (Error error = inside(*context, "cuMemAlloc", Twine(bytes) + " bytes",
                             [&](const DriverTable &call) {
                               return call.memAlloc(&buffer.start, bytes);
                             })) {
      buffer.start = 0;
      return std::move(error);
    }
  }
  buffer.bytes = bytes;
  buffer.context = std::move(context);
  return std::move(buffer);
}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(context, other.context);
  std::swap(start, other.start);
  std::swap(bytes, other.bytes);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (start)
    release(*context, [&](const DriverTable &call) { call.memFree(start); });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Expected<Stream> Stream::create(std::shared_ptr<const Context> context) {
  Stream stream(std::move(context));
  if (Error error = inside(
          *stream.where, "cuStreamCreate", "", [&](const DriverTable &call) {
            return call.streamCreate(&stream.stream, kStreamNonBlocking);
          })) {
    stream.stream = nullptr;
    return std::move(error);
  }
  return std::move(stream);
}

Stream::~Stream() {
  if (stream)
    release(*where,
            [&](const DriverTable &call) { call.streamDestroy(stream); });
}

Error Stream::synchronize() const {
  return inside(
      *where, "cuStreamSynchronize", "",
      [&](const DriverTable &call) { return call.streamSynchronize(stream); });
}

Expected<bool> Stream::synchronizeFor(std::chrono::milliseconds limit) const {
  constexpr std::chrono::microseconds kPause(100);
  Expected<ContextScope> scope = where->enter();
  if (!scope)
    return scope.takeError();
  const Driver &driver = where->driver();
  RelaxedCaptureScope relaxed(driver);
  auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    Result result = driver.call().streamQuery(stream);
    if (result == Success)
      return true;
    if (result != NotReady)
      return driver.check(result, "cuStreamQuery");
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(kPause);
  }
}

Error Stream::copyToDevice(DevicePtr to, const void *from, size_t bytes) const {
  if (!bytes)
    return Error::success();
  return inside(*where, "cuMemcpyHtoDAsync", Twine(bytes) + " bytes",
                [&](const DriverTable &call) {
                  return call.memcpyHtoDAsync(to, from, bytes, stream);
                });
}

Error Stream::copyToHost(void *to, DevicePtr from, size_t bytes) const {
  if (!bytes)
    return Error::success();
  return inside(*where, "cuMemcpyDtoHAsync", Twine(bytes) + " bytes",
                [&](const DriverTable &call) {
                  return call.memcpyDtoHAsync(to, from, bytes, stream);
                });
}

Error Stream::copy(DevicePtr to, DevicePtr from, size_t bytes) const {
  if (!bytes)
    return Error::success();
  return inside(*where, "cuMemcpyDtoDAsync", Twine(bytes) + " bytes",
                [&](const DriverTable &call) {
                  return call.memcpyDtoDAsync(to, from, bytes, stream);
                });
}

Error Stream::fill(DevicePtr to, uint8_t value, size_t bytes) const {
  if (!bytes)
    return Error::success();
  return inside(*where, "cuMemsetD8Async", Twine(bytes) + " bytes",
                [&](const DriverTable &call) {
                  return call.memsetD8Async(to, value, bytes, stream);
                });
}

Expected<Event> Event::create(std::shared_ptr<const Context> context) {
  Event event(std::move(context));
  if (Error error = inside(*event.context, "cuEventCreate", "",
                           [&](const DriverTable &call) {
                             return call.eventCreate(&event.event, 0);
                           })) {
    event.event = nullptr;
    return std::move(error);
  }
  return std::move(event);
}

Event::~Event() {
  if (event)
    release(*context,
            [&](const DriverTable &call) { call.eventDestroy(event); });
}

Error Event::record(const Stream &stream) const {
  return inside(*context, "cuEventRecord", "", [&](const DriverTable &call) {
    return call.eventRecord(event, stream.handle());
  });
}

Error Event::synchronize() const {
  return inside(
      *context, "cuEventSynchronize", "",
      [&](const DriverTable &call) { return call.eventSynchronize(event); });
}

Expected<double> Event::since(const Event &start) const {
  float milliseconds = 0;
  if (Error error = inside(
          *context, "cuEventElapsedTime", "", [&](const DriverTable &call) {
            return call.eventElapsedTime(&milliseconds, start.event, event);
          }))
    return std::move(error);
  return 1e3 * milliseconds;
}

//===----------------------------------------------------------------------===//
// Graphs and timing
//===----------------------------------------------------------------------===//

Expected<Graph> Graph::capture(std::shared_ptr<const Context> context,
                               const Stream &stream,
                               llvm::function_ref<Error()> work) {
  Graph graph(std::move(context));
  // Thread-local: what other threads do meanwhile does not break it.
  if (Error error = inside(*graph.context, "cuStreamBeginCapture", "",
                           [&](const DriverTable &call) {
                             return call.streamBeginCapture(
                                 stream.handle(), CaptureMode::ThreadLocal);
                           }))
    return std::move(error);
  Error failed = work();
  GraphHandle captured = nullptr;
  Error ended = inside(
      *graph.context, "cuStreamEndCapture", "", [&](const DriverTable &call) {
        return call.streamEndCapture(stream.handle(), &captured);
      });
  // A failed launch breaks the capture: its error is the one to tell.
  if (failed || ended) {
    if (captured)
      release(*graph.context,
              [&](const DriverTable &call) { call.graphDestroy(captured); });
    if (!failed)
      return std::move(ended);
    llvm::consumeError(std::move(ended));
    return std::move(failed);
  }
  Error error =
      inside(*graph.context, "cuGraphInstantiateWithFlags", "",
             [&](const DriverTable &call) {
               return call.graphInstantiate(&graph.executable, captured, 0);
             });
  release(*graph.context,
          [&](const DriverTable &call) { call.graphDestroy(captured); });
  if (error) {
    graph.executable = nullptr;
    return std::move(error);
  }
  return std::move(graph);
}

Graph::~Graph() {
  if (executable)
    release(*context, [&](const DriverTable &call) {
      call.graphExecDestroy(executable);
    });
}

Error Graph::launch(const Stream &stream) const {
  return inside(*context, "cuGraphLaunch", "", [&](const DriverTable &call) {
    return call.graphLaunch(executable, stream.handle());
  });
}

Expected<Timing>
mla_jit::cuda::timeReplays(std::shared_ptr<const Context> context,
                           const Graph &graph, const Stream &stream,
                           const TimingOptions &options) {
  if (options.replays < 1 || options.warmups < 0)
    return refuse(ErrorKind::Invalid, "the timing of a graph",
                  "at least 1 replay and 0 warm-ups",
                  Twine(options.replays) + " and " + Twine(options.warmups));
  Expected<Event> start = Event::create(context);
  if (!start)
    return start.takeError();
  Expected<Event> end = Event::create(context);
  if (!end)
    return end.takeError();
  std::vector<double> times;
  for (int i = 0; i < options.warmups + options.replays; ++i) {
    if (options.before)
      if (Error error = options.before())
        return std::move(error);
    if (Error error = start->record(stream))
      return std::move(error);
    if (Error error = graph.launch(stream))
      return std::move(error);
    if (Error error = end->record(stream))
      return std::move(error);
    if (Error error = end->synchronize())
      return std::move(error);
    Expected<double> time = end->since(*start);
    if (!time)
      return time.takeError();
    if (i >= options.warmups)
      times.push_back(*time);
  }
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  Timing timing;
  timing.median =
      times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
  timing.least = times.front();
  timing.most = times.back();
  timing.replays = options.replays;
  return timing;
}

int mla_jit::cuda::rotationCopies(size_t bytes, size_t l2Bytes, int limit) {
  if (!bytes)
    return 1;
  size_t copies = (3 * l2Bytes + bytes - 1) / bytes + 1;
  return static_cast<int>(
      std::min<size_t>(copies, static_cast<size_t>(std::max(limit, 1))));
}

Expected<L2Flush> L2Flush::create(std::shared_ptr<const Context> context) {
  size_t bytes = 2 * static_cast<size_t>(context->device().l2Bytes);
  Expected<DeviceBuffer> buffer =
      DeviceBuffer::allocate(std::move(context), bytes);
  if (!buffer)
    return buffer.takeError();
  L2Flush flush;
  flush.buffer = std::move(*buffer);
  return std::move(flush);
}

Error L2Flush::run(const Stream &stream) const {
  return stream.fill(buffer.address(), 0, buffer.size());
}
