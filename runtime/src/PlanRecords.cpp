//===- PlanRecords.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanRecords.h"
#include "Failure.h"
#include "llvm/ADT/STLExtras.h"

#include <mutex>

namespace mla_jit {

PlanValues planValues(const KernelInfo &info, const Arguments &arguments,
                      const LaunchValues &values, int64_t workers) {
  PlanValues found = {{"batch", arguments.batch()},
                      {"total_q", arguments.totalQueries()},
                      {"q_len", arguments.queriesEach()},
                      {"num_splits", arguments.givenSplits()},
                      {"max_ctas", workers}};
  for (const KernelInfo::Param &param : info.entries.front().params)
    if (param.kind == KernelInfo::ParamKind::Scalar &&
        param.source == KernelInfo::Source::Argument)
      found.push_back({values.name(param), values.word(param)});
  return found;
}

llvm::Error checkHasPlan(const KernelInfo &info) {
  if (info.hasPlanEntry)
    return llvm::Error::success();
  if (info.chip.empty())
    return unsupported(
        ofArgument("schedule"),
        "requires a kernel of a GPU: on the host each launch plans for itself");
  return unsupported(
      ofArgument("schedule"),
      "requires a kernel of MLA_FEATURE_SHARED_SCHEDULE, or of a schedule with "
      "plan = shared: each launch of this one plans for itself");
}

void PlanRecords::forgetOldest() {
  auto oldest = llvm::min_element(records, [](const auto &a, const auto &b) {
    return a.second.age < b.second.age;
  });
  records.erase(oldest);
}

void PlanRecords::add(const void *plan,
                      std::shared_ptr<const KernelInfo> kernel,
                      const PlanValues &values) {
  std::unique_lock lock(mutex);
  if (records.size() >= kMaxRecords && !records.contains(plan))
    forgetOldest();
  Record &record = records[plan];
  record.age = made++;
  llvm::SmallVector<int64_t, 12> numbers(llvm::map_range(
      values, [](const PlanValue &value) { return value.value; }));
  if (record.kernel == kernel && record.values == numbers)
    return;
  record.kernel = std::move(kernel);
  record.values = std::move(numbers);
  changes.fetch_add(1, std::memory_order_release);
}

llvm::Error PlanRecords::check(const void *plan, const KernelInfo &kernel,
                               const PlanValues &values) const {
  std::shared_lock lock(mutex);
  auto found = records.find(plan);
  if (found == records.end() || found->second.kernel.get() != &kernel)
    return invalid(ofArgument("schedule"),
                   "requires a buffer that mla_schedule of this kernel wrote "
                   "last, but got {0}, which {1}",
                   plan,
                   found == records.end() ? "it did not write"
                                          : "another kernel's did");
  for (auto [made, now] : llvm::zip_equal(found->second.values, values))
    if (made != now.value)
      return invalid(
          ofArgument(now.name),
          "requires {0}, what the schedule was made for, but got {1}", made,
          now.value);
  return llvm::Error::success();
}

} // namespace mla_jit
