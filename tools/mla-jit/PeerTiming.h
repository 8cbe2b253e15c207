//===- PeerTiming.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Times launches of one configuration on a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PEERTIMING_H
#define MLA_JIT_TOOLS_PEERTIMING_H

#include "DeviceCeilings.h"
#include "PeerConfigs.h"

namespace mla_jit {

/// Of one launch.
struct LaunchTimes {
  cuda::Timing burst; ///< after a pause: what power does not bound yet
  std::optional<double> sustained; ///< median microseconds, without pauses
};

/// Random keys on the device, of which every configuration takes its copies of
/// a pool and its queries.
class PeerTiming {
public:
  /// Makes room for the largest of the configurations.
  static llvm::Expected<std::unique_ptr<PeerTiming>>
  create(int device, llvm::ArrayRef<PeerConfig> configs);

  /// Of one launch, of a graph of at least ten, that is replayed in a burst,
  /// and then for some seconds (0: not). An error also if something of the
  /// result was not written.
  llvm::Expected<LaunchTimes>
  measure(const PeerConfig &config, std::shared_ptr<const PublicKernel> kernel,
          double sustainedSeconds);
  /// Copies of the pool that the launches go through.
  int copiesOf(const PeerConfig &config) const;
  /// GB/s, read and written, of a large copy on the device.
  llvm::Expected<double> measureCopy();
  llvm::Expected<DeviceCeilings> measureCeilings();

private:
  explicit PeerTiming(std::shared_ptr<DeviceSession> session)
      : session(std::move(session)) {}
  llvm::Error fillPool();

  std::shared_ptr<DeviceSession> session;
  cuda::DeviceBuffer pool;
  size_t l2Bytes = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PEERTIMING_H
