//===- Handles.h ------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the handles of the C interface are.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_HANDLES_H
#define MLA_JIT_SRC_CAPI_HANDLES_H

#include "../Engine.h"
#include "../cache/Stripes.h"
#include "Status.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <set>

namespace mla_jit::capi {

enum class LaunchEvent { Done, Failed, Last = Failed };

/// What an engine's kernels have of it; they may outlive it.
struct SharedState {
  explicit SharedState(std::string target) : target(std::move(target)) {}
  const std::string target; ///< as the option says it
  cache::EventCounts<LaunchEvent> launches;
};

/// A kernel as a handle of the caller's, with one reference. `givenBy`: what
/// its schedule was given by, or null if it was chosen.
mla_kernel *makeHandle(const mla_engine &engine, std::shared_ptr<Kernel> kernel,
                       const char *givenBy);
/// Whether an argument of that name is given by a field of mla_args other than
/// `named`.
bool isField(std::string_view name);

/// Which arguments of a kernel the fields of mla_args are, found once for all
/// launches.
struct FieldMap {
  static constexpr size_t kNumTensors = 27, kNumScalars = 4;
  explicit FieldMap(const KernelInfo &info);
  /// Positions of arguments, or -1, in the order of Arguments.cpp.
  std::array<int, kNumTensors> tensors;
  std::array<int, kNumScalars> scalars;
};

/// The launch that `args` describe, for a kernel; an error names the field that
/// is wrong, or that the kernel has no use for.
llvm::Error fillArguments(const mla_args &args, const FieldMap &fields,
                          Arguments &arguments);
/// Reads a tensor of the caller's; `name` is that of its field.
llvm::Error readTensor(const char *name, const mla_tensor &given, Tensor &to);
/// The fields lse_base and lse_empty_posinf.
llvm::Error setLSEForm(int32_t base, int32_t emptyIsPositive,
                       Arguments &arguments);

} // namespace mla_jit::capi

struct mla_engine {
  mla_engine(mla_jit::EngineOptions options, std::string target)
      : engine(std::move(options)),
        shared(
            std::make_shared<mla_jit::capi::SharedState>(std::move(target))) {}

  mla_jit::Engine engine;
  /// Each kernel's handle takes one.
  const mla_jit::cache::StripedPointer<mla_jit::capi::SharedState> shared;
  std::mutex mutex;
  std::set<std::string> strings; ///< of specs that were read from text
};

struct mla_kernel {
  std::atomic<int64_t> references = 1;
  std::shared_ptr<mla_jit::Kernel> kernel;
  std::shared_ptr<mla_jit::capi::SharedState> shared;
  const char *scheduleGivenBy = nullptr; ///< null: chosen

  /// Found by the first launch: most handles of a hit in memory never launch.
  const mla_jit::capi::FieldMap &fields() {
    if (const auto *found = knownFields.load(std::memory_order_acquire))
      return *found;
    std::call_once(fieldsFound, [&] { foundFields.emplace(*kernel->info()); });
    knownFields.store(&*foundFields, std::memory_order_release);
    return *foundFields;
  }

private:
  std::once_flag fieldsFound;
  std::atomic<const mla_jit::capi::FieldMap *> knownFields = nullptr;
  std::optional<mla_jit::capi::FieldMap> foundFields;
};

struct mla_archive {
  mla_engine *engine;
  std::shared_ptr<mla_jit::cache::Archive> archive;
};

#endif // MLA_JIT_SRC_CAPI_HANDLES_H
