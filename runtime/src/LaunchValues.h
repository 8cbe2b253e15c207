//===- LaunchValues.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the parameters of a launch are, for any target: the workspace laid out,
// and each parameter's tensor or number.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_LAUNCHVALUES_H
#define MLA_JIT_SRC_LAUNCHVALUES_H

#include "Kernel.h"

#include <cstring>

namespace mla_jit {

/// The tensors of a kernel's workspace, one behind the other.
struct Workspace {
  static constexpr size_t kMaxBuffers = 16;
  llvm::SmallVector<Tensor, kMaxBuffers> tensors;
  size_t bytes = 0;
  size_t planBytes = 0; ///< of what is not there, but in a plan's buffer
};

/// Lays out the workspace at `base`, which may be null where only its size is
/// asked for; what the plan is made of at `plan`, if that is not null. Counts
/// are those of `#mla.buffer` for that many workers. `alignment` is a power
/// of 2.
Workspace layOutWorkspace(const KernelInfo &info, const Arguments &arguments,
                          int64_t workers, size_t alignment, void *base,
                          const void *plan = nullptr);

/// Bytes of a part of the workspace for any launch of at most so many requests,
/// queries in all, splits (0: only automatic ones) and workers. Grows with
/// each, up to kBeyondMemory.
size_t workspaceBound(const KernelInfo &info, WorkspacePart part, int64_t batch,
                      int64_t totalQueries, int64_t maxSplits, int64_t workers,
                      size_t alignment);

/// Where the 8 bytes of a parameter are among the values of any launch of a
/// kernel. Those of a tensor map are none, and an offset is 0.
struct ParameterPlace {
  enum Base : uint8_t { Argument, Workspace, NumWorkers, Zero };
  Base base;
  uint32_t offset;
};

/// The values of one launch. Refers to what it was made of.
class LaunchValues {
public:
  LaunchValues(const KernelInfo &info, const Arguments &arguments,
               const Workspace &workspace)
      : info(info), arguments(arguments), workspace(workspace) {}

  /// The tensor that a parameter is of.
  const Tensor &tensor(const KernelInfo::Param &param) const;
  /// What is compiled in of it, if it is an argument.
  const ArgumentInfo &argument(const KernelInfo::Param &param) const {
    return info.arguments[param.index];
  }
  /// Its name: an argument's, or a buffer's.
  const std::string &name(const KernelInfo::Param &param) const;
  static ParameterPlace placeOf(const KernelInfo::Param &param);
  /// The bytes of a pointer, offset, size, stride or scalar, in the first of 8.
  int64_t word(const KernelInfo::Param &param) const {
    static constexpr int64_t kNone = 0;
    return Words(*this, kNone)[placeOf(param)];
  }

  /// Reads the bytes of places.
  class Words {
  public:
    Words(const LaunchValues &values, const int64_t &numWorkers);
    int64_t operator[](ParameterPlace place) const {
      int64_t word;
      std::memcpy(&word, bases[place.base] + place.offset, sizeof(word));
      return word;
    }

  private:
    std::array<const char *, 4> bases; ///< by ParameterPlace::Base
  };

private:
  const KernelInfo &info;
  const Arguments &arguments;
  const Workspace &workspace;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_LAUNCHVALUES_H
