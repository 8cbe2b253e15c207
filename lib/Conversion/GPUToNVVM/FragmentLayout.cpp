//===- FragmentLayout.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"

using namespace mlir;
using namespace mlir::mla_gpu;

FragmentLayout::FragmentLayout(RankedTensorType type) : type(type) {
  Attribute encoding = type.getEncoding();
  rowsAsM = getMmaLayout(encoding).isRowsAsM();
  lanes = isa<LanesLayoutAttr>(encoding);
  auto slice = dyn_cast<SliceLayoutAttr>(encoding);
  bool hasRows = !slice || slice.getDim() == 1;
  bool hasColumns = !lanes && (!slice || slice.getDim() == 0);
  int64_t rows = hasRows ? type.getDimSize(0) : 0;
  int64_t columns = hasColumns ? type.getShape().back() : 0;
  mTiles = (rowsAsM ? rows : columns) / 64;
  nGroups = (rowsAsM ? columns : rows) / 8;
}

int64_t FragmentLayout::getNumElements() const {
  return (mTiles ? 2 * mTiles : 1) * (nGroups ? 2 * nGroups : 1);
}

bool FragmentLayout::isPacked() const {
  Type element = type.getElementType();
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
}

ThreadPart FragmentLayout::getThreadPart(unsigned dim) const {
  if (lanes && dim == 1)
    return ThreadPart::Sharer;
  bool alongM = type.getRank() == 1 ? mTiles > 0 : (dim == 0) == rowsAsM;
  return alongM ? ThreadPart::AlongM : ThreadPart::AlongN;
}

int64_t FragmentLayout::getBase(unsigned dim, int64_t element) const {
  bool matrix = mTiles && nGroups;
  int64_t pair = element / (matrix ? 4 : 2), bit = element % 2;
  switch (getThreadPart(dim)) {
  case ThreadPart::AlongM:
    return matrix ? pair / nGroups * 64 + element % 4 / 2 * 8
                  : pair * 64 + bit * 8;
  case ThreadPart::AlongN:
    return (matrix ? pair % nGroups : pair) * 8 + bit;
  case ThreadPart::Sharer:
    return 0;
  }
  llvm_unreachable("all parts are covered");
}

int64_t FragmentLayout::getCoordinate(unsigned dim, int64_t element,
                                      int64_t thread) const {
  int64_t warp = thread / 32, g = thread % 32 / 4, q = thread % 4;
  int64_t base = getBase(dim, element);
  switch (getThreadPart(dim)) {
  case ThreadPart::AlongM:
    return base + 16 * warp + g;
  case ThreadPart::AlongN:
    return base + 2 * q;
  case ThreadPart::Sharer:
    return rowsAsM ? q : 8 * warp + g;
  }
  llvm_unreachable("all parts are covered");
}

int64_t FragmentLayout::getSliceElement(unsigned dim, int64_t element) const {
  if (lanes)
    return element;
  int64_t t = element / 4 / nGroups, j = element / 4 % nGroups;
  bool keepsM = (dim == 1) == rowsAsM;
  return keepsM ? t * 2 + element % 4 / 2 : j * 2 + element % 2;
}

bool FragmentLayout::holdsSameAs(const FragmentLayout &other) const {
  return type.getShape() == other.type.getShape() && lanes == other.lanes &&
         mTiles == other.mTiles && nGroups == other.nGroups &&
         (rowsAsM == other.rowsAsM || (type.getRank() == 1));
}

SmallVector<Type> mla_gpu::getFragmentTypes(RankedTensorType type) {
  FragmentLayout layout(type);
  Type i32 = IntegerType::get(type.getContext(), 32);
  int64_t count = layout.getNumElements();
  if (layout.isPacked())
    return SmallVector<Type>(count / 2, i32);
  Type element = type.getElementType();
  return SmallVector<Type>(count, element.isIndex() ? i32 : element);
}
