//===- KernelDescription.h ------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The compiler's `#mla.kernel` as plain data, which is all that launches need.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELDESCRIPTION_H
#define MLA_JIT_SRC_KERNELDESCRIPTION_H

#include "Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace mla_jit {

/// The `mla.kernel` of the module; an error if there is none or it has what
/// cannot be passed.
llvm::Expected<std::shared_ptr<KernelInfo>>
describeKernel(mlir::ModuleOp module);

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELDESCRIPTION_H
