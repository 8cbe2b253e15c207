//===- Launch.h -------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_LAUNCH_H
#define MLA_JIT_SRC_CUDA_LAUNCH_H

#include "Library.h"

#include <array>

namespace mla_jit::cuda {

/// Sizes in x, y, z.
using Dim3 = std::array<unsigned, 3>;

struct LaunchConfig {
  Dim3 grid = {1, 1, 1};    ///< blocks
  Dim3 block = {1, 1, 1};   ///< threads
  Dim3 cluster = {1, 1, 1}; ///< blocks; the grid is a multiple of it
  /// Bytes; Function::allowDynamicShared has been called for them.
  unsigned dynamicShared = 0;
  StreamHandle stream = nullptr;
  /// May start before the kernel in front of it in the stream has ended. Only
  /// for a kernel whose code waits for that one (griddepcontrol.wait).
  bool programmaticDependent = false;
};

/// Starts a kernel on the stream: `parameters` points to each argument, in
/// order. Allocates nothing, waits for nothing, legal under capture, and leaves
/// the thread's current context as it was. The arguments are copied.
llvm::Error launch(const Function &function, const LaunchConfig &config,
                   llvm::ArrayRef<void *> parameters);

/// Whether the stream is being captured into a graph.
llvm::Expected<bool> isCapturing(const Context &context, StreamHandle stream);
/// The same inside the context.
llvm::Expected<bool> isCapturing(const ContextScope &, const Context &context,
                                 StreamHandle stream);

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_LAUNCH_H
