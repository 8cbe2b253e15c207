//===- Introspection.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What engines and kernels say of themselves.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "SpecText.h"

using namespace mla_jit;
using namespace mla_jit::capi;

/// Where num_args is, the first header had a field that was reserved.
template <>
inline constexpr size_t capi::kFirstBytes<mla_kernel_info> =
    offsetof(mla_kernel_info, num_times);

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

mla_code mla_engine_get_target(mla_engine *engine, mla_target_info *info,
                               mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(info, "info"))
    return report(status, std::move(error));
  auto target = engine->engine.target();
  if (!target)
    return report(status, target.takeError());
  mla_target_info told = {};
  told.num_workers = engine->engine.numWorkers();
  copyInto(told.name, target->cpu);
  told.vector_bits = static_cast<int32_t>(target->vectorBits);
  told.vector_registers = static_cast<int32_t>(target->vectorRegisters);
  told.l1_bytes = target->l1Bytes;
  told.l2_bytes = target->l2Bytes;
  writeStruct(info, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_engine_get_device(mla_engine *engine, mla_device_info *info,
                               mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(info, "info"))
    return report(status, std::move(error));
  auto device = engine->engine.device();
  if (!device)
    return report(status, device.takeError());
  mla_device_info told = {};
  told.num_sms = device->numSMs;
  copyInto(told.name, device->name);
  copyInto(told.chip, device->chip);
  copyInto(told.driver, device->driver);
  told.shared_bytes = device->sharedBytes;
  told.l2_bytes = device->l2Bytes;
  told.memory_bytes = static_cast<int64_t>(device->memoryBytes);
  told.is_verified = device->isVerified;
  writeStruct(info, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static double secondsOf(const Kernel &kernel, bool isLoading) {
  double seconds = 0;
  for (const StageTime &time : kernel.compileTimes())
    if (time.isLoading == isLoading)
      seconds += time.seconds;
  return seconds;
}

mla_code mla_kernel_get_info(mla_kernel *handle, int32_t batch, int32_t totalQ,
                             mla_kernel_info *info, mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error =
          requireCounts({{"batch", batch}, {"total_q", totalQ}}))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(info, "info"))
    return report(status, std::move(error));
  const Kernel &kernel = *handle->kernel;
  const KernelInfo &known = *kernel.info();
  mla_kernel_info told = {};
  told.origin = static_cast<int32_t>(kernel.origin());
  copyInto(told.target, handle->shared->target);
  copyInto(told.digest, kernel.digest());
  copyInto(told.variant, kernel.variant(batch, totalQ));
  copyInto(told.schedule, known.schedule);
  copyInto(told.schedule_reason,
           known.isMerge ? "a merge has none"
           : handle->scheduleGivenBy
               ? llvm::formatv("given by {0}", handle->scheduleGivenBy).str()
               : llvm::formatv("chosen by the cost model of {0} for {1} query "
                               "heads a KV head",
                               handle->shared->target, known.group)
                     .str());
  for (size_t e = 0; e < known.entries.size(); ++e)
    told.num_entries += known.isStarted(e, /*paired=*/false);
  told.num_workers = kernel.numWorkers();
  if (!known.entries.empty()) {
    const KernelInfo::Entry &first = known.entries.front();
    copyInto(told.symbol, first.symbol);
    told.threads = first.launch.threads;
    told.ctas_per_sm = known.chip.empty() ? 0 : first.launch.ctasPerWorker;
    told.shared_bytes = first.launch.sharedBytes;
  }
  told.code_bytes = kernel.codeBytes();
  told.device_bytes = kernel.deviceBytes();
  told.compile_seconds = secondsOf(kernel, /*isLoading=*/false);
  told.load_seconds = secondsOf(kernel, /*isLoading=*/true);
  told.num_warnings = static_cast<int32_t>(known.warnings.size());
  told.num_args = static_cast<int32_t>(known.arguments.size());
  told.num_times = static_cast<int32_t>(kernel.compileTimes().size());
  told.is_gpu = !known.chip.empty();
  copyInto(told.mask, known.mask);
  writeStruct(info, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_kernel_get_stage(mla_kernel *handle, const char *stage,
                              char *content, size_t *bytes,
                              mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = require(stage, "stage"))
    return report(status, std::move(error));
  auto found = handle->kernel->stage(stage);
  if (!found)
    return report(status, found.takeError());
  return report(status, copyText(*found, content, bytes));
} catch (...) {
  return reportException(status);
}

/// Element `index` of what a kernel has several of.
template <typename T>
static llvm::Expected<const T *> elementAt(const std::vector<T> &all,
                                           int32_t index) {
  if (index >= 0 && static_cast<size_t>(index) < all.size())
    return &all[index];
  return invalid(ofArgument("index"),
                 "requires one of the {0} that there are, from 0 on, but got "
                 "{1}",
                 all.size(), index);
}

mla_code mla_kernel_get_sizes(mla_kernel *handle, int32_t batch, int32_t totalQ,
                              int32_t maxSplits, mla_sizes *sizes,
                              mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = requireCounts(
          {{"batch", batch}, {"total_q", totalQ}, {"max_splits", maxSplits}}))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(sizes, "sizes"))
    return report(status, std::move(error));
  const Kernel &kernel = *handle->kernel;
  mla_sizes told = {};
  told.alignment = kernel.workspaceAlignment();
  told.workspace_bytes = kernel.workspaceBound(batch, totalQ, maxSplits);
  told.schedule_bytes =
      kernel.workspaceBound(batch, totalQ, maxSplits, WorkspacePart::Plan);
  writeStruct(sizes, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_kernel_get_arg(mla_kernel *handle, int32_t index,
                            mla_arg_info *info, mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(info, "info"))
    return report(status, std::move(error));
  const KernelInfo &kernel = *handle->kernel->info();
  auto argument = elementAt(kernel.arguments, index);
  if (!argument)
    return report(status, argument.takeError());
  const ArgumentInfo &known = **argument;
  mla_arg_info told = {};
  told.is_named = !kernel.isMerge && !isField(known.name);
  told.is_tensor = known.isTensor;
  told.dtype = fromDType(known.dtype);
  told.rank = known.rank;
  std::copy_n(known.shape.begin(), known.rank, told.shape);
  std::copy_n(known.stride.begin(), known.rank, told.stride);
  copyInto(told.name, known.name);
  writeStruct(info, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_kernel_get_time(mla_kernel *handle, int32_t index,
                             mla_stage_time *time, mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(time, "time"))
    return report(status, std::move(error));
  auto known = elementAt(handle->kernel->compileTimes(), index);
  if (!known)
    return report(status, known.takeError());
  mla_stage_time told = {};
  told.is_loading = (*known)->isLoading;
  copyInto(told.stage, (*known)->stage);
  told.seconds = (*known)->seconds;
  writeStruct(time, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_kernel_get_warning(mla_kernel *handle, int32_t index, char *text,
                                size_t *bytes, mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  auto warning = elementAt(handle->kernel->info()->warnings, index);
  if (!warning)
    return report(status, warning.takeError());
  return report(status, copyText(**warning, text, bytes));
} catch (...) {
  return reportException(status);
}
