//===- Tools.h --------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What tools and tests need around launches: memory, streams, timing. Kernels
// get all of this from their callers, so the runtime proper uses none of it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_TOOLS_H
#define MLA_JIT_SRC_CUDA_TOOLS_H

#include "Device.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <functional>

namespace mla_jit::cuda {

/// Device memory, plain and never managed; freed with its owner.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  /// Zero bytes are legal and give a null address.
  static llvm::Expected<DeviceBuffer>
  allocate(std::shared_ptr<const Context> context, size_t bytes);
  DeviceBuffer(DeviceBuffer &&other) noexcept { *this = std::move(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer();

  DevicePtr address() const { return start; }
  size_t size() const { return bytes; }

private:
  std::shared_ptr<const Context> context;
  DevicePtr start = 0;
  size_t bytes = 0;
};

/// A stream that does not wait for the default one.
class Stream {
public:
  static llvm::Expected<Stream> create(std::shared_ptr<const Context> context);
  Stream(Stream &&other) noexcept
      : where(std::move(other.where)),
        stream(std::exchange(other.stream, nullptr)) {}
  Stream &operator=(Stream &&) = delete;
  ~Stream();

  StreamHandle handle() const { return stream; }
  const Context &context() const { return *where; }
  /// Waits for all work so far, and returns its error if it had one.
  llvm::Error synchronize() const;
  /// The same, for so long at most: false if there is work left then.
  llvm::Expected<bool> synchronizeFor(std::chrono::milliseconds limit) const;

  /// Copies in the order of the stream. Host memory that is not pinned is
  /// copied before the call returns (to the device) or before the stream goes
  /// on (from it); synchronize() before using what was read.
  llvm::Error copyToDevice(DevicePtr to, const void *from, size_t bytes) const;
  llvm::Error copyToHost(void *to, DevicePtr from, size_t bytes) const;
  llvm::Error copy(DevicePtr to, DevicePtr from, size_t bytes) const;
  llvm::Error fill(DevicePtr to, uint8_t value, size_t bytes) const;

private:
  explicit Stream(std::shared_ptr<const Context> context)
      : where(std::move(context)) {}
  std::shared_ptr<const Context> where;
  StreamHandle stream = nullptr;
};

/// A point in a stream whose time can be read.
class Event {
public:
  static llvm::Expected<Event> create(std::shared_ptr<const Context> context);
  Event(Event &&other) noexcept
      : context(std::move(other.context)),
        event(std::exchange(other.event, nullptr)) {}
  Event &operator=(Event &&) = delete;
  ~Event();

  llvm::Error record(const Stream &stream) const;
  llvm::Error synchronize() const;
  /// Microseconds from `start` to this; both have been reached.
  llvm::Expected<double> since(const Event &start) const;

private:
  explicit Event(std::shared_ptr<const Context> context)
      : context(std::move(context)) {}
  std::shared_ptr<const Context> context;
  EventHandle event = nullptr;
};

/// A captured and instantiated graph.
class Graph {
public:
  /// Captures what `work` puts into the stream; the capture is ended, and
  /// nothing is left behind, when it fails.
  static llvm::Expected<Graph> capture(std::shared_ptr<const Context> context,
                                       const Stream &stream,
                                       llvm::function_ref<llvm::Error()> work);
  Graph(Graph &&other) noexcept
      : context(std::move(other.context)),
        executable(std::exchange(other.executable, nullptr)) {}
  Graph &operator=(Graph &&) = delete;
  ~Graph();

  llvm::Error launch(const Stream &stream) const;

private:
  explicit Graph(std::shared_ptr<const Context> context)
      : context(std::move(context)) {}
  std::shared_ptr<const Context> context;
  GraphExecHandle executable = nullptr;
};

/// Microseconds over the replays.
struct Timing {
  double median = 0, least = 0, most = 0;
  int replays = 0;
};

struct TimingOptions {
  int replays = 21; ///< timed, at least 1
  int warmups = 3;
  /// Runs in front of each replay, outside the time: for a flush, say.
  std::function<llvm::Error()> before = nullptr;
};

/// Times replays of the graph one by one with events on the device.
llvm::Expected<Timing> timeReplays(std::shared_ptr<const Context> context,
                                   const Graph &graph, const Stream &stream,
                                   const TimingOptions &options = {});

/// Copies of `bytes` of input to go through in turn, so that each launch finds
/// nothing of its copy in an L2 of `l2Bytes`: what comes between two uses of a
/// copy is at least three times the L2. At most `limit` (at least 1).
int rotationCopies(size_t bytes, size_t l2Bytes, int limit = 1024);

/// Overwrites the L2, for what cannot be rotated: one write of twice its size.
class L2Flush {
public:
  static llvm::Expected<L2Flush> create(std::shared_ptr<const Context> context);
  llvm::Error run(const Stream &stream) const;

private:
  DeviceBuffer buffer;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_TOOLS_H
