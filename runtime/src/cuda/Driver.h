//===- Driver.h -------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_DRIVER_H
#define MLA_JIT_SRC_CUDA_DRIVER_H

#include "Error.h"
#include "ProcessMark.h"
#include "llvm/ADT/Twine.h"

#include <memory>
#include <optional>

namespace mla_jit::cuda {

/// The loaded and initialised driver. Immutable, so any thread may use it; it
/// has to outlive all that is made with it.
class Driver {
public:
  /// This machine's driver: loads libcuda.so.1 and calls cuInit on first need,
  /// never again once that worked, and never unloads it. A failure is not kept:
  /// the next call tries again.
  static llvm::Expected<const Driver &> get();
  /// The driver in that file, initialised; for tests.
  static llvm::Expected<std::unique_ptr<Driver>> load(const char *path);

  /// The driver's functions; those that are optional may be null.
  const DriverTable &call() const { return table; }
  /// 1000 * major + 10 * minor of the CUDA version that the driver is of.
  int version() const { return cudaVersion; }
  /// "580.159.04", from the name of the library's file; empty where that does
  /// not say it. Releases of one CUDA version have different assemblers.
  const std::string &release() const { return releaseText; }
  /// 10 * major + minor of the newest PTX that we know this driver to take.
  int ptxVersion() const;
  /// Devices that are visible; at least one.
  int deviceCount() const { return numDevices; }

  /// Nothing on success, else an error that names the call, what it was for,
  /// and the driver's name, number and words for the error.
  llvm::Error check(Result result, llvm::StringRef call,
                    const llvm::Twine &purpose = "") const;
  /// "CUDA_ERROR_INVALID_VALUE (1): invalid argument".
  std::string describe(Result result) const;
  /// Whether this process is a child of the one that initialised the driver,
  /// where no call can work.
  bool forked() const;
  /// An error in such a child.
  llvm::Error checkProcess(llvm::StringRef call) const;

private:
  Driver() = default;
  llvm::Error initialise(void *library, const char *path);

  DriverTable table;
  std::string releaseText;
  int cudaVersion = 0, numDevices = 0;
  std::optional<ProcessMark> process; ///< that initialised it
};

/// "580.159.04" of ".../libcuda.so.580.159.04", also by a link; else empty.
std::string releaseOfLibrary(const char *path);

/// "12.4" for 12040.
std::string versionText(int version);

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_DRIVER_H
