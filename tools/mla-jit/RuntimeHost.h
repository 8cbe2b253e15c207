//===- RuntimeHost.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A host application of the C interface with a GPU, for the checks of the
// runtime: inputs that lie on the device, decode steps, graphs.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNTIMEHOST_H
#define MLA_JIT_TOOLS_RUNTIMEHOST_H

#include "RuntimeCheck.h"
#include "cuda/Launch.h"
#include "cuda/Library.h"
#include "cuda/Tools.h"
#include "mla/Inputs/TensorSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <functional>
#include <optional>

namespace mla_jit {

/// Of all steps; kMaxKeys keys a request at most.
inline constexpr int kStepBatch = 4, kStepHeads = 16, kMaxKeys = 8192;
using Lengths = std::array<int32_t, kStepBatch>;
inline constexpr Lengths kShortLengths = {1, 1, 1, 1};
inline constexpr Lengths kLongLengths = {8192, 1, 0, 257};

/// A GPU, and the inputs of steps of DeepSeek-V3 with 16 heads on it.
class RuntimeHost {
public:
  static llvm::Expected<std::unique_ptr<RuntimeHost>> open(int device);

  int device() const { return where->device().ordinal; }
  const std::shared_ptr<const cuda::Context> &context() const { return where; }
  const cuda::Driver &driver() const { return where->driver(); }

  /// An engine for this GPU without a cache on disk.
  mla::Engine makeEngine(int memoryEntries = 0) const;
  mla_spec spec() const;
  /// Specs of other kernels, all different; no step uses them.
  mla_spec otherSpec(int number) const;
  float scale() const;

  /// Keeps a stream busy for some time.
  llvm::Error delay(const cuda::Stream &stream, uint64_t nanoseconds) const;
  /// Loads the code of delay() once more.
  llvm::Expected<std::shared_ptr<const cuda::Function>> loadDelay() const;

  const TensorSet &inputs() const { return tensors; }
  /// Two tensors q of the same shape.
  cuda::DevicePtr query(int which) const { return queries[which].address(); }
  cuda::DevicePtr keys() const { return pool.address(); }

private:
  explicit RuntimeHost(std::shared_ptr<const cuda::Context> context)
      : where(std::move(context)) {}
  llvm::Error makeInputs();

  std::shared_ptr<const cuda::Context> where;
  TensorSet tensors; ///< on the host: q, k, table, seq_lens
  std::array<cuda::DeviceBuffer, 2> queries;
  cuda::DeviceBuffer pool;
  std::shared_ptr<const cuda::Function> spin;
};

/// A contiguous tensor of the device's.
mla_tensor deviceTensor(cuda::DevicePtr address, int32_t dtype,
                        std::initializer_list<int64_t> shape);

/// A workspace full of bytes 0xff, with bytes behind it that are nobody's.
class GuardedWorkspace {
public:
  GuardedWorkspace() = default;
  GuardedWorkspace(Check &check, const RuntimeHost &host,
                   const cuda::Stream &stream, size_t bytes);
  cuda::DevicePtr address() const { return memory.address(); }
  /// Requires that these bytes are as they were; waits for the stream.
  void requireGuard(Check &check, const cuda::Stream &stream,
                    const llvm::Twine &when) const;

private:
  static constexpr size_t kGuardBytes = 4096;
  static constexpr uint8_t kGuard = 0xa5;
  cuda::DeviceBuffer memory;
};

/// Decodes of one kernel in a stream of its own, with tensors and a workspace
/// of its own, which holds bytes 0xff. Steps after a failure do nothing.
class DecodeStep {
public:
  struct Options {
    int splits = 0; ///< 0: automatic
    int copies = 1; ///< of out and lse
  };
  DecodeStep(Check &check, const RuntimeHost &host, mla::Engine &engine,
             mla::Kernel kernel, Options options);
  DecodeStep(Check &check, const RuntimeHost &host, mla::Engine &engine,
             mla::Kernel kernel)
      : DecodeStep(check, host, engine, std::move(kernel), Options()) {}

  /// In the stream's order. A table has `columns` columns of pages, and
  /// invalid ids behind them.
  void setLengths(const Lengths &lengths);
  void fillTable(int columns);
  /// Fills all outputs with NaN.
  void spoilOutputs();
  void setQuery(cuda::DevicePtr q) { args.q.data = pointer(q); }

  void launch(int copy = 0);
  /// Bytes of out and lse; waits for the stream.
  using Bytes = std::vector<uint8_t>;
  Bytes results(int copy = 0);
  /// What a launch of its own for these lengths gives.
  Bytes run(const Lengths &lengths);
  /// Requires that the results are those bytes.
  void requireResults(const Bytes &expected, const llvm::Twine &when,
                      int copy = 0);
  /// Requires that nothing was written behind the workspace.
  void requireGuard(const llvm::Twine &when);

  const cuda::Stream &stream() const { return *queue; }
  cuda::DevicePtr workspace() const { return memory.address(); }

  mla::Kernel kernel;
  mla_args args; ///< of the next launch

  static void *pointer(cuda::DevicePtr address) {
    return reinterpret_cast<void *>(address);
  }

private:
  cuda::DeviceBuffer allocate(size_t bytes);

  Check &check;
  const RuntimeHost &host;
  std::optional<cuda::Stream> queue;
  cuda::DeviceBuffer outputs, lengths, table;
  GuardedWorkspace memory;
  size_t outBytes = 0, lseBytes = 0;
  int copies;
};

/// What `work` puts into the stream, captured.
class CapturedGraph {
public:
  CapturedGraph(Check &check, const cuda::Stream &stream,
                cuda::CaptureMode mode, llvm::function_ref<void()> work);
  ~CapturedGraph();
  void replay();

private:
  Check &check;
  const cuda::Stream &stream;
  cuda::GraphExecHandle executable = nullptr;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNTIMEHOST_H
