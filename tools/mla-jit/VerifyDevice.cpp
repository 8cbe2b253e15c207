//===- VerifyDevice.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What only a GPU is asked: pools past 4 GiB (B1 of the case log), and sizes
// that take a CPU too long.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

using llvm::Error;

namespace mla_jit::verify {

//===----------------------------------------------------------------------===//
// B1: 32-bit products of addresses
//===----------------------------------------------------------------------===//

/// The smallest page whose offset in elements is at least 2^31, and the one
/// where that in bytes is (for elements of 2 bytes).
static std::pair<int64_t, int64_t> highPages(const Spec &spec) {
  int64_t elements =
      spec.pageSize * spec.numKVHeads * (spec.headDim - spec.ropeDim);
  int64_t limit = int64_t(1) << 31;
  return {(limit + elements - 1) / elements,
          (limit / 2 + elements - 1) / elements};
}

/// The same bits where pages are at the far end of a pool of more than 4 GiB,
/// in turn past 2^31 elements and 2^31 bytes.
static Error checkHighPages(CaseRun &run, const Problem &problem,
                            const Results &results) {
  auto [high, middle] = highPages(problem.spec);
  int64_t numPages = problem.inputs.view("k").shape[0];
  PagePlacement placement;
  placement.poolPages = high + numPages;
  for (int64_t page = 0; page < numPages; ++page)
    placement.pageOfOld.push_back((page % 2 ? high : middle) + page);
  LaunchOptions options;
  options.placement = &placement;
  auto other = run.launch(problem, options);
  if (!other)
    return other.takeError();
  return expectSameBits("high pages against low ones", *other, results);
}

static void addB1(std::vector<Case> &cases) {
  struct Kind {
    const char *name;
    int64_t numHeads, pageSize, ropeDim;
    DType dtype;
    KVLayout layout;
  };
  for (Kind kind :
       {Kind{"h16", 16, 64, 0, DType::BF16, KVLayout::Paged},
        {"h64", 64, 64, 0, DType::BF16, KVLayout::Paged},
        {"h128", 128, 64, 0, DType::BF16, KVLayout::Paged},
        {"h16-f16", 16, 64, 0, DType::F16, KVLayout::Paged},
        {"h128-f16", 128, 64, 0, DType::F16, KVLayout::Paged},
        {"h16-rope", 16, 64, 64, DType::BF16, KVLayout::Paged},
        {"h16-page1", 16, 1, 0, DType::BF16, KVLayout::Paged},
        {"h128-page1", 128, 1, 0, DType::BF16, KVLayout::Paged},
        {"h16-csr", 16, 64, 0, DType::BF16, KVLayout::CSR},
        {"h16-page256", 16, 256, 0, DType::BF16, KVLayout::Paged}}) {
    Case c;
    c.name = std::string("B1.") + kind.name;
    c.spec.numHeads = kind.numHeads;
    c.spec.pageSize = kind.pageSize;
    c.spec.ropeDim = kind.ropeDim;
    c.spec.qDType = c.spec.kvDType = c.spec.outDType = kind.dtype;
    c.spec.layout = kind.layout;
    c.shapes = {lengths({65, 1000})};
    c.splits = {0, 3};
    c.note = "also in a pool past 4 GiB";
    c.check = checkHighPages;
    cases.push_back(c);
  }
}

//===----------------------------------------------------------------------===//
// Large sizes
//===----------------------------------------------------------------------===//

static void addSizes(std::vector<Case> &cases) {
  for (int64_t numHeads : {2, 16}) {
    Case c;
    c.name = "list.200k-h" + std::to_string(numHeads);
    c.spec.numHeads = numHeads;
    c.shapes = {lengths({200000, 5, 0, 131072 + 17})};
    c.splits = {0, 7};
    c.slow = true;
    cases.push_back(c);
  }
  Case c;
  c.name = "list.batch4096";
  c.spec.numHeads = 16;
  GenOptions shape = lengths({});
  for (int64_t b = 0; b < 4096; ++b)
    shape.seqLens.push_back(b % 11 == 7 ? 0 : b * 37 % 150);
  c.shapes = {shape};
  c.splits = {0, 1, 2};
  c.slow = true;
  cases.push_back(c);

  c.name = "list.batch512-h128";
  c.spec.numHeads = 128;
  c.shapes[0].seqLens.resize(512);
  c.shapes[0].sQ = 2;
  c.spec.queries = 2;
  cases.push_back(c);
}

void addDeviceCases(std::vector<Case> &cases, const Machine &machine) {
  if (!machine.onGPU)
    return;
  addB1(cases);
  addSizes(cases);
}

} // namespace mla_jit::verify
