//===- KernelState.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELSTATE_H
#define MLA_JIT_SRC_KERNELSTATE_H

#include "Compiler.h"
#include "LaunchKey.h"
#include "LaunchValues.h"
#include "PlanRecords.h"
#include "cache/Entry.h"

namespace mla_jit {

/// Which entries are run: all, the one that plans, or those behind it.
enum class LaunchPart : uint8_t { All, Plan, Work };

/// A loaded kernel: code and what runs it.
class KernelState {
public:
  KernelState(const CompileResult &compiled)
      : info(compiled.info), times(compiled.times),
        codeBytes(compiled.cubin.empty() ? compiled.text.size()
                                         : compiled.cubin.size()),
        deviceBytes(compiled.cubin.size()) {}
  virtual ~KernelState();

  virtual int numWorkers() const = 0;
  /// What workspace buffers of scope `worker` are counted by.
  /// `limit`: of the launch; 0: none.
  virtual int64_t workspaceWorkers(int limit = 0) const = 0;
  virtual size_t alignment() const = 0;
  /// Runs entries, with values that were checked. May remember the launch.
  virtual llvm::Error run(const Arguments &arguments,
                          const LaunchValues &values, LaunchPart part,
                          void *stream, const LaunchKey &key) const = 0;
  /// Does a launch of that key in that stream again; false, and nothing is
  /// done, if none is remembered.
  virtual llvm::Expected<bool> repeat(const LaunchKey &, void *stream) const {
    return false;
  }

  /// Arguments::checkContents, wherever launches have their tensors.
  virtual llvm::Error checkContents(const Arguments &arguments,
                                    void *stream) const {
    return arguments.checkContents();
  }

  std::shared_ptr<KernelInfo> info;
  std::vector<StageTime> times;
  size_t codeBytes;
  size_t deviceBytes; ///< of a cubin, and of launch graphs

  std::optional<cache::Entry> entry; ///< of a spec
  KernelOrigin origin = KernelOrigin::Compiled;
  std::string digest; ///< of the key
  /// Of the engine, if it is of a spec.
  std::shared_ptr<PlanRecords> plans = std::make_shared<PlanRecords>();
  std::string report; ///< of code that was assembled as it was loaded
};

/// What a workspace is aligned to, in bytes.
inline constexpr size_t kHostAlignment = 64, kCudaAlignment = 256;

/// Most parameters that an entry may have: launches marshal on the stack.
inline constexpr size_t kMaxParams = 256;

/// Checks that the kernel fits into what launches have room for.
llvm::Error checkLimits(const KernelInfo &info);

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELSTATE_H
