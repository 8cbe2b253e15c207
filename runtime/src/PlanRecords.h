//===- PlanRecords.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Which plans an engine's kernels have made, and for what: so that a launch is
// refused one that was made for something else.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_PLANRECORDS_H
#define MLA_JIT_SRC_PLANRECORDS_H

#include "LaunchValues.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <atomic>
#include <shared_mutex>

namespace mla_jit {

/// Something that a plan depends on, by the name that hosts know it by.
struct PlanValue {
  std::string_view name;
  int64_t value;
};
using PlanValues = llvm::SmallVector<PlanValue, 12>;

/// All that a plan depends on, and that is known without a look at tensors.
/// `workers`: that the launch uses.
PlanValues planValues(const KernelInfo &info, const Arguments &arguments,
                      const LaunchValues &values, int64_t workers);

/// An error if the kernel has no entry that plans for many launches.
llvm::Error checkHasPlan(const KernelInfo &info);

/// The buffers that plans were made in last, of all kernels of an engine: one
/// kernel's plan takes the place of another's. Thread-safe.
class PlanRecords {
public:
  /// Buffers that are remembered; past it, the oldest plan is forgotten.
  static constexpr size_t kMaxRecords = 4096;

  void add(const void *plan, std::shared_ptr<const KernelInfo> kernel,
           const PlanValues &values);
  /// An error if the kernel's plan in that buffer is not for these values.
  llvm::Error check(const void *plan, const KernelInfo &kernel,
                    const PlanValues &values) const;
  /// Another number once check may say something else than before.
  uint64_t version() const { return changes.load(std::memory_order_acquire); }

private:
  struct Record {
    std::shared_ptr<const KernelInfo> kernel; ///< held: no other has its place
    llvm::SmallVector<int64_t, 12> values;
    uint64_t age;
  };
  void forgetOldest();

  mutable std::shared_mutex mutex;
  llvm::DenseMap<const void *, Record> records;
  uint64_t made = 0;
  std::atomic<uint64_t> changes = 0;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_PLANRECORDS_H
