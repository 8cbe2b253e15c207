//===- LaunchGraph.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_LAUNCHGRAPH_H
#define MLA_JIT_SRC_CUDA_LAUNCHGRAPH_H

#include "Launch.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace mla_jit::cuda {

/// Kernels one behind the other, as a graph of the driver's that is launched
/// again and again with other grids and parameters: for two kernels a third of
/// the host's time of single launches. Launches of one LaunchGraph run one
/// after the other, also those in different streams; they need other threads'
/// calls kept away.
class LaunchGraph {
public:
  struct Kernel {
    const Function *function;
    LaunchConfig config; ///< of all launches, but for grid and stream
    size_t numParameters;
    size_t numBytes = 0; ///< of Call::bytes
  };
  struct Call {
    Dim3 grid;
    llvm::ArrayRef<void *> parameters;
    /// All that the parameters point to: what is the same as at the launch
    /// before need not be told the driver. Empty: told always.
    llvm::ArrayRef<char> bytes = {};
  };

  /// What each takes of the device's memory.
  static constexpr size_t kDeviceBytes = 96 << 10;

  /// Captures the kernels once, and makes up to `most` graphs of that, as many
  /// as fit into an eighth of the memory that is free: perhaps none. Functions
  /// must outlive them.
  static llvm::Expected<std::vector<LaunchGraph>>
  create(llvm::ArrayRef<Kernel> kernels, size_t most);
  LaunchGraph(LaunchGraph &&other) noexcept;
  LaunchGraph &operator=(LaunchGraph &&) = delete;
  ~LaunchGraph();

  /// A call for each kernel, inside the context. The stream is not being
  /// captured: graphs in graphs are none.
  llvm::Error launch(const ContextScope &, StreamHandle stream,
                     llvm::ArrayRef<Call> calls);
  /// The last launch again, which succeeded.
  llvm::Error repeat(const ContextScope &, StreamHandle stream);

private:
  class Capture;
  /// What the driver was told of a node last.
  struct Told {
    bool isKnown = false;
    Dim3 grid;
    std::vector<char> bytes;
  };
  explicit LaunchGraph(std::shared_ptr<const Capture> capture);
  const Context &context() const;
  llvm::Error make(StreamHandle stream);
  llvm::Error tell(size_t node, const Call &call);

  std::shared_ptr<const Capture> capture; ///< of all that were made together
  llvm::SmallVector<Told, 3> told;        ///< by kernel
  GraphExecHandle executable = nullptr;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_LAUNCHGRAPH_H
