//===- DeviceLaunch.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches on a GPU of problems whose tensors are in host memory: what run and
// verify need. A kernel itself takes device memory only.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_DEVICELAUNCH_H
#define MLA_JIT_TOOLS_DEVICELAUNCH_H

#include "LaunchArgs.h"
#include "cuda/Tools.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace mla_jit {

/// A device with a stream of its own.
class DeviceSession {
public:
  /// The device of that number.
  static llvm::Expected<std::shared_ptr<DeviceSession>> open(int device);

  const std::shared_ptr<const cuda::Context> &context() const { return where; }
  const cuda::Stream &stream() const { return queue; }

private:
  DeviceSession(std::shared_ptr<const cuda::Context> context,
                cuda::Stream stream)
      : where(std::move(context)), queue(std::move(stream)) {}
  std::shared_ptr<const cuda::Context> where;
  cuda::Stream queue;
};

/// Puts the pages of a KV pool elsewhere in a larger one, whose other pages
/// hold whatever the device's memory held.
struct PagePlacement {
  int64_t poolPages = 0;          ///< of the larger pool
  std::vector<int64_t> pageOfOld; ///< by page of the host's pool; -1: nowhere
};

/// One launch: tensors on the device, each in memory of its own size, and a
/// workspace between canaries, filled with NaN.
class DeviceLaunch {
public:
  /// Copies all tensors of `arguments` (host memory) to the device. `outputs`
  /// is host memory in which some of them lie: all of it goes to the device
  /// and, with finish(), comes back. Both have to live as long as this.
  static llvm::Expected<DeviceLaunch>
  create(std::shared_ptr<DeviceSession> session,
         std::shared_ptr<const PublicKernel> kernel,
         const LaunchArgs &arguments,
         llvm::ArrayRef<llvm::MutableArrayRef<uint8_t>> outputs,
         const PagePlacement *placement = nullptr);

  /// Starts the kernel; does not wait for it.
  llvm::Error launch() const;
  /// Seconds that the device takes for a launch.
  llvm::Expected<double> timeLaunch() const;
  /// Waits, copies the outputs back, and checks the workspace's canaries.
  llvm::Error finish() const;
  size_t workspaceSize() const { return workspaceBytes; }

private:
  DeviceLaunch(std::shared_ptr<DeviceSession> session,
               std::shared_ptr<const PublicKernel> kernel,
               const LaunchArgs &arguments)
      : session(std::move(session)), kernel(std::move(kernel)),
        arguments(arguments) {}
  /// Device memory with the contents of some host memory, aligned to 16 bytes
  /// where that is.
  llvm::Expected<cuda::DevicePtr> upload(llvm::ArrayRef<uint8_t> bytes);
  llvm::Error placeTensors(const LaunchArgs &host);
  llvm::Error placePages(const LaunchArgs &host,
                         const PagePlacement &placement);
  llvm::Error makeWorkspace();

  std::shared_ptr<DeviceSession> session;
  std::shared_ptr<const PublicKernel> kernel;
  LaunchArgs arguments; // of device memory
  mla_args ready;       // the same, with the workspace
  llvm::SmallVector<llvm::MutableArrayRef<uint8_t>> outputs;
  llvm::SmallVector<cuda::DevicePtr> outputAddresses;
  std::vector<cuda::DeviceBuffer> buffers;
  cuda::DeviceBuffer workspace;
  size_t workspaceBytes = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_DEVICELAUNCH_H
