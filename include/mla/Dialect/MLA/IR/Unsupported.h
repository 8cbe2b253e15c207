//===- Unsupported.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tells errors about what a target cannot compute from those about wrong IR.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_MLA_IR_UNSUPPORTED_H
#define MLA_DIALECT_MLA_IR_UNSUPPORTED_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::mla {

/// Marks an error as that of a valid problem or schedule that there is no
/// lowering of: whoever asked can do without. All other errors are mistakes, of
/// the IR or of the compiler.
InFlightDiagnostic markUnsupported(InFlightDiagnostic diagnostic);

/// Whether it is marked.
bool isUnsupported(Diagnostic &diagnostic);

} // namespace mlir::mla

#endif // MLA_DIALECT_MLA_IR_UNSUPPORTED_H
