//===- ArgumentsTest.cpp - Tests of launch arguments ----------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Every refusal names the argument, what it requires, and what was given.
//
//===----------------------------------------------------------------------===//

#include "SmallKernel.h"

#include <cmath>
#include <limits>
#include <set>

using namespace mla_jit;

/// A kernel for each spec, compiled once.
static std::shared_ptr<Kernel> kernelOf(const Spec &spec) {
  static std::map<std::string, std::shared_ptr<Kernel>> kernels;
  std::string key = std::string(toString(spec.layout)) + spec.mask +
                    (spec.raggedQ ? "r" : "") + (spec.tableRows ? "t" : "") +
                    (spec.ropeDim ? "p" : "") +
                    std::string(toString(spec.tableDType));
  auto &kernel = kernels[key];
  if (!kernel)
    kernel = llvm::cantFail(smallEngine().prepare(spec));
  return kernel;
}

static SmallLaunch launchOf(const Spec &spec,
                            std::vector<int64_t> seqLens = {37, 5, 0}) {
  GenOptions shape;
  shape.seqLens = std::move(seqLens);
  shape.sQ = 2;
  return SmallLaunch(kernelOf(spec), spec, shape);
}

//===----------------------------------------------------------------------===//
// One argument
//===----------------------------------------------------------------------===//

class SetTest : public testing::Test {
protected:
  std::string set(const char *name, const Tensor &tensor) {
    return textOf(launch.arguments.set(name, tensor));
  }
  std::string set(const char *name, double scalar) {
    return textOf(launch.arguments.set(name, scalar));
  }
  Tensor view(const char *name) { return launch.tensors.view(name); }

  SmallLaunch launch = launchOf(smallSpec());
};

TEST_F(SetTest, UnknownName) {
  expectParts(set("sink", view("q")), {"no argument 'sink'"});
  expectParts(set("window", 3), {"no argument 'window'"});
}

TEST_F(SetTest, TensorOrScalar) {
  expectParts(set("num_splits", view("q")),
              {"'num_splits'", "requires a scalar", "bf16[3, 2, 4, 72]"});
  expectParts(set("q", 3), {"'q'", "requires a tensor", "3"});
}

TEST_F(SetTest, ElementType) {
  Tensor q = view("q");
  q.dtype = DType::F16;
  expectParts(set("q", q), {"'q'", "bf16", "f16[3, 2, 4, 72]"});
  Tensor lengths = view("seq_lens");
  lengths.dtype = DType::I64;
  expectParts(set("seq_lens", lengths), {"'seq_lens'", "i32", "i64[3]"});
  expectParts(set("table", Tensor()), {"'table'", "i32", "none"});
}

TEST_F(SetTest, Rank) {
  Tensor q = view("q");
  q.rank = 3;
  expectParts(set("q", q), {"'q'", "rank 4", "bf16[3, 2, 4]"});
}

TEST_F(SetTest, Shape) {
  Tensor q = view("q");
  q.shape[2] = 5;
  expectParts(set("q", q), {"'q'", "dimension 2 to be 4", "bf16[3, 2, 5, 72]"});
  Tensor k = view("k");
  k.shape[1] = 64;
  expectParts(set("k", k), {"'k'", "dimension 1 to be 16", "64"});
  k = view("k");
  k.shape[0] = -1;
  expectParts(set("k", k), {"'k'", "dimension 0", "at least 0", "-1"});
}

TEST_F(SetTest, Stride) {
  Tensor q = view("q");
  q.stride[3] = 2;
  expectParts(set("q", q), {"'q'", "dimension 3", "stride 1", "2"});
  // Others are free, and that of a dimension of 1 means nothing.
  q = view("q");
  q.stride[1] = 4096;
  EXPECT_EQ(set("q", q), "");
}

TEST_F(SetTest, Memory) {
  Tensor out = view("out");
  out.data = nullptr;
  expectParts(set("out", out), {"'out'", "null"});
  Tensor lse = view("lse");
  lse.data = nullptr;
  EXPECT_EQ(set("lse", lse), "") << "lse may be left out";
  Tensor k = view("k");
  k.data = static_cast<char *>(k.data) + 1;
  expectParts(set("k", k), {"'k'", "aligned", "2 bytes"});
  // Nothing to read: null is right.
  Tensor empty(nullptr, DType::BF16, {0, 2, 4, 72});
  EXPECT_EQ(set("q", empty), "");
}

TEST_F(SetTest, Scalars) {
  for (double bad : {0.5, 1e10, -1e10, std::nan("")})
    expectParts(set("num_splits", bad), {"'num_splits'", "32-bit integer"});
  EXPECT_EQ(set("num_splits", 3), "");
  EXPECT_EQ(launch.arguments.scalar("num_splits", 9), 3);
  EXPECT_EQ(launch.arguments.scalar("window", 9), 9);
  EXPECT_EQ(set("softmax_scale", 0.1), "");
  EXPECT_EQ(launch.arguments.scalar("softmax_scale", 9), 0.1f);
}

//===----------------------------------------------------------------------===//
// All arguments
//===----------------------------------------------------------------------===//

TEST(CheckTest, Missing) {
  Spec spec = smallSpec();
  spec.mask = "sliding_window";
  auto kernel = kernelOf(spec);
  Arguments arguments(kernel->info());
  SmallLaunch complete = launchOf(spec);
  // Whatever is missing is named; some scalars have a default.
  const std::set<std::string> defaults = {"num_splits", "lse_scale",
                                          "lse_empty"};
  for (const ArgumentInfo &argument : kernel->info()->arguments) {
    std::string message = textOf(arguments.check());
    if (!defaults.count(argument.name)) {
      expectParts(message, {("'" + argument.name + "'").c_str(), "missing",
                            argument.isTensor ? "a tensor" : "a scalar"});
      llvm::cantFail(argument.isTensor
                         ? arguments.set(argument.name,
                                         complete.tensors.view(argument.name))
                         : arguments.set(argument.name, 1));
    }
  }
  EXPECT_EQ(textOf(arguments.check()), "");
  EXPECT_EQ(arguments.scalar("lse_scale", 0), 1);
  EXPECT_EQ(arguments.scalar("lse_empty", 0),
            -std::numeric_limits<double>::infinity());
}

namespace {
/// A tensor with one dimension changed, and the parts of the message.
struct SizeCase {
  const char *name;
  int dim;
  int64_t size;
};
} // namespace

/// Changes one size and returns what check() says.
static std::string checkWithSize(SmallLaunch launch, SizeCase c) {
  Tensor tensor = launch.arguments.tensor(c.name);
  EXPECT_TRUE(tensor.given()) << c.name;
  tensor.shape[c.dim] = c.size;
  llvm::cantFail(launch.arguments.set(c.name, tensor));
  return textOf(launch.arguments.check());
}

TEST(CheckTest, SizesAgree) {
  Spec rope = smallSpec();
  rope.ropeDim = 8;
  for (SizeCase c : {SizeCase{"q", 0, 2},
                     {"out", 0, 2},
                     {"out", 1, 1},
                     {"lse", 0, 4},
                     {"lse", 1, 3},
                     {"q_rope", 1, 1},
                     {"k_rope", 0, 1},
                     {"table", 0, 2}})
    expectParts(checkWithSize(launchOf(rope), c),
                {c.name, "requires dimension", std::to_string(c.size).c_str()});

  Spec ragged = smallSpec(KVLayout::CSR);
  ragged.raggedQ = true;
  for (SizeCase c : {SizeCase{"out", 0, 1},
                     {"lse", 0, 1},
                     {"q_offsets", 0, 3},
                     {"kv_indptr", 0, 3}})
    expectParts(checkWithSize(launchOf(ragged), c),
                {c.name, "requires dimension"});

  Spec rows = smallSpec();
  rows.tableRows = true;
  expectParts(checkWithSize(launchOf(rows), {"table_rows", 0, 2}),
              {"'table_rows'", "dimension 0 to be 3"});
  // The table has as many rows as it likes then.
  EXPECT_EQ(checkWithSize(launchOf(rows), {"table", 0, 4}), "");

  expectParts(checkWithSize(launchOf(smallSpec(KVLayout::Dense)), {"k", 0, 2}),
              {"'k'", "dimension 0 to be 3"});
}

TEST(CheckTest, NumSplits) {
  SmallLaunch launch = launchOf(smallSpec());
  llvm::cantFail(launch.arguments.set("num_splits", -1));
  expectParts(textOf(launch.arguments.check()),
              {"'num_splits'", "at least 0", "-1"});
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// Writes an integer into an input and returns what checkContents() says.
static std::string checkWith(const Spec &spec, const char *name, int64_t index,
                             int64_t value) {
  SmallLaunch launch = launchOf(spec);
  EXPECT_EQ(textOf(launch.arguments.checkContents()), "");
  Tensor tensor = launch.arguments.tensor(name);
  EXPECT_TRUE(tensor.given()) << name;
  writeElement(tensor.data, tensor.dtype, index, value);
  return textOf(launch.arguments.checkContents());
}

TEST(ContentsTest, Lengths) {
  for (KVLayout layout : {KVLayout::Paged, KVLayout::CSR, KVLayout::Dense})
    expectParts(checkWith(smallSpec(layout), "seq_lens", 1, -7),
                {"'seq_lens'", "at least 0", "entry 1 is -7"});
  // 3 pages are needed, 2 columns spare.
  EXPECT_EQ(checkWith(smallSpec(), "seq_lens", 1, 5), "");
  expectParts(checkWith(smallSpec(), "seq_lens", 1, 81),
              {"'seq_lens'", "at most 80", "5 pages of 16", "entry 1 is 81"});
  expectParts(checkWith(smallSpec(KVLayout::Dense), "seq_lens", 2, 41),
              {"'seq_lens'", "at most 40", "entry 2 is 41"});
  expectParts(checkWith(smallSpec(KVLayout::CSR), "seq_lens", 1, 49),
              {"'seq_lens'", "at most 48", "entry 1 is 49"});
  expectParts(checkWith(smallSpec(), "seq_lens", 0, INT32_MAX),
              {"'seq_lens'", "at most 80"});
}

TEST(ContentsTest, Tables) {
  int64_t numPages = launchOf(smallSpec()).arguments.tensor("k").shape[0];
  std::string range = "[0, " + std::to_string(numPages) + ")";
  for (int64_t bad : {int64_t(-1), numPages, int64_t(INT32_MAX)}) {
    expectParts(checkWith(smallSpec(), "table", 2, bad),
                {"'table'", range.c_str(), "page 2 of request 0",
                 std::to_string(bad).c_str()});
    expectParts(checkWith(smallSpec(KVLayout::CSR), "kv_indices", 1, bad),
                {"'kv_indices'", range.c_str(), "page 1 of request 0"});
  }
  Spec wide = smallSpec();
  wide.tableDType = DType::I64;
  expectParts(checkWith(wide, "table", 0, int64_t(1) << 40),
              {"'table'", "1099511627776"});
  // What no query sees may be anything: past the end, ...
  EXPECT_EQ(checkWith(smallSpec(), "table", 3, -1), "");
  // ... of an empty request, ...
  EXPECT_EQ(checkWith(smallSpec(), "table", 10, -1), "");
  // ... and before the window of 20 keys: 37 keys, so from 16.
  Spec window = smallSpec();
  window.mask = "sliding_window";
  EXPECT_EQ(checkWith(window, "table", 0, -1), "");
  expectParts(checkWith(window, "table", 1, -1),
              {"'table'", "page 1 of request 0"});
}

TEST(ContentsTest, Offsets) {
  Spec ragged = smallSpec();
  ragged.raggedQ = true;
  // Offsets are 2, 4, 6, 8 of 10 queries.
  expectParts(checkWith(ragged, "q_offsets", 0, -1),
              {"'q_offsets'", "10 queries", "-1"});
  expectParts(checkWith(ragged, "q_offsets", 1, 1),
              {"'q_offsets'", "rising", "entries 0 and 1"});
  expectParts(checkWith(ragged, "q_offsets", 3, 11),
              {"'q_offsets'", "rising", "11"});
  Spec csr = smallSpec(KVLayout::CSR);
  expectParts(checkWith(csr, "kv_indptr", 1, -1), {"'kv_indptr'", "rising"});
  expectParts(checkWith(csr, "kv_indptr", 1, 1000),
              {"'kv_indptr'", "rising", "1000"});
  Spec rows = smallSpec();
  rows.tableRows = true;
  expectParts(checkWith(rows, "table_rows", 0, -1),
              {"'table_rows'", "[0, 6)", "entry 0 is -1"});
  expectParts(checkWith(rows, "table_rows", 1, 6),
              {"'table_rows'", "[0, 6)", "entry 1 is 6"});
}
