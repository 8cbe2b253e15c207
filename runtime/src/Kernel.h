//===- Kernel.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNEL_H
#define MLA_JIT_SRC_KERNEL_H

#include "mla/Problem/Tensor.h"
#include "llvm/ADT/SmallVector.h"
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
  /// GPU: bytes that where the tensor begins, and its strides but the last,
  /// have to be multiples of.
  int64_t alignment = 1;
};

/// A kernel as the compiler describes it: `#mla.kernel` in plain data.
struct KernelInfo {
  enum class ParamKind : uint8_t {
    Pointer,
    Offset,
    Size,
    Stride,
    Scalar,
    TensorMap
  };
  /// Where a parameter comes from.
  enum class Source : uint8_t { Argument, Workspace, Worker, NumWorkers };
  /// How to describe a tensor for TMA: `#mla.tensor_map`.
  struct TensorMap {
    int rank = 0;
    /// Dimensions of the tensor, outermost first; the last is contiguous.
    std::array<int, Tensor::kMaxRank> dims = {};
    int64_t boxRows = 0, boxColumns = 0; ///< of one copy
    int64_t swizzle = 0;                 ///< bytes; 0: none
  };
  struct Param {
    ParamKind kind;
    Source source;
    int index; ///< of the argument or workspace buffer
    int dim;
    TensorMap map = {}; ///< TensorMap
  };
  /// How a GPU launches an entry.
  struct Launch {
    int threads = 0;         ///< of a CTA
    int64_t sharedBytes = 0; ///< dynamic, of a CTA
    int ctasPerWorker = 1;
    /// May start before the kernel ahead has ended: it waits for that one. The
    /// first entry does so before it reads anything.
    bool dependent = false;
    /// CTAs of a cluster. More than one: paired launches (Arguments::hasPairs)
    /// start this entry instead of the one before it, others that one.
    int cluster = 1;
  };
  struct Entry {
    std::string symbol;
    std::vector<Param> params;
    Launch launch = {};
  };
  /// What a workspace tensor is counted by.
  enum class Scope : uint8_t { Worker, Slot, Piece };
  /// A workspace tensor [count, shape...].
  struct Buffer {
    std::string name;
    Scope scope;
    int64_t bytesEach;
    int rank; ///< with the count
    std::array<int64_t, Tensor::kMaxRank> shape = {};
    bool ofPlan = false; ///< written by the entry that plans
  };

  /// Most arguments that a kernel may have: a launch keeps them on the stack.
  /// 17 are the most without those of score code.
  static constexpr size_t kMaxArguments = 32;

  std::vector<ArgumentInfo> arguments;
  /// In launch order, a barrier between. A launch starts those that isStarted.
  std::vector<Entry> entries;
  std::vector<Buffer> workspace;
  bool isMerge = false; ///< of an mla.merge; else of an mla.decode
  /// The first entry plans for the others: once for many launches, where these
  /// get the same plan (Arguments::usePlan).
  bool hasPlanEntry = false;
  std::string schedule; ///< the #mla.schedule, as text; of a merge empty
  std::string mask;     ///< the mask, as text; empty if not known
  std::string chip;     ///< of a GPU kernel; empty: the host
  int64_t blockM = 0, kvHeads = 0, group = 0;
  int64_t rowBlocks = 1; ///< neighbouring row blocks that are done together
  int64_t defaultSplits =
      0; ///< pieces an item where num_splits is 0; 0: by worker
  /// What makes the code slower than it was meant to be: spills, and the
  /// assembler's notices.
  std::vector<std::string> warnings;

  /// Position of an argument, or -1.
  int find(std::string_view name) const;
  /// Whether a launch starts the entry: paired ones those with clusters.
  bool isStarted(size_t entry, bool paired) const;
  /// Row blocks of so many requests of as many queries each, those of each
  /// request and KV head as a multiple of rowBlocks.
  int64_t uniformItems(int64_t batch, int64_t queriesEach) const;
  /// Whether `workers` CTAs are two for each of these, and not three.
  bool hasPairs(int64_t batch, int64_t queriesEach, int64_t workers) const;
};

/// Seconds that a stage of a compilation took; where entries were done side by
/// side, the longest.
struct StageTime {
  std::string stage;
  double seconds;
  bool isLoading = false; ///< done for each engine, whoever compiled
};

struct ArgumentRules;

/// The values of one launch. Made once for a kernel, changed and used many
/// times.
class Arguments {
public:
  explicit Arguments(std::shared_ptr<const KernelInfo> info);
  /// Without looking up names: of Kernel::argumentRules.
  explicit Arguments(std::shared_ptr<const ArgumentRules> rules);
  Arguments(const Arguments &) = default;
  Arguments(Arguments &&) noexcept = default;
  Arguments &operator=(const Arguments &) = default;
  Arguments &operator=(Arguments &&) noexcept = default;

  /// Sets a tensor; checks rank, type, and what sizes and strides are compiled
  /// in. `lse` may have null data: it is then not written.
  llvm::Error set(std::string_view name, const Tensor &tensor);
  /// Sets a scalar: converted to the argument's type. Defaults: `num_splits` 0
  /// (automatic); `lse_scale` 1, which natural logarithms are multiplied by;
  /// `lse_empty` -inf, the lse of a row without keys.
  llvm::Error set(std::string_view name, double scalar);
  /// The same of the argument at a position (KernelInfo::find).
  llvm::Error setAt(int index, const Tensor &tensor);
  llvm::Error setAt(int index, double scalar);
  /// Sets `lse_scale` and `lse_empty`, if the kernel has them.
  void setLSEForm(double scale, double ofEmpty);
  /// The tensor at a position, to be filled in place: an argument once setAt
  /// took it.
  Tensor &draftAt(int index) { return values[index].tensor; }
  llvm::Error setAt(int index);

  bool has(std::string_view name) const { return info->find(name) >= 0; }
  /// The tensor of that name; not given if there is none.
  Tensor tensor(std::string_view name) const;
  /// The scalar of that name, or `fallback`.
  double scalar(std::string_view name, double fallback) const;

  /// Checks that every argument was set and that sizes agree with each other
  /// (batch, queries, pages): everything that needs no tensor's contents.
  llvm::Error check() const;
  /// Checks the contents that a kernel trusts: lengths within the table, table
  /// entries of visible pages within the pool. Reads the tensors, which are in
  /// memory of the host, of arguments that passed check().
  llvm::Error checkContents() const;
  /// The tensors that it reads.
  static constexpr std::array kTrusted = {"seq_lens",  "q_offsets",
                                          "table",     "table_rows",
                                          "kv_indptr", "kv_indices"};

  const std::shared_ptr<const KernelInfo> &kernelInfo() const;
  int64_t batch() const;
  /// What `num_splits` says; 0 where there is none.
  int64_t givenSplits() const;
  /// Rows of q, and those of a request; 0 where that varies.
  int64_t totalQueries() const;
  int64_t queriesEach() const;
  /// Whether the launch has no row to compute.
  bool isEmpty() const;
  /// Most row blocks that the launch has (for the sizes of the workspace),
  /// those of each request and KV head as a multiple of the schedule's
  /// row_blocks.
  int64_t maxItems() const;
  /// Whether `workers` CTAs are two for each row block (and not three), and
  /// known to be before lengths are. The plan of a schedule with cluster = 2
  /// then may have both merge by themselves.
  bool hasPairs(int64_t workers) const;

  /// Uses at most so many workers (threads, SMs); 0: all. A GPU kernel uses
  /// those that its schedule needs at least.
  void limitWorkers(int most) { workerLimit = most; }
  int maxWorkers() const { return workerLimit; }

  /// On a GPU: whether the launch may begin before the kernel ahead of it in
  /// the stream has ended. It then waits for that one by itself. The scalar
  /// `pdl_trigger`, where the kernel has it, is the other side: not 0 lets
  /// kernels behind begin early.
  void setDependent(bool value) { dependent = value; }
  bool isDependent() const { return dependent; }
  bool letsDependentsBegin() const;

  /// Takes the plan from a buffer that Kernel::makePlan wrote, instead of
  /// making one. Null: each launch makes its own.
  void usePlan(const void *buffer, size_t bytes) {
    plan = buffer;
    planSize = bytes;
  }
  const void *givenPlan() const { return plan; }
  size_t givenPlanBytes() const { return planSize; }

private:
  llvm::Error checkContentsHere() const;
  friend class Kernel;
  friend class LaunchValues;
  struct Value {
    Tensor tensor;
    union {
      float f32;
      int32_t i32;
      int64_t i64 = 0;
    };
    bool set = false;
  };
  /// The tensor at a position; of -1 one that is not given.
  const Tensor &tensorAt(int index) const;
  void setIfThere(int index, double scalar);
  std::shared_ptr<const ArgumentRules> rules;
  const KernelInfo *info; ///< rules'
  llvm::SmallVector<Value, KernelInfo::kMaxArguments> values;
  int workerLimit = 0;
  bool dependent = false;
  const void *plan = nullptr;
  size_t planSize = 0;
};

class KernelState;
struct LaunchKey;

/// Tensors of a workspace: all, those of the plan, or the others.
enum class WorkspacePart : uint8_t { All, Plan, Others };

/// Bytes of a workspace that no memory has room for.
inline constexpr size_t kBeyondMemory = SIZE_MAX;

/// Where the code of a kernel came from when it was loaded.
enum class KernelOrigin : uint8_t { Compiled, Disk, Archive };

/// A compiled and loaded kernel. Thread-safe.
class Kernel {
public:
  ~Kernel();
  const std::shared_ptr<const KernelInfo> &info() const;
  const std::shared_ptr<const ArgumentRules> &argumentRules() const {
    return rules;
  }
  const std::vector<StageTime> &compileTimes() const;
  KernelOrigin origin() const;
  /// Names the key that it is kept under; empty for a kernel of MLIR text.
  const std::string &digest() const;
  /// Bytes of what is loaded: object code, a cubin, or PTX.
  size_t codeBytes() const;
  /// Bytes that it takes on a GPU, as far as they are known: of its code, if
  /// that is a cubin, and of its launch graphs.
  size_t deviceBytes() const;
  /// The text (or code) of a stage of its compilation; an error that lists
  /// them. A kernel of MLIR text has none but the
  /// report of a driver.
  llvm::Expected<std::string> stage(std::string_view name) const;

  /// Workers of the engine that made it: threads, or SMs.
  int numWorkers() const;
  /// Which of its entries a launch of so many requests and queries of all
  /// starts, with automatic splits on all SMs: "paired" ones with clusters
  /// (Arguments::hasPairs) or "single" ones; "only" where there is no choice.
  std::string_view variant(int64_t batch, int64_t totalQueries) const;
  /// What a workspace has to be aligned to, in bytes.
  size_t workspaceAlignment() const;

  /// Bytes of workspace that a launch with these arguments needs: with
  /// automatic splits 2 partial slots a worker, otherwise row blocks x splits,
  /// and the workers' scratch. Reads no tensor.
  size_t workspaceBytes(const Arguments &arguments) const;
  /// The same for any launch of at most so many requests, queries of all
  /// requests, and splits (0: only automatic ones). Launches that are given a
  /// plan need that of the others alone.
  size_t workspaceBound(int64_t batch, int64_t totalQueries, int64_t maxSplits,
                        WorkspacePart part = WorkspacePart::All) const;

  /// On the host: runs on all workers and returns when done; `stream` is null.
  /// On a GPU: all tensors and the workspace are in memory of the device;
  /// starts the entries on `stream` (a CUstream of the device's primary
  /// context), waits for nothing, and may be captured into a graph, which is
  /// to be gone before the kernel.
  ///
  /// `workspace` needs workspaceBytes() bytes of workspaceAlignment(), of any
  /// contents. Allocates nothing. Launches of several threads may overlap: each
  /// needs a workspace of its own.
  ///
  /// `key`: of what the arguments and the workspace were made from, for
  /// repeat().
  llvm::Error launch(const Arguments &arguments, void *workspace,
                     size_t workspaceBytes, void *stream = nullptr,
                     const LaunchKey *key = nullptr) const;
  /// Does a launch of that key in that stream again; false, and nothing is
  /// done, if none is remembered.
  llvm::Expected<bool> repeat(const LaunchKey &key, void *stream) const;
  /// Checks all of a launch but its workspace: check() and checkContents() of
  /// its arguments, which are where launches have them. On a GPU it copies
  /// what it reads behind what is in the stream, and waits for that.
  llvm::Error checkContents(const Arguments &arguments, void *stream) const;

  /// Runs the entry that plans alone, into `plan`, of workspaceAlignment().
  /// Launches behind it on the stream may use that, if their arguments agree in
  /// all but tensors, and these in the lengths. An UnsupportedError if the
  /// kernel has no such entry.
  llvm::Error makePlan(const Arguments &arguments, void *plan, size_t planBytes,
                       void *stream) const;

private:
  friend class Engine;
  /// Checks what can be without a look at memory.
  llvm::Error check(const Arguments &arguments) const;
  int64_t workersOf(const Arguments &arguments) const;
  explicit Kernel(std::unique_ptr<KernelState> state);
  std::unique_ptr<KernelState> state;
  std::shared_ptr<const KernelInfo> description; ///< state's
  std::shared_ptr<const ArgumentRules> rules;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNEL_H
