//===- MLAGPUDialect.td ---------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_GPU_DIALECT_TD
#define MLA_GPU_DIALECT_TD

include "mlir/IR/OpBase.td"

def MLAGPU_Dialect : Dialect {
  let name = "mla_gpu";
  let cppNamespace = "::mlir::mla_gpu";
  let summary = "A decode kernel as roles that hand tiles to each other";
  let description = [{
    What one CTA of a GPU does, as a kernel engineer would draw it: *roles*
    (groups of warps) that hand tiles in shared memory to each other through
    *pipelines*, asynchronous matrix multiplications on those tiles, and
    `arith` and `math` on tensors whose encoding says which thread holds what.

    Inside a role, program order holds, as if the role were one thread; between
    roles, only pipelines order anything. Names no register, barrier, phase or
    thread: those, and every fence, are the next lowering's.

    docs/gpu-dialect.md gives the reasons, `mla-gpu-verify-protocol` checks that
    the roles of a kernel can neither deadlock nor overwrite each other's tiles.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class MLAGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<MLAGPU_Dialect, mnemonic, traits>;

#endif // MLA_GPU_DIALECT_TD
