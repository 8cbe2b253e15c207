//===- VerifyAlignment.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Memory that TMA cannot take, E6 of the case log, and results that are not
// stored in runs: copied and stored in smaller pieces where a spec does not
// promise alignment, and refused where it does.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

using llvm::Error;

namespace mla_jit::verify {

/// Queries, keys and results that begin `shift` bytes behind a multiple of 16,
/// which is not promised to be one.
static Error checkBase(CaseRun &run, const Problem &problem,
                       const Results &results, size_t shift) {
  TensorSet storage;
  LaunchOptions options;
  options.outShift = shift;
  options.bind = [&](LaunchArgs &arguments) -> Error {
    for (const char *name : {"q", "q_rope", "k", "k_rope"}) {
      if (!arguments.has(name))
        continue;
      Tensor tensor = arguments.tensor(name);
      size_t bytes = tensor.numElements() * byteSize(tensor.dtype);
      auto room = storage.add(name, tensor.dtype,
                              {tensor.numElements() + int64_t(shift)});
      if (!room)
        return room.takeError();
      auto *to = static_cast<uint8_t *>(room->data) + shift;
      std::copy_n(static_cast<const uint8_t *>(tensor.data), bytes, to);
      tensor.data = to;
      if (Error error = arguments.set(name, tensor))
        return error;
    }
    return Error::success();
  };
  Spec spec = problem.spec;
  spec.alignedStrides = false;
  auto other = run.runProblem(spec, run.testCase.shapes.front(),
                              problem.numSplits, options);
  if (!other)
    return other.takeError();
  return expectSameBits("an odd base against an aligned one", *other, results);
}

static void addBases(std::vector<Case> &cases) {
  for (int64_t numHeads : {16, 128})
    for (size_t shift : {8, 2}) {
      Case c;
      c.name =
          "E6.base" + std::to_string(shift) + "-h" + std::to_string(numHeads);
      c.spec = specOfHeads(numHeads);
      c.spec.ropeDim = shift == 2 ? 64 : 0;
      c.shapes = {lengths({130, 0, 65})};
      c.splits = {0, 3};
      c.check = [=](CaseRun &run, const Problem &problem,
                    const Results &results) {
        return checkBase(run, problem, results, shift);
      };
      cases.push_back(c);
    }
}

/// Requires that a launch with `name` 8 bytes behind a multiple of 16 is
/// refused.
static Error expectRefusal(CaseRun &run, const Problem &problem,
                           const LaunchOptions &options, llvm::StringRef name) {
  auto other = run.launch(problem, options);
  if (other)
    return failure("{0} at an odd multiple of 8 bytes was taken", name);
  bool refused = other.errorIsA<NotSupportedError>();
  std::string message = llvm::toString(other.takeError());
  if (!refused ||
      !llvm::StringRef(message).contains(("argument '" + name + "'").str()))
    return failure("requires a refusal of argument '{0}', but got: {1}", name,
                   message);
  return Error::success();
}

/// Launches whose keys or results are not where the kernel was promised them
/// are refused.
static Error checkBrokenPromises(CaseRun &run, const Problem &problem,
                                 const Results &) {
  LaunchOptions keys, out;
  keys.bind = [](LaunchArgs &arguments) {
    Tensor k = arguments.tensor("k");
    --k.shape[0]; // what follows is in bounds
    k.data = static_cast<uint8_t *>(k.data) + 8;
    return arguments.set("k", k);
  };
  if (Error error = expectRefusal(run, problem, keys, "k"))
    return error;
  out.outShift = 8;
  return expectRefusal(run, problem, out, "out");
}

static void addBrokenPromises(std::vector<Case> &cases) {
  for (int64_t numHeads : {16, 128}) {
    Case c;
    c.name = "E6.broken-promise-h" + std::to_string(numHeads);
    c.spec = specOfHeads(numHeads);
    c.shapes = {lengths({65})};
    c.note = "also keys, and results, 8 bytes further on";
    c.check = checkBrokenPromises;
    cases.push_back(c);
  }
}

void addAlignmentCases(std::vector<Case> &cases, const Machine &machine) {
  addBases(cases);
  if (machine.onGPU)
    addBrokenPromises(cases);
}

} // namespace mla_jit::verify
