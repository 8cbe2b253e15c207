//===- Engine.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_ENGINE_H
#define MLA_JIT_ENGINE_H

#include "mla_jit/Kernel.h"
#include "mla_jit/Spec.h"
#include "llvm/Support/Error.h"

#include <chrono>
#include <memory>
#include <string>

namespace mla_jit {

/// The forms in which a compilation can be seen. Of the host, in this order:
/// problem, tile, host, llvm (the dialect), asm, obj; of a GPU: problem, tile,
/// gpu, nvvm, llvm (LLVM IR), ptx, cubin, report (what the assembler says).
enum class Stage {
  Problem,
  Tile,
  Host,
  GPU,
  NVVM,
  LLVM,
  Assembly,
  Object,
  PTX,
  Cubin,
  Report
};
/// "problem", "tile", "host", "gpu", "nvvm", "llvm", "asm", "obj", "ptx",
/// "cubin", "report".
std::string_view toString(Stage stage);
/// The stage of that name, or an error that lists them.
llvm::Expected<Stage> parseStage(std::string_view text);

/// Names of the launch-time parameters of a mask ("causal" or "#mla.causal"),
/// in the mask's order; an error if there is no mask of that name.
llvm::Expected<std::vector<std::string>> maskParameters(std::string_view mask);

/// Where kernels run.
enum class TargetKind { Host, CUDA };

struct EngineOptions {
  std::string cpu = "native"; ///< host: LLVM's name; "native": this machine's
  /// Host: threads, 0: one for each core. CUDA: at most so many SMs are used,
  /// 0: all.
  int numWorkers = 0;
  TargetKind target = TargetKind::Host;
  int device = 0; ///< CUDA: the driver's number of the device
  /// CUDA: "sm_90a"; empty: the device's. With a chip, compile() needs neither
  /// driver nor device.
  std::string chip = {};
  /// CUDA: limit of one compilation, without the assembler.
  std::chrono::milliseconds timeLimit = std::chrono::seconds(60);
};

/// What an engine compiles for.
struct TargetInfo {
  std::string cpu;      ///< LLVM's name of the CPU, or the chip of a GPU
  std::string features; ///< what this machine lacks of it: "-amx-tile,..."
  int64_t vectorBits, vectorRegisters, l1Bytes, l2Bytes; ///< of a CPU
};

/// A GPU that is there.
struct DeviceInfo {
  std::string name, chip, driver; ///< "NVIDIA H200", "sm_90a", "CUDA 13.0"
  int numSMs, sharedBytes, l2Bytes;
  uint64_t memoryBytes;
};

/// The error of a spec that can be said but that the target has no kernel for,
/// and of tensors that a kernel cannot take for how they lie in memory.
class UnsupportedError : public llvm::ErrorInfo<UnsupportedError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): the name that
                  // llvm::ErrorInfo asks for
  explicit UnsupportedError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// Compiles and runs kernels of one target. Making one asks no driver; the
/// first call that needs a device does. Thread-safe.
class Engine {
public:
  explicit Engine(EngineOptions options = {});
  ~Engine();

  const EngineOptions &options() const;
  /// Threads; of a GPU the SMs that are used, 0 if there is no device.
  int numWorkers() const;
  /// What is compiled for, or why the option 'cpu' or 'chip' names nothing, or
  /// there is no device to ask for its chip.
  llvm::Expected<TargetInfo> target() const;
  /// The GPU of the option 'device', or why there is none.
  llvm::Expected<DeviceInfo> device() const;

  /// Compiles and loads a kernel.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const Spec &spec);
  /// The same for MLIR text at the problem, tile, host, gpu or nvvm level;
  /// `name` is for messages. A module of the last three is run as it is: its
  /// mla.kernel is trusted.
  llvm::Expected<std::shared_ptr<Kernel>> prepare(const std::string &mlir,
                                                  const std::string &name);

  /// Compiles up to a stage and returns its text (or bytes).
  llvm::Expected<std::string> compile(const Spec &spec, Stage stage);
  llvm::Expected<std::string> compile(const std::string &mlir,
                                      const std::string &name, Stage stage);

  /// Nothing if the target has a kernel for the spec, else the reason why not.
  llvm::Error isSupported(const Spec &spec);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mla_jit

#endif // MLA_JIT_ENGINE_H
