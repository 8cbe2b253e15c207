//===- Registration.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The one place that knows every dialect, extension, pass and phase; shared by
// mla-opt, mla-lsp-server, mla-reduce and the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_PIPELINES_REGISTRATION_H
#define MLA_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
namespace mla {

/// The dialects that the levels from problem to llvm use, and their interfaces.
void registerDialects(DialectRegistry &registry);

/// The passes and the phases, for command lines and textual pipelines. Once a
/// process.
void registerPasses();

} // namespace mla
} // namespace mlir

#endif // MLA_PIPELINES_REGISTRATION_H
