//===- Device.h -------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_DEVICE_H
#define MLA_JIT_SRC_CUDA_DEVICE_H

#include "Driver.h"

#include <utility>

namespace mla_jit::cuda {

/// What one device is.
struct Device {
  int ordinal = 0;
  DeviceId id = 0;
  std::string name;
  int major = 0, minor = 0; ///< compute capability
  std::string chip;         ///< LLVM's name, with all features: "sm_90a"
  int numSMs = 0;
  int sharedBytesPerBlock = 0; ///< static and dynamic, with the opt-in
  int sharedBytesPerSM = 0;
  int l2Bytes = 0;
  int clockKilohertz = 0, memoryClockKilohertz = 0; ///< highest
  uint64_t memoryBytes = 0;

  /// Asks the driver; an error if there is no such device.
  static llvm::Expected<Device> open(const Driver &driver, int ordinal = 0);
};

/// "sm_90a" for 9.0: with the suffix from 9.0 on, where it exists.
std::string chipName(int major, int minor);

/// Makes a context current while it lives, and puts the caller's back. For one
/// thread; nests.
class ContextScope {
public:
  ContextScope(ContextScope &&other)
      : driver(std::exchange(other.driver, nullptr)) {}
  ContextScope &operator=(ContextScope &&) = delete;
  ~ContextScope();

private:
  friend class Context;
  explicit ContextScope(const Driver *driver) : driver(driver) {}
  const Driver *driver; // null: nothing to pop
};

/// Lets this thread load, unload and allocate while it lives without breaking
/// a capture that another thread has open.
class RelaxedCaptureScope {
public:
  explicit RelaxedCaptureScope(const Driver &driver);
  ~RelaxedCaptureScope();
  RelaxedCaptureScope(const RelaxedCaptureScope &) = delete;
  RelaxedCaptureScope &operator=(const RelaxedCaptureScope &) = delete;

private:
  const Driver &driver;
  CaptureMode mode = CaptureMode::Relaxed;
  bool changed;
};

/// A device's primary context, which it shares with the CUDA runtime and with
/// frameworks; kept alive while this lives. Thread-safe.
class Context {
public:
  static llvm::Expected<std::shared_ptr<const Context>>
  retain(const Driver &driver, const Device &device);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return owner; }
  const Device &device() const { return what; }
  ContextHandle handle() const { return context; }

  /// Makes it current in this thread; does nothing where it already is.
  llvm::Expected<ContextScope> enter() const;
  /// Bytes of device memory that are free now.
  llvm::Expected<size_t> freeMemory() const;
  /// Waits for all work of the context.
  llvm::Error synchronize() const;

private:
  Context(const Driver &driver, Device device)
      : owner(driver), what(std::move(device)) {}
  const Driver &owner;
  Device what;
  ContextHandle context = nullptr;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_DEVICE_H
