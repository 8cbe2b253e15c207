//===- MLAGPUAttrs.td ------------------------------------ -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_GPU_ATTRS_TD
#define MLA_GPU_ATTRS_TD

include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class MLAGPU_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::mla_gpu";
  let genSpecializedAttr = 0;
}

def MLAGPU_Writer : MLAGPU_Enum<"Writer", "what writes the slots of a pipeline", [
  I32EnumAttrCase<"TMA", 0, "tma">,
  I32EnumAttrCase<"CpAsync", 1, "cp_async">,
  I32EnumAttrCase<"Threads", 2, "threads">]>;

def MLAGPU_Reduction : MLAGPU_Enum<"Reduction", "how values are reduced", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Sum", 1, "sum">]>;

def MLAGPU_MDim : MLAGPU_Enum<"MDim", "which dimension lies along M of an MMA", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Keys", 1, "keys">]>;

//===----------------------------------------------------------------------===//
// Fragment layouts: encodings of tensors
//===----------------------------------------------------------------------===//

class MLAGPU_Layout<string name, string keyword> : AttrDef<MLAGPU_Dialect, name,
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = keyword;
  let genVerifyDecl = 1;
}

def MLAGPU_MmaLayout : MLAGPU_Layout<"MmaLayout", "mma"> {
  let summary = "a tile spread over four warps as the accumulators of an MMA";
  let description = [{
    Tensors are rows x keys (scores, weights) or rows x columns of V (O) whichever
    way the hardware holds them. `m = rows`: dimension 0 lies along the
    instruction's M; `m = keys`: dimension 1 does, so the hardware computes the
    transposed product, and rows are its N, which need no padding to 64.

    `instr` is the shape of one instruction, M x N x K. Larger tiles are several,
    along both dimensions. N does not change which thread holds what, so a 16-bit
    tensor with `m = rows` is an operand of an MMA as it is.

    Example: `#mla_gpu.mma<m = rows, instr = [64, 256, 16]>`
  }];
  let parameters = (ins EnumParameter<MLAGPU_MDim>:$m,
                        ArrayRefParameter<"int64_t">:$instr);
  let assemblyFormat = "`<` `m` `=` $m `,` `instr` `=` `[` $instr `]` `>`";
  let extraClassDeclaration = [{
    bool isRowsAsM() const { return getM() == MDim::Rows; }
    /// Elements along dimension 0 and 1 that one instruction covers.
    int64_t getTile(unsigned dim) const {
      return getInstr()[(dim == 0) == isRowsAsM() ? 0 : 1];
    }
    /// Threads that share the elements of one row.
    int64_t getThreadsPerRow() const { return isRowsAsM() ? 4 : 32; }
  }];
}

def MLAGPU_SliceLayout : MLAGPU_Layout<"SliceLayout", "slice"> {
  let summary = "a vector that every thread holds where it holds the parent";
  let description = [{
    What is left of the parent layout when dimension `dim` is reduced: each thread
    holds the value of every row (`dim = 1`) or column (`dim = 0`) that it has
    elements of. All threads that share a row hold the same value.

    Example: `#mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>`
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::mla_gpu::MmaLayoutAttr":$parent);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `parent` `=` $parent `>`";
}

def MLAGPU_LanesLayout : MLAGPU_Layout<"LanesLayout", "lanes"> {
  let summary = "one value a row of each thread that shares the row";
  let description = [{
    A tensor rows x threads: element (r, i) is held by the i-th of the threads that
    share row r of the parent (4 where rows are M, 32 where keys are). Where a
    running sum is only needed at the end, it is kept like this, and the exchange
    between threads and warps is paid once instead of once a tile.

    Example: `#mla_gpu.lanes<parent = <m = rows, instr = [64, 64, 16]>>`
  }];
  let parameters = (ins "::mlir::mla_gpu::MmaLayoutAttr":$parent);
  let assemblyFormat = "`<` `parent` `=` $parent `>`";
}

#endif // MLA_GPU_ATTRS_TD
