//===- RunReport.h -------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What run says of a launch.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNREPORT_H
#define MLA_JIT_TOOLS_RUNREPORT_H

#include "Execution.h"

#include <optional>

namespace mla_jit {

/// One line on the shape of a problem: "2 requests of 17 to 4096 keys, ...".
std::string describeProblem(const Spec &spec, const TensorSet &inputs);

/// The report of one execution, whose launch is done.
struct RunReport {
  RunReport(const Problem &problem, const Execution &execution)
      : problem(problem), execution(execution) {}
  void print(llvm::raw_ostream &stream) const;

  const Problem &problem;
  const Execution &execution;
  std::vector<double> launchTimes; ///< seconds
  std::optional<oracle::Comparison> comparison;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNREPORT_H
