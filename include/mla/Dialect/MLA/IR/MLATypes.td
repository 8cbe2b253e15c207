//===- MLATypes.td --------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TYPES_TD
#define MLA_TYPES_TD

include "mla/Dialect/MLA/IR/MLADialect.td"
include "mlir/IR/AttrTypeBase.td"

class MLA_Type<string name, string keyword> : TypeDef<MLA_Dialect, name> {
  let mnemonic = keyword;
}

def MLA_PlanType : MLA_Type<"Plan", "plan"> {
  let summary = "the division of a launch's visible work among workers";
  let description = [{
    A value of the lengths: which row blocks there are, which tiles of keys each
    sees, and which worker does which. Made by `mla.plan`; a target may compute
    it on the fly in every worker or keep it in memory.
  }];
}

def MLA_ItemType : MLA_Type<"Item", "item"> {
  let summary = "one row block of one request and KV head";
  let description = [{
    Names rows (packed (query, head) pairs) and keys for the tile ops: the request,
    its number of queries and keys, the KV head, the first row, and, inside
    `mla.for_work`, the piece of the row block that this worker does.
  }];
}

def MLA_KVTileType : MLA_Type<"KVTile", "kv_tile"> {
  let summary = "a tile of keys, and of values as a view of it";
  let description = [{
    Opaque: only `mla.qk` and `mla.pv` read it. K is `keys x head_dim`; V is its
    first `v` columns, the point of MLA: a key is read once for both.

    Example: `!mla.kv_tile<64x576xbf16, v = 512>`
  }];
  let parameters = (ins "int64_t":$keys, "int64_t":$head_dim,
                        "::mlir::Type":$element_type, "int64_t":$head_dim_v);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // MLA_TYPES_TD
