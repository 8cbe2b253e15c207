//===- DeviceLaunch.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLaunch.h"
#include "mla/Inputs/TensorSet.h"
#include "mla/Oracle/Oracle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace mla_jit {

/// Canaries on both sides of the workspace; a multiple of its alignment.
static constexpr size_t kGuard = 4096;
static constexpr uint8_t kCanary = 0xA5;

Expected<std::shared_ptr<DeviceSession>> DeviceSession::open(int number) {
  auto driver = cuda::Driver::get();
  if (!driver)
    return driver.takeError();
  auto device = cuda::Device::open(*driver, number);
  if (!device)
    return device.takeError();
  auto context = cuda::Context::retain(*driver, *device);
  if (!context)
    return context.takeError();
  auto stream = cuda::Stream::create(*context);
  if (!stream)
    return stream.takeError();
  return std::shared_ptr<DeviceSession>(
      new DeviceSession(std::move(*context), std::move(*stream)));
}

/// The memory from a tensor's first element to its last one.
static llvm::ArrayRef<uint8_t> extentOf(const Tensor &tensor) {
  if (!tensor.data || !tensor.numElements())
    return {};
  int64_t last = 0;
  for (int dim = 0; dim < tensor.rank; ++dim)
    last += (tensor.shape[dim] - 1) * tensor.stride[dim];
  return {static_cast<const uint8_t *>(tensor.data),
          (last + 1) * byteSize(tensor.dtype)};
}

static Tensor at(Tensor tensor, cuda::DevicePtr address) {
  tensor.data = reinterpret_cast<void *>(address);
  return tensor;
}

Expected<cuda::DevicePtr> DeviceLaunch::upload(llvm::ArrayRef<uint8_t> bytes) {
  // Device memory is aligned as much as any; kernels look at 16 bytes.
  constexpr size_t kAlignment = 16;
  size_t shift = reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment;
  auto buffer =
      cuda::DeviceBuffer::allocate(session->context(), shift + bytes.size());
  if (!buffer)
    return buffer.takeError();
  if (Error error = session->stream().copyToDevice(buffer->address() + shift,
                                                   bytes.data(), bytes.size()))
    return std::move(error);
  buffers.push_back(std::move(*buffer));
  return buffers.back().address() + shift;
}

Error DeviceLaunch::placeTensors(const LaunchArgs &host) {
  for (const mla_arg_info &argument : kernel->arguments()) {
    if (!argument.is_tensor)
      continue;
    Tensor tensor = host.tensor(argument.name);
    llvm::ArrayRef<uint8_t> extent = extentOf(tensor);
    if (extent.empty())
      continue;
    bool isOutput = false;
    for (auto [memory, address] : llvm::zip_equal(outputs, outputAddresses)) {
      if (extent.begin() < memory.begin() || extent.end() > memory.end())
        continue;
      isOutput = true;
      if (Error error = arguments.set(
              argument.name,
              at(tensor, address + (extent.begin() - memory.begin()))))
        return error;
    }
    if (isOutput)
      continue;
    auto address = upload(extent);
    if (!address)
      return address.takeError();
    if (Error error = arguments.set(argument.name, at(tensor, *address)))
      return error;
  }
  return Error::success();
}

Error DeviceLaunch::placePages(const LaunchArgs &host,
                               const PagePlacement &placement) {
  for (const char *name : {"k", "k_rope"}) {
    Tensor pool = host.tensor(name);
    if (!pool.given())
      continue;
    size_t pageBytes = pool.stride[0] * byteSize(pool.dtype);
    auto buffer = cuda::DeviceBuffer::allocate(session->context(),
                                               placement.poolPages * pageBytes);
    if (!buffer)
      return buffer.takeError();
    for (auto [old, page] : llvm::enumerate(placement.pageOfOld))
      if (page >= 0)
        if (Error error = session->stream().copyToDevice(
                buffer->address() + page * pageBytes,
                static_cast<const uint8_t *>(pool.data) + old * pageBytes,
                pageBytes))
          return error;
    pool.shape[0] = placement.poolPages;
    if (Error error = arguments.set(name, at(pool, buffer->address())))
      return error;
    buffers.push_back(std::move(*buffer));
  }
  for (const char *name : {"table", "kv_indices"}) {
    Tensor table = host.tensor(name);
    if (!table.given())
      continue;
    auto extent = extentOf(table);
    std::vector<uint8_t> renamed(extent.begin(), extent.end());
    auto count = static_cast<int64_t>(renamed.size() / byteSize(table.dtype));
    for (int64_t i = 0; i < count; ++i) {
      auto page =
          static_cast<int64_t>(readElement(renamed.data(), table.dtype, i));
      if (page >= 0 && page < static_cast<int64_t>(placement.pageOfOld.size()))
        writeElement(renamed.data(), table.dtype, i,
                     static_cast<double>(placement.pageOfOld[page]));
    }
    auto address = upload(renamed);
    if (!address)
      return address.takeError();
    if (Error error = arguments.set(name, at(table, *address)))
      return error;
  }
  return Error::success();
}

Error DeviceLaunch::makeWorkspace() {
  ready = arguments.get();
  if (Error error = kernel->workspaceBytes(ready).moveInto(workspaceBytes))
    return error;
  auto buffer = cuda::DeviceBuffer::allocate(session->context(),
                                             workspaceBytes + 2 * kGuard);
  if (!buffer)
    return buffer.takeError();
  workspace = std::move(*buffer);
  ready.workspace = reinterpret_cast<void *>(workspace.address() + kGuard);
  ready.workspace_bytes = workspaceBytes;
  const cuda::Stream &stream = session->stream();
  if (Error error = stream.fill(workspace.address(), kCanary, workspace.size()))
    return error;
  return stream.fill(workspace.address() + kGuard, oracle::kPrefillByte,
                     workspaceBytes);
}

Expected<DeviceLaunch>
DeviceLaunch::create(std::shared_ptr<DeviceSession> session,
                     std::shared_ptr<const PublicKernel> kernel,
                     const LaunchArgs &arguments,
                     llvm::ArrayRef<llvm::MutableArrayRef<uint8_t>> outputs,
                     const PagePlacement *placement) {
  DeviceLaunch made(std::move(session), std::move(kernel), arguments);
  made.outputs.assign(outputs.begin(), outputs.end());
  for (llvm::ArrayRef<uint8_t> memory : outputs) {
    auto address = made.upload(memory);
    if (!address)
      return address.takeError();
    made.outputAddresses.push_back(*address);
  }
  if (Error error = made.placeTensors(arguments))
    return std::move(error);
  if (placement)
    if (Error error = made.placePages(arguments, *placement))
      return std::move(error);
  if (Error error = made.makeWorkspace())
    return std::move(error);
  return made;
}

Error DeviceLaunch::launch() const {
  return kernel->launch(ready, session->stream().handle());
}

Expected<double> DeviceLaunch::timeLaunch() const {
  auto start = cuda::Event::create(session->context()),
       end = cuda::Event::create(session->context());
  if (!start)
    return joinErrors(start.takeError(), end.takeError());
  if (!end)
    return end.takeError();
  if (Error error = start->record(session->stream()))
    return std::move(error);
  if (Error error = launch())
    return std::move(error);
  if (Error error = end->record(session->stream()))
    return std::move(error);
  if (Error error = end->synchronize())
    return std::move(error);
  auto microseconds = end->since(*start);
  if (!microseconds)
    return microseconds.takeError();
  return *microseconds * 1e-6;
}

Error DeviceLaunch::finish() const {
  const cuda::Stream &stream = session->stream();
  for (auto [i, memory] : llvm::enumerate(outputs))
    if (Error error = stream.copyToHost(memory.data(), buffers[i].address(),
                                        memory.size()))
      return error;
  std::vector<uint8_t> guards(2 * kGuard);
  if (Error error =
          stream.copyToHost(guards.data(), workspace.address(), kGuard))
    return error;
  if (Error error = stream.copyToHost(
          guards.data() + kGuard, workspace.address() + kGuard + workspaceBytes,
          kGuard))
    return error;
  if (Error error = stream.synchronize())
    return error;
  if (llvm::any_of(guards, [](uint8_t byte) { return byte != kCanary; }))
    return createStringError("bytes around the workspace were written");
  return Error::success();
}

} // namespace mla_jit
