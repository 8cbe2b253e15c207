//===- PublicEngine.h -------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What flags say, as the C interface takes it, and its engines.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PUBLICENGINE_H
#define MLA_JIT_TOOLS_PUBLICENGINE_H

#include "PublicKernel.h"
#include "mla/Problem/Spec.h"

#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace mla_jit {

/// Where kernels run, and what they are compiled for.
struct Machine {
  bool onGPU = false;
  std::string cpu = "native"; ///< host: LLVM's name; "native": this machine's
  std::string chip = {};      ///< GPU: "sm_90a"; empty: the device's
  int device = 0;             ///< GPU: the driver's number
  int workers = 0;            ///< threads, or SMs; 0: all
  int compileThreads = 0;     ///< 0: one for each core
};

/// Path of the ptxas that is found along PATH or else in the toolkit, or "":
/// what engines are given, which do not look for it.
std::string findPtxas();

/// A spec with the text that it points to.
class PublicSpec {
public:
  explicit PublicSpec(const Spec &spec);
  PublicSpec(const PublicSpec &) = delete;
  const mla_spec &get() const { return spec; }

private:
  mla_spec spec;
  std::string scoreMod, schedule;
};

/// An engine of the C interface without a cache on disk, and the whole texts of
/// what it failed with: a status has room for a part. Thread-safe.
class PublicEngine {
public:
  /// Asks no driver.
  static llvm::Expected<std::unique_ptr<PublicEngine>>
  create(const Machine &machine);

  const Machine &machine() const { return where; }
  /// Threads; of a GPU the SMs that are used, 0 if there is no device.
  int numWorkers();
  llvm::Expected<mla_target_info> target();
  llvm::Expected<mla_device_info> device();

  /// Kernels that were prepared and dropped are still in memory: see trim().
  llvm::Expected<std::shared_ptr<const PublicKernel>> prepare(const Spec &spec);
  /// `name` stands in diagnostics for the file.
  llvm::Expected<std::shared_ptr<const PublicKernel>>
  prepare(const std::string &mlir, const std::string &name);
  /// Drops the kernels that nobody holds.
  llvm::Error trim();

  llvm::Expected<std::string> compile(const Spec &spec, const char *stage);
  llvm::Expected<std::string>
  compile(const std::string &mlir, const std::string &name, const char *stage);

private:
  explicit PublicEngine(Machine machine) : where(std::move(machine)) {}
  static void keep(void *self, const mla_log *event);
  llvm::Error explain(const mla::Status &status);
  template <typename T> llvm::Expected<T> toExpected(mla::Result<T> result) {
    if (result)
      return std::move(*result);
    return explain(result.status());
  }
  llvm::Expected<std::shared_ptr<const PublicKernel>>
  describe(mla::Result<mla::Kernel> prepared);

  /// A failure too long for a status, told by the thread that compiled.
  struct LongFailure {
    std::thread::id compiledBy; ///< nobody's once that thread has taken it
    std::string text;
  };
  static constexpr size_t kMaxFailures = 64;

  const Machine where;
  std::mutex mutex;                  // of failures
  std::deque<LongFailure> failures;  ///< the latest first
  std::optional<mla::Engine> engine; // goes first: it calls keep()
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PUBLICENGINE_H
