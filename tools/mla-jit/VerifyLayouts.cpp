//===- VerifyLayouts.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where keys, queries and results lie in memory: B2 to B4 and E6 of the case
// log, and every layout against the plain one, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "llvm/Support/MathExtras.h"

using llvm::Error;

namespace mla_jit::verify {

/// Requires the bits of another spec or shape of the same requests.
static Error expectBitsOf(CaseRun &run, const Problem &problem,
                          const Results &results, const Spec &spec,
                          const GenOptions &shape, llvm::StringRef what) {
  auto other = run.runProblem(spec, shape, problem.numSplits);
  if (!other)
    return other.takeError();
  return expectSameBits(what, results, *other);
}

//===----------------------------------------------------------------------===//
// B2: block tables
//===----------------------------------------------------------------------===//

/// Fills the table past each request's pages; `value` is given the page that
/// the other request has first.
static Error setTableTail(Problem &problem,
                          llvm::function_ref<int64_t(int64_t)> value) {
  Tensor table = problem.inputs.view("table");
  for (int64_t row = 0; row < table.shape[0]; ++row) {
    int64_t used = llvm::divideCeil(integerAt(problem, "seq_lens", row),
                                    problem.spec.pageSize);
    int64_t otherRow = (row + 1) % table.shape[0];
    int64_t otherPage = static_cast<int64_t>(
        readElement(table.data, table.dtype, otherRow * table.stride[0]));
    for (int64_t column = used; column < table.shape[1]; ++column)
      writeElement(table.data, table.dtype, row * table.stride[0] + column,
                   value(otherPage));
  }
  return Error::success();
}

static void addB2(std::vector<Case> &cases) {
  // 5 pages; with tiles of 128 keys the last tile would reach into a sixth.
  GenOptions exact = lengths({257, 100});
  exact.spareColumns = 0;
  GenOptions wide = exact;
  wide.spareColumns = 3;

  struct Kind {
    const char *name;
    KVLayout layout;
    DType ints;
    bool tile128;
    int64_t pageSize = 64, numHeads = 16;
  };
  for (Kind kind :
       {Kind{"", KVLayout::Paged, DType::I32, false},
        {"-tile128", KVLayout::Paged, DType::I32, true},
        {"-i64", KVLayout::Paged, DType::I64, false},
        {"-csr", KVLayout::CSR, DType::I32, true},
        {"-csr-i64", KVLayout::CSR, DType::I64, false},
        // The last tile has pages that no key lies in.
        {"-page16", KVLayout::Paged, DType::I32, false, 16},
        {"-page16-csr", KVLayout::CSR, DType::I32, false, 16},
        {"-page32-h128", KVLayout::Paged, DType::I32, false, 32, 128}}) {
    Case c;
    c.name = std::string("B2.exact") + kind.name;
    c.spec = specOfHeads(kind.numHeads);
    c.spec.pageSize = kind.pageSize;
    c.spec.layout = kind.layout;
    c.spec.tableDType = c.spec.lengthDType = kind.ints;
    if (kind.tile128)
      c.scheduleEdits = {{"block_n", "128"}};
    GenOptions alone = lengths({257});
    alone.spareColumns = alone.sparePages = 0;
    c.shapes = {exact, alone};
    c.splits = {0, 1, 3};
    cases.push_back(c);
    if (kind.layout == KVLayout::CSR)
      continue;

    struct Tail {
      const char *name;
      std::function<int64_t(int64_t)> value;
    };
    for (const Tail &tail : {Tail{"max", [](int64_t) { return 0x7FFFFFFF; }},
                             {"minus1", [](int64_t) { return -1; }},
                             {"other", [](int64_t page) { return page; }}}) {
      c.name = std::string("B2.tail-") + tail.name + kind.name;
      c.shapes = {wide};
      c.edit = [=](Problem &problem) {
        return setTableTail(problem, tail.value);
      };
      c.check = [=](CaseRun &run, const Problem &problem,
                    const Results &results) {
        return expectBitsOf(run, problem, results, problem.spec, exact,
                            "a wide table against an exact one");
      };
      cases.push_back(c);
    }
  }
  Case c;
  c.name = "B2.strided-table";
  c.spec = specOfHeads(16);
  c.shapes = {wide};
  c.shapes[0].tableGap = 7;
  c.splits = {0, 1, 3};
  c.check = [=](CaseRun &run, const Problem &problem, const Results &results) {
    return expectBitsOf(run, problem, results, problem.spec, exact,
                        "against an exact table");
  };
  cases.push_back(c);
}

//===----------------------------------------------------------------------===//
// B3: pools that are views
//===----------------------------------------------------------------------===//

/// The keys as big[:, 1] of big[pages, 2, page_size, d], the other half NaN.
static Error checkSecondHalf(CaseRun &run, const Problem &problem,
                             const Results &results) {
  TensorSet storage;
  LaunchOptions options;
  options.bind = [&](LaunchArgs &arguments) -> Error {
    for (const char *name : {"k", "k_rope"}) {
      if (!arguments.has(name))
        continue;
      Tensor k = arguments.tensor(name);
      int64_t page = k.shape[1] * k.shape[2] * k.shape[3];
      auto big = storage.add(name, k.dtype, {k.shape[0], 2, page});
      if (!big)
        return big.takeError();
      llvm::fill(storage.storage(name), 0xFF);
      size_t pageBytes = page * byteSize(k.dtype);
      auto *to = static_cast<uint8_t *>(big->data);
      auto *from = static_cast<const uint8_t *>(k.data);
      for (int64_t p = 0; p < k.shape[0]; ++p)
        std::copy_n(from + p * pageBytes, pageBytes,
                    to + (2 * p + 1) * pageBytes);
      k.data = to + pageBytes;
      k.stride[0] = 2 * page;
      if (Error error = arguments.set(name, k))
        return error;
    }
    return Error::success();
  };
  auto other = run.launch(problem, options);
  if (!other)
    return other.takeError();
  return expectSameBits("a view against a contiguous pool", *other, results);
}

static void addB3(std::vector<Case> &cases) {
  for (int64_t ropeDim : {0, 64}) {
    std::string suffix = ropeDim ? "-rope" : "";
    Case c;
    c.spec = specOfHeads(16);
    c.spec.ropeDim = ropeDim;
    c.shapes = {lengths({130})};
    c.splits = {0, 1, 3};

    c.name = "B3.interleaved-second" + suffix;
    c.check = checkSecondHalf;
    cases.push_back(c);

    struct Gaps {
      const char *name;
      int64_t token, page;
    };
    for (Gaps gaps : {Gaps{"interleaved-first", 0, 64},
                      {"stride640", 64, 0},
                      {"stride577", 1, 0},
                      {"odd", 3, 5}}) {
      GenOptions plain = c.shapes[0];
      Case strided = c;
      strided.name = std::string("B3.") + gaps.name + suffix;
      strided.shapes[0].tokenGap = gaps.token;
      strided.shapes[0].pageGap = gaps.page;
      strided.check = [=](CaseRun &run, const Problem &problem,
                          const Results &results) {
        return expectBitsOf(run, problem, results, problem.spec, plain,
                            "strides against a contiguous pool");
      };
      cases.push_back(strided);
    }
  }
}

//===----------------------------------------------------------------------===//
// B4: page sizes
//===----------------------------------------------------------------------===//

static void addB4(std::vector<Case> &cases) {
  struct Kind {
    int64_t pageSize, numHeads = 16;
  };
  for (Kind kind : {Kind{1},
                    {2},
                    {16},
                    {32},
                    {48},
                    {61},
                    {64},
                    {69},
                    {96},
                    {128},
                    {256},
                    {16, 128},
                    {32, 128},
                    {96, 128}}) {
    Case c;
    c.name = "B4.page" + std::to_string(kind.pageSize);
    if (kind.numHeads != 16)
      c.name += "-h" + std::to_string(kind.numHeads);
    c.spec = specOfHeads(kind.numHeads);
    c.spec.pageSize = kind.pageSize;
    c.shapes = {lengths({130}), lengths({130, 0, 517, 64}, 2)};
    c.splits = {0, 1, 3};
    c.check = [](CaseRun &run, const Problem &problem, const Results &results) {
      Spec page64 = problem.spec;
      page64.pageSize = 64;
      bool one = problem.inputs.view("seq_lens").shape[0] == 1;
      return expectBitsOf(run, problem, results, page64,
                          run.testCase.shapes[one ? 0 : 1],
                          "against pages of 64");
    };
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// All layouts
//===----------------------------------------------------------------------===//

/// The same requests in a plain layout give the same bits.
static Error checkPlain(CaseRun &run, const Problem &problem,
                        const Results &results) {
  Spec plain = specOfHeads(problem.spec.numHeads);
  plain.ropeDim = problem.spec.ropeDim;
  const GenOptions &shape = run.testCase.shapes.front();
  GenOptions plainShape = lengths(shape.seqLens, shape.sQ);
  auto other = run.runProblem(plain, plainShape, problem.numSplits);
  if (!other)
    return other.takeError();
  int64_t first = problem.spec.raggedQ ? shape.spareQRows : 0;
  for (int64_t row = 0; row < other->numRows(); ++row)
    if (Error error = expectSameRow("against the plain layout", results,
                                    first + row, *other, row))
      return error;
  return Error::success();
}

static void addAllLayouts(std::vector<Case> &cases) {
  for (KVLayout layout : {KVLayout::Dense, KVLayout::Paged, KVLayout::CSR})
    for (bool tableRows : {false, true})
      for (bool ragged : {false, true})
        for (bool rope : {false, true}) {
          if (tableRows && layout == KVLayout::Dense)
            continue;
          Case c;
          c.name = "layout." + std::string(toString(layout)) +
                   (tableRows ? "-rows" : "") + (ragged ? "-ragged" : "") +
                   (rope ? "-rope" : "");
          c.spec = specOfHeads(16);
          c.spec.layout = layout;
          c.spec.tableRows = tableRows;
          c.spec.raggedQ = ragged;
          c.spec.ropeDim = rope ? 64 : 0;
          // Each type of integers with each layout.
          c.spec.tableDType = ragged != rope ? DType::I64 : DType::I32;
          c.spec.lengthDType = ragged ? DType::I64 : DType::I32;
          c.shapes = {lengths({130, 0, 65, 257}, 3)};
          c.splits = {0, 1, 3};
          c.check = checkPlain;
          cases.push_back(c);
        }
}

/// Queries and results in other places: the gaps between rows stay as they
/// were.
static void addQueryLayouts(std::vector<Case> &cases) {
  struct Kind {
    const char *name;
    bool headMajor;
    int64_t gap;
  };
  for (bool ragged : {false, true})
    for (Kind kind : {Kind{"head-major", true, 0},
                      {"gaps", false, 3},
                      {"head-major-gaps", true, 64}}) {
      Case c;
      c.name = std::string("layout.q-") + kind.name + (ragged ? "-ragged" : "");
      c.spec = specOfHeads(16);
      c.spec.raggedQ = ragged;
      c.spec.lengthDType =
          ragged ? DType::I64 : DType::I32; // as a kernel above
      c.spec.tableDType = c.spec.lengthDType;
      c.shapes = {lengths({130, 0, 65, 257}, 3)};
      c.shapes[0].headMajorQ = kind.headMajor;
      c.shapes[0].qGap = kind.gap;
      c.splits = {0, 3};
      c.check = [=](CaseRun &run, const Problem &problem,
                    const Results &results) -> Error {
        if (Error error = checkPlain(run, problem, results))
          return error;
        LaunchOptions options;
        options.headMajorOut = kind.headMajor;
        options.outGap = kind.gap;
        auto other = run.launch(problem, options);
        if (!other)
          return other.takeError();
        return expectSameBits("strided results against plain ones", *other,
                              results);
      };
      cases.push_back(c);
    }
}

void addLayoutCases(std::vector<Case> &cases) {
  addB2(cases);
  addB3(cases);
  addB4(cases);
  addAllLayouts(cases);
  addQueryLayouts(cases);
}

} // namespace mla_jit::verify
