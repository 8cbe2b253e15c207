//===- VerifyCompile.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// `mla-jit verify --compile`: the suite's kernels, compiled only.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "mla/Target/PtxReport.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace mla_jit::verify {

/// The stage that says most about a kernel on this machine.
static const char *lastStage(const Machine &machine) {
  if (!machine.onGPU)
    return "obj";
  auto assembler = mlir::mla::findAssembler();
  if (assembler)
    return "report";
  llvm::consumeError(assembler.takeError());
  return "ptx";
}

/// The lines of a report that name what costs speed.
static Error checkReport(llvm::StringRef report) {
  std::vector<std::string> losses;
  for (llvm::StringRef line : llvm::split(report, '\n'))
    if (line.consume_front("loss: "))
      losses.push_back(line.str());
  return losses.empty() ? Error::success()
                        : failure("{0}", llvm::join(losses, "; "));
}

Expected<bool> compileCases(PublicEngine &engine, llvm::ArrayRef<Case> cases,
                            llvm::raw_ostream &table) {
  llvm::StringRef stage = lastStage(engine.machine());
  std::set<std::string> kernels;
  int passed = 0, failed = 0, refused = 0;
  for (const Case &testCase : cases) {
    Spec spec = testCase.spec;
    TensorSet unused;
    if (auto score = addScoreMod(testCase.score, spec, unused); !score)
      return score.takeError();
    auto printRow = [&](const char *result) {
      table << formatv("{0,-28} {1,-84} {2}\n", testCase.name,
                       describe(testCase), result);
      table.flush();
    };
    Error error = [&]() -> Error {
      // Problems of one tile level are one kernel.
      auto tile = engine.compile(spec, "tile");
      if (!tile)
        return tile.takeError();
      if (!kernels.insert(*tile).second)
        return Error::success();
      auto text = engine.compile(spec, stage.data());
      if (!text)
        return text.takeError();
      if (stage == "report")
        if (Error error = checkReport(*text))
          return error;
      ++passed;
      printRow("ok");
      return Error::success();
    }();
    if (!error)
      continue;
    bool isRefusal = error.isA<NotSupportedError>();
    ++(isRefusal ? refused : failed);
    printRow(isRefusal ? "not supported" : "FAILED");
    table << "  " << llvm::toString(std::move(error)) << "\n";
  }
  table << formatv("{0} kernels up to stage {1}, {2} failed, {3} cases not "
                   "supported\n",
                   passed + failed, stage, failed, refused);
  return failed == 0;
}

} // namespace mla_jit::verify
