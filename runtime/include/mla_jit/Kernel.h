//===- Kernel.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_KERNEL_H
#define MLA_JIT_KERNEL_H

#include "mla_jit/Tensor.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mla_jit {

/// What is compiled in of one argument of a kernel; dynamic sizes and strides
/// are -1.
struct ArgumentInfo {
  std::string name;
  bool isTensor = false;
  DType dtype = DType::None;
  int rank = 0;
  std::array<int64_t, Tensor::kMaxRank> shape = {};
  std::array<int64_t, Tensor::kMaxRank> stride = {};
};

/// A kernel as the compiler describes it: `#mla.kernel` in plain data.
struct KernelInfo {
  enum class ParamKind : uint8_t { Pointer, Offset, Size, Stride, Scalar };
  /// Where a parameter comes from.
  enum class Source : uint8_t { Argument, Workspace, Worker, NumWorkers };
  struct Param {
    ParamKind kind;
    Source source;
    int index; ///< of the argument or workspace buffer
    int dim;
  };
  struct Entry {
    std::string symbol;
    std::vector<Param> params;
  };
  /// A workspace tensor [count, shape...]: count workers or partial slots.
  struct Buffer {
    std::string name;
    bool perSlot;
    int64_t bytesEach;
    int rank; ///< with the count
    std::array<int64_t, Tensor::kMaxRank> shape = {};
  };

  std::vector<ArgumentInfo> arguments;
  std::vector<Entry> entries; ///< in launch order, a barrier between
  std::vector<Buffer> workspace;
  std::string schedule; ///< the #mla.schedule, as text
  std::string mask;     ///< the mask, as text; empty if not known
  int64_t blockM = 0, kvHeads = 0, group = 0;
  int64_t defaultSplits =
      0; ///< pieces an item where num_splits is 0; 0: by worker

  /// Position of an argument, or -1.
  int find(std::string_view name) const;
};

/// Seconds that each stage of a compilation took.
struct StageTime {
  std::string stage;
  double seconds;
};

/// The values of one launch. Made once for a kernel, changed and used many
/// times.
class Arguments {
public:
  explicit Arguments(std::shared_ptr<const KernelInfo> info);

  /// Sets a tensor; checks rank, type, and what sizes and strides are compiled
  /// in. `lse` may have null data: it is then not written.
  llvm::Error set(std::string_view name, const Tensor &tensor);
  /// Sets a scalar: converted to the argument's type.
  llvm::Error set(std::string_view name, double scalar);

  bool has(std::string_view name) const { return info->find(name) >= 0; }
  /// The tensor of that name; not given if there is none.
  Tensor tensor(std::string_view name) const;
  /// The scalar of that name, or `fallback`.
  double scalar(std::string_view name, double fallback) const;

  /// Checks that every argument was set and that sizes agree with each other
  /// (batch, queries, pages): everything that needs no tensor's contents.
  llvm::Error check() const;
  /// Checks the contents that a kernel trusts: lengths within the table, table
  /// entries of visible pages within the pool. Reads the tensors.
  llvm::Error checkContents() const;

  int64_t batch() const;
  /// Most row blocks that the launch has (for the sizes of the workspace).
  int64_t maxItems() const;

private:
  friend class Kernel;
  struct Value {
    Tensor tensor;
    union {
      float f32;
      int32_t i32;
      int64_t i64 = 0;
    };
    bool set = false;
  };
  std::shared_ptr<const KernelInfo> info;
  std::vector<Value> values;
};

struct KernelState;

/// A compiled and loaded kernel of the host target.
class Kernel {
public:
  ~Kernel();
  const std::shared_ptr<const KernelInfo> &info() const;
  const std::vector<StageTime> &compileTimes() const;
  /// Workers of the engine that made it.
  int numWorkers() const;

  /// Bytes of workspace that a launch with these arguments needs: with
  /// automatic splits 2 partial slots a worker, otherwise row blocks x splits,
  /// and the workers' scratch.
  size_t workspaceBytes(const Arguments &arguments) const;

  /// Runs on all workers and returns when done. `workspace` needs 64-byte
  /// alignment and workspaceBytes() bytes, of any contents. Allocates nothing.
  /// Launches of several threads share the workers and may
  /// overlap: each needs a workspace of its own.
  llvm::Error launch(const Arguments &arguments, void *workspace,
                     size_t workspaceBytes) const;

private:
  friend class Engine;
  explicit Kernel(std::unique_ptr<KernelState> state);
  std::unique_ptr<KernelState> state;
};

} // namespace mla_jit

#endif // MLA_JIT_KERNEL_H
