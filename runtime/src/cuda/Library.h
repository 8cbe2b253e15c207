//===- Library.h ------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_LIBRARY_H
#define MLA_JIT_SRC_CUDA_LIBRARY_H

#include "Device.h"
#include "llvm/ADT/ArrayRef.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace mla_jit::cuda {

class AssemblerLog;

/// Machine code loaded into a context. Unloaded with its last owner, so what
/// was captured in a graph needs an owner as long as the graph.
class Library {
public:
  /// Loads a cubin, after checking that it is one and whole: the driver is not
  /// told where it ends, and looks at it late. The bytes are not needed
  /// afterwards.
  static llvm::Expected<std::shared_ptr<const Library>>
  load(std::shared_ptr<const Context> context, const std::string &cubin);
  /// Assembles PTX as a whole program, and loads it. linkPTX assembles for
  /// linking with other code, for which the assembler ignores setmaxnreg
  /// (C7504); but its result can be kept, and this one's cannot.
  static llvm::Expected<std::shared_ptr<const Library>>
  assemble(std::shared_ptr<const Context> context, const std::string &ptx);
  ~Library();
  /// What the assembler said, all of it once a function was got; nothing of a
  /// cubin, or if the driver had the result in a cache of its own.
  std::string assemblerLog() const;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const std::shared_ptr<const Context> &context() const { return where; }
  LibraryHandle handle() const { return library; }

private:
  explicit Library(std::shared_ptr<const Context> context);
  std::shared_ptr<const Context> where;
  LibraryHandle library = nullptr;
  std::unique_ptr<AssemblerLog> log; ///< the driver assembles late
};

/// What the assembler made of a kernel.
struct FunctionInfo {
  std::string symbol;
  int registers = 0;         ///< a thread
  int localBytes = 0;        ///< a thread: spills and arrays
  int staticSharedBytes = 0; ///< a block
  int maxThreads = 0;        ///< a block
  int ptxVersion = 0, binaryVersion = 0;
  int parameters = -1; ///< as given to Function::get; -1: not given
};

/// A kernel, loaded onto the device when made: no launch has to. Thread-safe.
class Function {
public:
  /// With `parameterBytes`, the sizes of what launches will pass, checks each
  /// against the kernel if the driver tells (from CUDA 12.4 on), and lets
  /// launches check their number.
  static llvm::Expected<std::shared_ptr<const Function>>
  get(std::shared_ptr<const Library> library, const std::string &symbol,
      std::optional<llvm::ArrayRef<size_t>> parameterBytes = std::nullopt);

  const FunctionInfo &info() const { return what; }
  const Context &context() const { return *library->context(); }
  FunctionHandle handle() const { return function; }

  /// Most dynamic shared memory that a block can ask for: the device's limit
  /// less the static part. Beside a static part, the linked code puts dynamic
  /// memory right behind it, whatever alignment it was declared with: a kernel
  /// that needs more than 16 bytes has no static part.
  int dynamicSharedLimit() const;
  /// Asks for leave to launch with up to that many bytes; an error of kind
  /// Unsupported with limit and need where the device has less. Never takes
  /// leave away.
  llvm::Error allowDynamicShared(int64_t bytes) const;
  /// Bytes that were allowed so far.
  int64_t dynamicSharedAllowed() const { return allowed; }

private:
  explicit Function(std::shared_ptr<const Library> library)
      : library(std::move(library)) {}
  llvm::Error query();
  llvm::Error checkParameters(KernelHandle kernel,
                              llvm::ArrayRef<size_t> bytes);

  std::shared_ptr<const Library> library;
  FunctionHandle function = nullptr;
  FunctionInfo what;
  mutable std::mutex mutex;
  mutable std::atomic<int64_t> allowed = 0;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_LIBRARY_H
