//===- MLADialect.td ------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DIALECT_TD
#define MLA_DIALECT_TD

include "mlir/IR/OpBase.td"

def MLA_Dialect : Dialect {
  let name = "mla";
  let cppNamespace = "::mlir::mla";
  let summary = "Attention decode: the problem, and its tiles";
  let description = [{
    Two levels of one computation, `out = softmax(scale * q k^T + mods) v` for
    the few query tokens of a decode step over a long KV cache:

    * the *problem* level is one op, `mla.decode`, on memrefs;
    * the *tile* level is what one worker (a thread of the host, a CTA of a
      GPU) does with tiles of keys: `mla.for_work`, `mla.load_kv`, `mla.qk`,
      `mla.score`, `mla.softmax_step`, `mla.pv`... on tensors, with `scf` loops.

    docs/dialect.md gives the reasons.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Module attribute: the machine that the module is compiled for
    /// (`#mla.target`). The only machine fact that a pass may read.
    static constexpr ::llvm::StringLiteral kTarget = "mla.target";
    /// Module attribute: how the runtime launches the result (`#mla.kernel`).
    static constexpr ::llvm::StringLiteral kKernel = "mla.kernel";
    /// Function attribute: position of an entry in launch order (an integer).
    static constexpr ::llvm::StringLiteral kEntry = "mla.entry";
    /// Argument attribute: the name that the runtime binds the argument by.
    static constexpr ::llvm::StringLiteral kName = "mla.name";
    /// Argument attribute of a tensor map: how it describes the tensor that the
    /// argument is named by (`#mla.tensor_map`).
    static constexpr ::llvm::StringLiteral kTensorMap = "mla.tensor_map";
    /// Function attribute: the `#mla.schedule` that an entry was tiled by.
    static constexpr ::llvm::StringLiteral kSchedule = "mla.schedule";

    void registerAttributes();
    void registerTypes();
  }];
}

class MLA_Op<string mnemonic, list<Trait> traits = []>
    : Op<MLA_Dialect, mnemonic, traits>;

#endif // MLA_DIALECT_TD
