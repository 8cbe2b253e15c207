//===- Unsupported.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

static constexpr StringLiteral kMark = "mla.unsupported";

InFlightDiagnostic mla::markUnsupported(InFlightDiagnostic diagnostic) {
  if (Diagnostic *inner = diagnostic.getUnderlyingDiagnostic())
    inner->getMetadata().push_back(DiagnosticArgument(kMark));
  return diagnostic;
}

bool mla::isUnsupported(Diagnostic &diagnostic) {
  return llvm::any_of(
      diagnostic.getMetadata(), [](DiagnosticArgument &argument) {
        return argument.getKind() ==
                   DiagnosticArgument::DiagnosticArgumentKind::String &&
               argument.getAsString() == kMark;
      });
}
