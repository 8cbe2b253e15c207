//===- VerifyResults.h ------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the launches of `mla-jit verify` write, in memory that shows writes
// beside it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_VERIFYRESULTS_H
#define MLA_JIT_TOOLS_VERIFYRESULTS_H

#include "mla/Problem/Tensor.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace mla_jit::verify {

struct LaunchOptions;

/// Memory with canaries on both sides.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t numBytes);

  uint8_t *data() const { return bytes.get() + kGuard; }
  size_t size() const { return numBytes; }
  /// With the canaries.
  llvm::MutableArrayRef<uint8_t> whole() const {
    return {bytes.get(), numBytes + 2 * kGuard};
  }
  /// Whether both canaries live.
  bool intact() const;

private:
  static constexpr size_t kGuard = 4096;
  struct Free {
    void operator()(uint8_t *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<uint8_t, Free> bytes;
  size_t numBytes;
};

/// What one launch wrote. Rows count over q's leading dimensions.
class Results {
public:
  Tensor out, lse; ///< lse has null data if it was not asked for

  int64_t numHeads() const { return out.shape[out.rank - 2]; }
  int64_t numRows() const;
  double outAt(int64_t row, int64_t head, int64_t column) const;
  double lseAt(int64_t row, int64_t head) const;
  /// The bytes of out of one row and head.
  llvm::ArrayRef<uint8_t> outBytes(int64_t row, int64_t head) const;
  llvm::ArrayRef<uint8_t> lseBytes(int64_t row, int64_t head) const;

  std::vector<std::shared_ptr<GuardedBuffer>> memory;
};

/// A pre-filled tensor between canaries, of q's leading shape.
Tensor makeOutput(DType dtype, const Tensor &q, int64_t columns,
                  const LaunchOptions &options,
                  std::shared_ptr<GuardedBuffer> &memory);
/// Whether the gaps after the rows of a tensor still hold the pre-fill.
bool gapsIntact(const Tensor &tensor, int headAxis, int64_t columns,
                int64_t gap);

} // namespace mla_jit::verify

#endif // MLA_JIT_TOOLS_VERIFYRESULTS_H
