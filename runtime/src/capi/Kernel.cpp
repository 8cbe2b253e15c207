//===- Kernel.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../LaunchKey.h"
#include "Handles.h"

using namespace mla_jit;
using namespace mla_jit::capi;

mla_kernel *capi::makeHandle(const mla_engine &engine,
                             std::shared_ptr<Kernel> kernel,
                             const char *givenBy) {
  auto *handle = new mla_kernel;
  handle->scheduleGivenBy = givenBy;
  handle->kernel = std::move(kernel);
  handle->shared = engine.shared.copy();
  return handle;
}

void mla_kernel_retain(mla_kernel *kernel) {
  if (kernel)
    ++kernel->references;
}

void mla_kernel_release(mla_kernel *kernel) {
  if (kernel && --kernel->references == 0)
    delete kernel;
}

/// What mla_launch, mla_check and mla_schedule do with the arguments that were
/// checked.
using Start = llvm::function_ref<llvm::Error(const Kernel &, const mla_args &,
                                             Arguments &)>;

/// An error if a buffer is smaller than what mla_sizes_for says.
static llvm::Error checkBytes(const char *name, uint64_t given,
                              const Kernel &kernel, const mla_args &args,
                              WorkspacePart part) {
  size_t needed =
      kernel.workspaceBound(args.batch, args.total_q, args.num_splits, part);
  if (given >= needed && needed != kBeyondMemory)
    return llvm::Error::success();
  return fail(FailureKind::Workspace, ofArgument(name),
              "requires {0}, but got {1}", needed, given);
}

static llvm::Error start(mla_kernel &handle, const mla_args &given,
                         Start function) {
  const Kernel &kernel = *handle.kernel;
  if (kernel.info()->isMerge)
    return invalid(ofArgument("kernel"),
                   "requires one of MLA_DECODE, but got one of MLA_MERGE");
  Arguments arguments(kernel.argumentRules());
  if (llvm::Error error = fillArguments(given, handle.fields(), arguments))
    return error;
  return function(kernel, given, arguments);
}

static llvm::Error start(mla_kernel &handle, const mla_args *args,
                         Start function) {
  if (llvm::Error error = checkStruct(args, "args"))
    return error;
  // Of this very header, as nearly always: 2 KB that need no copy.
  if (args->size == sizeof(mla_args))
    return start(handle, *args, function);
  auto given = readStruct(args, "args");
  return given ? start(handle, *given, function) : given.takeError();
}

/// Of launches that ask for it.
static llvm::Error checkContents(const Kernel &kernel, const mla_args &given,
                                 const Arguments &arguments, void *stream) {
  return given.flags & MLA_LAUNCH_CHECK
             ? kernel.checkContents(arguments, stream)
             : llvm::Error::success();
}

/// Nothing to compute, and null pointers are legal.
static bool isEmpty(const mla_args &args) {
  return args.batch == 0 || args.total_q == 0;
}

/// None of a launch whose checks read more than the struct. kv_len, a hint that
/// grows with each step, is no part of it: `room` is for a copy without.
static LaunchKey keyOf(const mla_args &args, mla_args &room) {
  LaunchKey key;
  if (args.num_named || (args.flags & MLA_LAUNCH_CHECK))
    return key;
  const mla_args *keyed = &args;
  if (args.kv_len > 0) {
    room = args;
    room.kv_len = 0;
    keyed = &room;
  }
  static_assert(sizeof(mla_args) <= LaunchKey::kMaxBytes);
  key.bytes = {reinterpret_cast<const char *>(keyed), sizeof(mla_args)};
  key.usesPlan = args.schedule;
  // What the layers of a model differ in, and its steps.
  const void *pointers[] = {args.q.data,   args.q_rope.data,   args.k.data,
                            args.v.data,   args.k_rope.data,   args.out.data,
                            args.lse.data, args.seq_lens.data, args.table.data,
                            args.schedule, args.workspace};
  auto add = [&key](uint64_t value) {
    key.hash = (key.hash ^ value) * 0x9e3779b97f4a7c15;
    key.hash ^= key.hash >> 32;
  };
  add(static_cast<uint64_t>(args.batch) << 32 | args.total_q);
  for (const void *pointer : pointers)
    add(reinterpret_cast<uintptr_t>(pointer));
  return key;
}

static llvm::Error launch(mla_kernel &handle, void *stream,
                          const mla_args *args) {
  LaunchKey key;
  mla_args room;
  // Of a struct of this very header no byte is unknown.
  if (args && args->size == sizeof(mla_args))
    key = keyOf(*args, room);
  auto repeated = handle.kernel->repeat(key, stream);
  if (!repeated || *repeated)
    return repeated.takeError();
  auto checked = [&](const Kernel &kernel, const mla_args &given,
                     Arguments &arguments) -> llvm::Error {
    bool isPlanned = given.schedule;
    if (llvm::Error error =
            checkBytes("workspace_bytes", given.workspace_bytes, kernel, given,
                       isPlanned ? WorkspacePart::Others : WorkspacePart::All))
      return error;
    if (isPlanned)
      if (llvm::Error error = checkBytes("schedule_bytes", given.schedule_bytes,
                                         kernel, given, WorkspacePart::Plan))
        return error;
    if (isEmpty(given))
      return arguments.check();
    if (llvm::Error error = checkContents(kernel, given, arguments, stream))
      return error;
    return kernel.launch(arguments, given.workspace, given.workspace_bytes,
                         stream, &key);
  };
  return start(handle, args, checked);
}

mla_code mla_launch(mla_kernel *handle, void *stream, const mla_args *args,
                    mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  if (llvm::Error error = launch(*handle, stream, args)) {
    handle->shared->launches.add(LaunchEvent::Failed);
    return report(status, std::move(error));
  }
  handle->shared->launches.add(LaunchEvent::Done);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_check(mla_kernel *handle, const mla_args *args,
                   mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  return report(status, start(*handle, args,
                              [](const Kernel &, const mla_args &,
                                 const Arguments &arguments) -> llvm::Error {
                                if (llvm::Error error = arguments.check())
                                  return error;
                                return arguments.checkContents();
                              }));
} catch (...) {
  return reportException(status);
}

mla_code mla_schedule(mla_kernel *handle, void *stream, const mla_args *args,
                      void *schedule, size_t scheduleBytes,
                      mla_status *status) try {
  if (llvm::Error error = require(handle, "kernel"))
    return report(status, std::move(error));
  auto makePlan = [&](const Kernel &kernel, const mla_args &given,
                      Arguments &arguments) -> llvm::Error {
    if (llvm::Error error = checkBytes("schedule_bytes", scheduleBytes, kernel,
                                       given, WorkspacePart::Plan))
      return error;
    if (isEmpty(given) && kernel.info()->hasPlanEntry)
      return arguments.check();
    if (llvm::Error error = checkContents(kernel, given, arguments, stream))
      return error;
    return kernel.makePlan(arguments, schedule, scheduleBytes, stream);
  };
  return report(status, start(*handle, args, makePlan));
} catch (...) {
  return reportException(status);
}
