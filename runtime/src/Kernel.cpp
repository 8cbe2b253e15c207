//===- Kernel.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla_jit/Kernel.h"
#include "KernelState.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

KernelState::~KernelState() = default;

llvm::Error checkLimits(const KernelInfo &info) {
  for (const KernelInfo::Entry &entry : info.entries)
    if (entry.params.size() > kMaxParams)
      return createStringError(
          formatv("entry '{0}' has {1} parameters, over the limit of {2}",
                  entry.symbol, entry.params.size(), kMaxParams));
  if (info.workspace.size() > Workspace::kMaxBuffers)
    return createStringError(
        formatv("the kernel has {0} workspace buffers, over the limit of {1}",
                info.workspace.size(), Workspace::kMaxBuffers));
  return llvm::Error::success();
}

Kernel::Kernel(std::unique_ptr<KernelState> loaded)
    : state(std::move(loaded)), description(state->info) {}
Kernel::~Kernel() = default;

const std::shared_ptr<const KernelInfo> &Kernel::info() const {
  return description;
}
const std::vector<StageTime> &Kernel::compileTimes() const {
  return state->times;
}
int Kernel::numWorkers() const { return state->numWorkers(); }
size_t Kernel::workspaceAlignment() const { return state->alignment(); }

size_t Kernel::workspaceBytes(const Arguments &arguments) const {
  return layOutWorkspace(*state->info, arguments, state->workspaceWorkers(),
                         state->alignment(), nullptr)
      .bytes;
}

llvm::Error Kernel::launch(const Arguments &arguments, void *workspace,
                           size_t workspaceSize, void *stream) const {
  if (arguments.info.get() != description.get())
    return createStringError(
        "arguments require to be made for this kernel, but are another's");
  if (llvm::Error error = arguments.check())
    return error;
  Workspace laidOut =
      layOutWorkspace(*state->info, arguments, state->workspaceWorkers(),
                      state->alignment(), workspace);
  if (workspaceSize < laidOut.bytes)
    return createStringError(
        formatv("argument 'workspace' requires {0} bytes, but got {1}",
                laidOut.bytes, workspaceSize));
  if (reinterpret_cast<uintptr_t>(workspace) % state->alignment())
    return createStringError(formatv(
        "argument 'workspace' requires an alignment of {0} bytes, but got {1}",
        state->alignment(), workspace));
  LaunchValues values(*state->info, arguments, laidOut);
  return state->run(arguments, values, stream);
}

} // namespace mla_jit
