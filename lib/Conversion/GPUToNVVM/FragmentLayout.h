//===- FragmentLayout.h --------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Which elements of a tensor a thread of a warpgroup holds. With warp w, lane
// l, g = l / 4 and q = l % 4, each coordinate lies either
//   along M: 64 t + 8 i + (16 w + g), or
//   along N: 8 j + i + 2 q,
// with i = 0 or 1, as the accumulators of an MMA do. A matrix has one
// coordinate of each; a vector, or the rows of `lanes`, one of them.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_GPUTONVVM_FRAGMENTLAYOUT_H
#define MLA_CONVERSION_GPUTONVVM_FRAGMENTLAYOUT_H

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"

namespace mlir::mla_gpu {

/// What the part of a coordinate that depends on the thread is.
enum class ThreadPart {
  AlongM, ///< 16 w + g
  AlongN, ///< 2 q
  Sharer, ///< number among the threads that share a row
};

class FragmentLayout {
public:
  /// Of a tensor whose encoding is one of this dialect's layouts.
  explicit FragmentLayout(RankedTensorType type);

  RankedTensorType getType() const { return type; }
  bool isRowsAsM() const { return rowsAsM; }
  /// Elements of one thread, of which registers hold one or two.
  int64_t getNumElements() const;
  /// Two elements lie in one register, the first in its low half.
  bool isPacked() const;

  /// The part of an element's coordinate that all threads share.
  int64_t getBase(unsigned dim, int64_t element) const;
  /// And the part that depends on the thread.
  ThreadPart getThreadPart(unsigned dim) const;
  /// Both together, of a thread of the warpgroup.
  int64_t getCoordinate(unsigned dim, int64_t element, int64_t thread) const;

  /// For a matrix or lanes: the element's place in the slice that is left
  /// without dimension `dim`.
  int64_t getSliceElement(unsigned dim, int64_t element) const;

  /// Of a matrix: 64-element tiles along M, 8-element groups along N.
  int64_t getMTiles() const { return mTiles; }
  int64_t getNGroups() const { return nGroups; }
  /// Element i (0 to 3) of M tile t and N group j; i / 2 goes along M.
  int64_t getElement(int64_t t, int64_t j, int64_t i) const {
    return (t * nGroups + j) * 4 + i;
  }

  /// Whether two layouts put the same elements into the same registers.
  bool holdsSameAs(const FragmentLayout &other) const;

private:
  RankedTensorType type;
  bool rowsAsM;
  bool lanes;
  int64_t mTiles = 0, nGroups = 0; ///< 0: no such coordinate
};

/// The types of the registers that hold a tensor's elements of one thread.
/// `index` is i32; 16-bit floats lie in pairs in i32.
SmallVector<Type> getFragmentTypes(RankedTensorType type);

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_GPUTONVVM_FRAGMENTLAYOUT_H
