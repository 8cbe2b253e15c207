//===- Kernel.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla_jit/Kernel.h"
#include "KernelState.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>

using llvm::createStringError;
using llvm::formatv;

namespace mla_jit {

KernelState::~KernelState() = default;

/// Most parameters that an entry may have: the launch marshals on the stack.
static constexpr size_t kMaxParams = 256;
static constexpr size_t kAlignment = 64;

llvm::Expected<std::unique_ptr<KernelState>>
loadKernel(CompileResult compiled, std::shared_ptr<WorkerPool> pool) {
  if (!compiled.missingFeature.empty())
    return createStringError(formatv(
        "the kernel is compiled for '{0}', but this machine has no {1}: "
        "it can be compiled, not run",
        compiled.cpu, compiled.missingFeature));
  auto start = std::chrono::steady_clock::now();
  auto state = std::make_unique<KernelState>();
  state->info = compiled.info;
  state->times = std::move(compiled.times);
  state->pool = std::move(pool);
  for (const KernelInfo::Entry &entry : state->info->entries)
    if (entry.params.size() > kMaxParams)
      return createStringError(
          formatv("entry '{0}' has {1} parameters, over the limit of {2}",
                  entry.symbol, entry.params.size(), kMaxParams));

  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  state->jit = std::move(*jit);
  if (auto error = state->jit->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(compiled.text, "mla_kernel")))
    return std::move(error);
  for (const KernelInfo::Entry &entry : state->info->entries) {
    auto symbol = state->jit->lookup(entry.symbol + "_packed");
    if (!symbol)
      return symbol.takeError();
    state->functions.push_back(symbol->toPtr<void (*)(void **)>());
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  state->times.push_back({"link", elapsed.count()});
  return state;
}

Kernel::Kernel(std::unique_ptr<KernelState> loaded)
    : state(std::move(loaded)) {}
Kernel::~Kernel() = default;

const std::shared_ptr<const KernelInfo> &Kernel::info() const {
  return state->info;
}
const std::vector<StageTime> &Kernel::compileTimes() const {
  return state->times;
}
int Kernel::numWorkers() const { return state->pool->size(); }

/// Partial slots of a launch.
static int64_t numSlots(const KernelInfo &info, const Arguments &arguments,
                        int workers) {
  int64_t splits = static_cast<int64_t>(arguments.scalar("num_splits", 0));
  if (splits == 0)
    splits = info.defaultSplits;
  return splits > 0 ? arguments.maxItems() * splits
                    : 2 * static_cast<int64_t>(workers);
}

/// Calls `visit(buffer, count, offset)` for each workspace buffer; returns the
/// bytes of all.
template <typename F>
static size_t forBuffers(const KernelInfo &info, const Arguments &arguments,
                         int workers, F visit) {
  size_t offset = 0;
  for (size_t i = 0; i < info.workspace.size(); ++i) {
    const KernelInfo::Buffer &buffer = info.workspace[i];
    int64_t count =
        buffer.perSlot ? numSlots(info, arguments, workers) : workers;
    visit(i, count, offset);
    offset += llvm::alignTo(count * buffer.bytesEach, kAlignment);
  }
  return offset;
}

size_t Kernel::workspaceBytes(const Arguments &arguments) const {
  return forBuffers(*state->info, arguments, numWorkers(),
                    [](size_t, int64_t, size_t) {});
}

namespace {

/// Parameters of one entry, ready for all workers.
struct Launch {
  void (*function)(void **);
  size_t numParams;
  int64_t numWorkers;
  std::array<int64_t, kMaxParams> values;
  std::array<bool, kMaxParams> isWorker;
};

} // namespace

static void runWorker(void *context, int worker) {
  Launch &launch = *static_cast<Launch *>(context);
  int64_t index = worker;
  std::array<void *, kMaxParams> pointers;
  for (size_t i = 0; i < launch.numParams; ++i)
    pointers[i] = launch.isWorker[i] ? &index : &launch.values[i];
  launch.function(pointers.data());
}

/// The 8 bytes of a parameter of a tensor.
static int64_t fieldOf(const Tensor &tensor, KernelInfo::ParamKind kind,
                       int dim) {
  switch (kind) {
  case KernelInfo::ParamKind::Pointer:
    return reinterpret_cast<int64_t>(tensor.data);
  case KernelInfo::ParamKind::Size:
    return tensor.shape[dim];
  case KernelInfo::ParamKind::Stride:
    return tensor.stride[dim];
  case KernelInfo::ParamKind::Offset:
  case KernelInfo::ParamKind::Scalar:
    return 0;
  }
  return 0;
}

llvm::Error Kernel::launch(const Arguments &arguments, void *workspace,
                           size_t workspaceSize) const {
  const KernelInfo &info = *state->info;
  if (arguments.info.get() != state->info.get())
    return createStringError(
        "arguments require to be made for this kernel, but are another's");
  if (llvm::Error error = arguments.check())
    return error;
  size_t needed = workspaceBytes(arguments);
  if (workspaceSize < needed)
    return createStringError(
        formatv("argument 'workspace' requires {0} bytes, but got {1}", needed,
                workspaceSize));
  if (reinterpret_cast<uintptr_t>(workspace) % kAlignment)
    return createStringError(formatv(
        "argument 'workspace' requires an alignment of {0} bytes, but got {1}",
        kAlignment, workspace));

  constexpr size_t kMaxBuffers = 8;
  std::array<Tensor, kMaxBuffers> buffers;
  if (info.workspace.size() > kMaxBuffers)
    return createStringError("a kernel requires at most 8 workspace buffers");
  forBuffers(info, arguments, numWorkers(),
             [&](size_t i, int64_t count, size_t offset) {
               const KernelInfo::Buffer &buffer = info.workspace[i];
               Tensor &tensor = buffers[i];
               tensor.data = static_cast<char *>(workspace) + offset;
               tensor.rank = buffer.rank;
               tensor.shape = buffer.shape;
               tensor.shape[0] = count;
               int64_t stride = 1;
               for (int dim = buffer.rank - 1; dim >= 0; --dim) {
                 tensor.stride[dim] = stride;
                 stride *= tensor.shape[dim];
               }
             });

  for (size_t e = 0; e < info.entries.size(); ++e) {
    const KernelInfo::Entry &entry = info.entries[e];
    Launch launch;
    launch.function = state->functions[e];
    launch.numParams = entry.params.size();
    launch.numWorkers = numWorkers();
    for (size_t i = 0; i < entry.params.size(); ++i) {
      const KernelInfo::Param &param = entry.params[i];
      launch.isWorker[i] = param.source == KernelInfo::Source::Worker;
      if (param.source == KernelInfo::Source::NumWorkers)
        launch.values[i] = launch.numWorkers;
      else if (param.source == KernelInfo::Source::Workspace)
        launch.values[i] = fieldOf(buffers[param.index], param.kind, param.dim);
      else if (param.source == KernelInfo::Source::Argument)
        launch.values[i] = param.kind == KernelInfo::ParamKind::Scalar
                               ? arguments.values[param.index].i64
                               : fieldOf(arguments.values[param.index].tensor,
                                         param.kind, param.dim);
    }
    state->pool->run(runWorker, &launch);
  }
  return llvm::Error::success();
}

} // namespace mla_jit
