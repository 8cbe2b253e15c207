//===- Device.cpp - Devices and their primary contexts --------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

std::string mla_jit::cuda::chipName(int major, int minor) {
  return "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
}

Expected<Device> Device::open(const Driver &driver, int ordinal) {
  if (Error error = driver.checkProcess("cuDeviceGet"))
    return std::move(error);
  if (ordinal < 0 || ordinal >= driver.deviceCount())
    return refuse(ErrorKind::NoDevice, "cuDeviceGet",
                  "a device number in [0, " + Twine(driver.deviceCount()) + ")",
                  Twine(ordinal));
  const DriverTable &call = driver.call();
  Device device;
  device.ordinal = ordinal;
  std::string purpose = "of device " + std::to_string(ordinal);
  if (Error error =
          driver.check(call.deviceGet(&device.id, ordinal), "cuDeviceGet"))
    return std::move(error);
  char name[256] = {};
  if (Error error =
          driver.check(call.deviceGetName(name, sizeof(name) - 1, device.id),
                       "cuDeviceGetName", purpose))
    return std::move(error);
  device.name = name;
  size_t bytes = 0;
  if (Error error = driver.check(call.deviceTotalMem(&bytes, device.id),
                                 "cuDeviceTotalMem", purpose))
    return std::move(error);
  device.memoryBytes = bytes;

  const std::pair<DeviceAttribute, int *> attributes[] = {
      {DeviceAttribute::ComputeMajor, &device.major},
      {DeviceAttribute::ComputeMinor, &device.minor},
      {DeviceAttribute::NumSMs, &device.numSMs},
      {DeviceAttribute::SharedBytesPerBlockOptin, &device.sharedBytesPerBlock},
      {DeviceAttribute::SharedBytesPerSM, &device.sharedBytesPerSM},
      {DeviceAttribute::L2Bytes, &device.l2Bytes},
      {DeviceAttribute::ClockKilohertz, &device.clockKilohertz},
      {DeviceAttribute::MemoryClockKilohertz, &device.memoryClockKilohertz},
  };
  for (auto [attribute, value] : attributes)
    if (Error error =
            driver.check(call.deviceGetAttribute(value, attribute, device.id),
                         "cuDeviceGetAttribute",
                         Twine(static_cast<int>(attribute)) + " " + purpose))
      return std::move(error);
  device.chip = chipName(device.major, device.minor);
  return device;
}

ContextScope::~ContextScope() {
  ContextHandle ours = nullptr;
  if (driver)
    driver->call().ctxPopCurrent(&ours);
}

RelaxedCaptureScope::RelaxedCaptureScope(const Driver &driver)
    : driver(driver),
      changed(driver.call().exchangeCaptureMode(&mode) == Success) {}

RelaxedCaptureScope::~RelaxedCaptureScope() {
  if (changed)
    driver.call().exchangeCaptureMode(&mode);
}

Expected<std::shared_ptr<const Context>> Context::retain(const Driver &driver,
                                                         const Device &device) {
  if (Error error = driver.checkProcess("cuDevicePrimaryCtxRetain"))
    return std::move(error);
  std::shared_ptr<Context> context(new Context(driver, device));
  RelaxedCaptureScope relaxed(driver);
  if (Error error = driver.check(
          driver.call().primaryCtxRetain(&context->context, device.id),
          "cuDevicePrimaryCtxRetain", "of " + device.name)) {
    context->context = nullptr;
    return std::move(error);
  }
  return std::move(context);
}

Context::~Context() {
  if (context && !owner.forked())
    owner.call().primaryCtxRelease(what.id);
}

Expected<ContextScope> Context::enter() const {
  if (Error error = owner.checkProcess("cuCtxPushCurrent"))
    return std::move(error);
  ContextHandle current = nullptr;
  if (Error error =
          owner.check(owner.call().ctxGetCurrent(&current), "cuCtxGetCurrent"))
    return std::move(error);
  if (current == context)
    return ContextScope(nullptr);
  Result result = owner.call().ctxPushCurrent(context);
  if (result != Success)
    return owner.check(result, "cuCtxPushCurrent", "of " + what.name);
  return ContextScope(&owner);
}

Expected<size_t> Context::freeMemory() const {
  Expected<ContextScope> scope = enter();
  if (!scope)
    return scope.takeError();
  size_t free = 0, total = 0;
  if (Error error =
          owner.check(owner.call().memGetInfo(&free, &total), "cuMemGetInfo"))
    return std::move(error);
  return free;
}

Error Context::synchronize() const {
  Expected<ContextScope> scope = enter();
  if (!scope)
    return scope.takeError();
  return owner.check(owner.call().ctxSynchronize(), "cuCtxSynchronize");
}
