//===- FragmentLayoutTest.cpp ---------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Which thread holds what, against the formulas of the hardware's accumulators,
// which are written out here once more.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Conversion/GPUToNVVM/FragmentLayout.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace {

constexpr int64_t kThreads = 128;
using Place = std::pair<int64_t, int64_t>;

class FragmentLayoutTest : public ::testing::Test {
protected:
  FragmentLayoutTest() { context.loadDialect<MLAGPUDialect>(); }

  MmaLayoutAttr mma(MDim m, int64_t n) {
    return MmaLayoutAttr::get(&context, m, {64, n, 16});
  }
  FragmentLayout layout(ArrayRef<int64_t> shape, Attribute encoding,
                        Type element = {}) {
    return FragmentLayout(RankedTensorType::get(
        shape, element ? element : Type(Float32Type::get(&context)), encoding));
  }

  /// How many threads hold each element; and no register of one thread does
  /// so twice.
  static std::map<Place, int> holders(const FragmentLayout &layout) {
    std::map<Place, int> result;
    for (int64_t thread = 0; thread < kThreads; ++thread) {
      std::set<Place> own;
      for (int64_t i = 0; i < layout.getNumElements(); ++i) {
        int64_t column = layout.getType().getRank() == 1
                             ? 0
                             : layout.getCoordinate(1, i, thread);
        own.insert({layout.getCoordinate(0, i, thread), column});
      }
      EXPECT_EQ(int64_t(own.size()), layout.getNumElements());
      for (Place place : own)
        ++result[place];
    }
    return result;
  }

  static void expectHolders(const FragmentLayout &layout, int64_t rows,
                            int64_t columns, int threads) {
    std::map<Place, int> found = holders(layout);
    EXPECT_EQ(int64_t(found.size()), rows * columns);
    for (auto [place, count] : found) {
      EXPECT_EQ(count, threads);
      EXPECT_LT(place.first, rows);
      EXPECT_LT(place.second, columns);
    }
  }

  MLIRContext context;
};

TEST_F(FragmentLayoutTest, RowsAsM) {
  FragmentLayout fragment = layout({128, 48}, mma(MDim::Rows, 16));
  expectHolders(fragment, 128, 48, 1);
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    int64_t warp = thread / 32, g = thread % 32 / 4, q = thread % 4, n = 0;
    for (int64_t tile = 0; tile < 2; ++tile)
      for (int64_t group = 0; group < 6; ++group)
        for (int64_t i = 0; i < 4; ++i, ++n) {
          EXPECT_EQ(fragment.getElement(tile, group, i), n);
          EXPECT_EQ(fragment.getCoordinate(0, n, thread),
                    64 * tile + 16 * warp + g + 8 * (i / 2));
          EXPECT_EQ(fragment.getCoordinate(1, n, thread),
                    8 * group + 2 * q + i % 2);
        }
  }
}

TEST_F(FragmentLayoutTest, KeysAsM) {
  FragmentLayout fragment = layout({24, 128}, mma(MDim::Keys, 8));
  expectHolders(fragment, 24, 128, 1);
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    int64_t warp = thread / 32, g = thread % 32 / 4, q = thread % 4, n = 0;
    for (int64_t tile = 0; tile < 2; ++tile)
      for (int64_t group = 0; group < 3; ++group)
        for (int64_t i = 0; i < 4; ++i, ++n) {
          EXPECT_EQ(fragment.getElement(tile, group, i), n);
          EXPECT_EQ(fragment.getCoordinate(1, n, thread),
                    64 * tile + 16 * warp + g + 8 * (i / 2));
          EXPECT_EQ(fragment.getCoordinate(0, n, thread),
                    8 * group + 2 * q + i % 2);
        }
  }
}

TEST_F(FragmentLayoutTest, SlicesAreHeldByAllThatShareThem) {
  for (MDim m : {MDim::Rows, MDim::Keys})
    for (int64_t dim : {0, 1}) {
      auto slice = SliceLayoutAttr::get(&context, dim, mma(m, 64));
      bool alongM = (dim == 1) == (m == MDim::Rows);
      expectHolders(layout({128}, slice), 128, 1, alongM ? 4 : 32);
    }
}

TEST_F(FragmentLayoutTest, LanesAreHeldOnce) {
  expectHolders(
      layout({64, 4}, LanesLayoutAttr::get(&context, mma(MDim::Rows, 64))), 64,
      4, 1);
  expectHolders(
      layout({16, 32}, LanesLayoutAttr::get(&context, mma(MDim::Keys, 16))), 16,
      32, 1);
}

// An element of a matrix and what it is reduced to or scaled by are in the same
// thread, at the number that the layout says.
TEST_F(FragmentLayoutTest, SliceElements) {
  for (MDim m : {MDim::Rows, MDim::Keys}) {
    FragmentLayout matrix = layout({128, 64}, mma(m, 64));
    for (unsigned dim : {0, 1}) {
      FragmentLayout slice =
          layout({dim == 1 ? 128 : 64},
                 SliceLayoutAttr::get(&context, dim, mma(m, 64)));
      for (int64_t thread : {0, 5, 77, 127})
        for (int64_t i = 0; i < matrix.getNumElements(); ++i)
          EXPECT_EQ(
              slice.getCoordinate(0, matrix.getSliceElement(dim, i), thread),
              matrix.getCoordinate(1 - dim, i, thread));
    }
  }
}

TEST_F(FragmentLayoutTest, Registers) {
  auto count = [&](ArrayRef<int64_t> shape, Attribute encoding, Type type) {
    return getFragmentTypes(RankedTensorType::get(shape, type, encoding));
  };
  Builder b(&context);
  MmaLayoutAttr rows = mma(MDim::Rows, 64), keys = mma(MDim::Keys, 16);
  Type i32 = b.getI32Type();
  EXPECT_EQ(count({64, 64}, rows, b.getF32Type()),
            SmallVector<Type>(32, b.getF32Type()));
  EXPECT_EQ(count({64, 64}, rows, b.getBF16Type()), SmallVector<Type>(16, i32));
  EXPECT_EQ(count({16, 64}, keys, b.getF16Type()), SmallVector<Type>(4, i32));
  EXPECT_EQ(count({16, 64}, keys, b.getIndexType()), SmallVector<Type>(8, i32));
  EXPECT_EQ(count({16}, SliceLayoutAttr::get(&context, 1, keys), b.getI1Type()),
            SmallVector<Type>(4, b.getI1Type()));
}

// Rows of scores and of O are in the same threads, whatever their N is.
TEST_F(FragmentLayoutTest, HoldsSame) {
  auto slice = [&](MDim m, int64_t n) {
    return layout({64}, SliceLayoutAttr::get(&context, 1, mma(m, n)));
  };
  EXPECT_TRUE(slice(MDim::Rows, 64).holdsSameAs(slice(MDim::Rows, 256)));
  EXPECT_FALSE(slice(MDim::Rows, 64).holdsSameAs(slice(MDim::Keys, 64)));
  EXPECT_TRUE(layout({64, 64}, mma(MDim::Rows, 16))
                  .holdsSameAs(layout({64, 64}, mma(MDim::Rows, 64))));
  EXPECT_FALSE(layout({64, 64}, mma(MDim::Rows, 64))
                   .holdsSameAs(layout({64, 64}, mma(MDim::Keys, 64))));
  // Columns of rows as M lie as rows of keys as M do.
  EXPECT_TRUE(
      layout({64}, SliceLayoutAttr::get(&context, 0, mma(MDim::Rows, 64)))
          .holdsSameAs(slice(MDim::Keys, 64)));
}

} // namespace
