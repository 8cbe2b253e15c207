//===- FakeCudaDevice.cpp - Devices and memory of the fake driver ---------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudaCalls.h"

namespace fake_driver {
static int primaryContexts[8]; // their addresses are the handles

Result init(unsigned) {
  FAKE(cuInit);
  return fake.deviceCount || !fake.initNeedsDevice ? Success : NoDevice;
}
Result getErrorName(Result result, const char **name) {
  switch (result) {
  case InvalidValue:
    *name = "CUDA_ERROR_INVALID_VALUE";
    return Success;
  case InvalidPTX:
    *name = "CUDA_ERROR_INVALID_PTX";
    return Success;
  case IllegalAddress:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return Success;
  case NoDevice:
    *name = "CUDA_ERROR_NO_DEVICE";
    return Success;
  default:
    *name = nullptr;
    return InvalidValue;
  }
}
Result getErrorString(Result result, const char **text) {
  *text = "words of the driver";
  return result == Unknown ? InvalidValue : Success;
}

Result deviceGetCount(int *count) {
  FAKE(cuDeviceGetCount);
  *count = fake.deviceCount;
  return Success;
}
Result deviceGet(DeviceId *id, int ordinal) {
  FAKE(cuDeviceGet);
  *id = 100 + ordinal;
  return Success;
}
Result deviceGetName(char *name, int bytes, DeviceId) {
  FAKE(cuDeviceGetName);
  write(name, bytes, "Fake H200");
  return Success;
}
Result deviceTotalMem(size_t *bytes, DeviceId) {
  FAKE(cuDeviceTotalMem);
  *bytes = fake.memoryBytes;
  return Success;
}
Result deviceGetAttribute(int *value, DeviceAttribute attribute, DeviceId) {
  FAKE(cuDeviceGetAttribute);
  switch (attribute) {
  case DeviceAttribute::ClockKilohertz:
    *value = 1980000;
    break;
  case DeviceAttribute::NumSMs:
    *value = 132;
    break;
  case DeviceAttribute::MemoryClockKilohertz:
    *value = 3201000;
    break;
  case DeviceAttribute::L2Bytes:
    *value = 60 << 20;
    break;
  case DeviceAttribute::ComputeMajor:
    *value = fake.major;
    break;
  case DeviceAttribute::ComputeMinor:
    *value = fake.minor;
    break;
  case DeviceAttribute::SharedBytesPerSM:
    *value = fake.sharedBytesOptin + 1024;
    break;
  case DeviceAttribute::SharedBytesPerBlockOptin:
    *value = fake.sharedBytesOptin;
    break;
  }
  return Success;
}

Result primaryCtxRetain(ContextHandle *context, DeviceId device) {
  FAKE(cuDevicePrimaryCtxRetain);
  ++fake.contexts;
  *context = handle<ContextHandle>(&primaryContexts[device - 100]);
  return Success;
}
Result primaryCtxRelease(DeviceId) {
  FAKE(cuDevicePrimaryCtxRelease);
  --fake.contexts;
  return Success;
}
Result ctxPushCurrent(ContextHandle context) {
  FAKE(cuCtxPushCurrent);
  contextStack.push_back(context);
  return Success;
}
Result ctxPopCurrent(ContextHandle *context) {
  FAKE(cuCtxPopCurrent);
  if (contextStack.empty())
    return InvalidContext;
  *context = contextStack.back();
  contextStack.pop_back();
  return Success;
}
Result ctxGetCurrent(ContextHandle *context) {
  FAKE(cuCtxGetCurrent);
  *context = contextStack.empty() ? nullptr : contextStack.back();
  return Success;
}
Result ctxSynchronize() {
  FAKE_IN_CONTEXT(cuCtxSynchronize);
  return Success;
}

/// By address.
static std::map<DevicePtr, size_t> &bufferBytes =
    *new std::map<DevicePtr, size_t>;

Result memAlloc(DevicePtr *address, size_t bytes) {
  FAKE_UNSAFE_IN_CONTEXT(cuMemAlloc);
  if (!takeMemory(bytes))
    return OutOfMemory;
  ++fake.buffers;
  // As aligned as the real one's.
  *address = reinterpret_cast<DevicePtr>(
      aligned_alloc(256, (bytes + 255) / 256 * 256));
  bufferBytes[*address] = bytes;
  return Success;
}
Result memFree(DevicePtr address) {
  FAKE_UNSAFE_IN_CONTEXT(cuMemFree);
  --fake.buffers;
  fake.usedBytes -= bufferBytes[address];
  bufferBytes.erase(address);
  free(reinterpret_cast<void *>(address));
  return Success;
}
Result memGetInfo(size_t *free, size_t *total) {
  FAKE_IN_CONTEXT(cuMemGetInfo);
  *free = fake.memoryBytes / 2 - fake.usedBytes;
  *total = fake.memoryBytes;
  return Success;
}
Result memcpyHtoDAsync(DevicePtr to, const void *from, size_t bytes,
                       StreamHandle) {
  FAKE_IN_CONTEXT(cuMemcpyHtoDAsync);
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return Success;
}
Result memcpyDtoHAsync(void *to, DevicePtr from, size_t bytes, StreamHandle) {
  FAKE_IN_CONTEXT(cuMemcpyDtoHAsync);
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  if (fake.onRead)
    fake.onRead(to, bytes);
  return Success;
}
Result memcpyDtoDAsync(DevicePtr to, DevicePtr from, size_t bytes,
                       StreamHandle) {
  FAKE_IN_CONTEXT(cuMemcpyDtoDAsync);
  memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return Success;
}
Result memsetD8Async(DevicePtr to, unsigned char value, size_t count,
                     StreamHandle) {
  FAKE_IN_CONTEXT(cuMemsetD8Async);
  memset(reinterpret_cast<void *>(to), value, count);
  return Success;
}
} // namespace fake_driver
