//===- MLAGPUPlanOps.td ---------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The work of a launch, as CTAs divide it; included by MLAGPUOps.td. What is
// divided, `mla.plan` says, as at the tile level. `mla-gpu-expand-plan` makes
// scans of these ops.

include "mla/Dialect/MLA/IR/MLATypes.td"

/// Lists of the workspace: 8 fields an entry.
def MLAGPU_List : MemRefRankOf<[I32], [2]>;

class MLAGPU_PlanOp<string mnemonic, list<Trait> traits = []>
    : MLAGPU_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let hasVerifier = 1;
}

def MLAGPU_PlanWorkOp : MLAGPU_PlanOp<"plan_work", [AttrSizedOperandSegments]> {
  let summary = "finds a CTA's pieces of a plan, by all threads of the CTA";
  let description = [{
    Writes them to the list, one behind the other at [begin, end) of it, and only
    there. Every CTA does it for itself, from the lengths alone, which its scans read
    again and again. A plan without `splits`, or with 0 of them, decides whether
    row blocks are done whole, in equal pieces or in equal ranges of all tiles.

    `row_blocks` CTAs side by side do neighbouring row blocks of one request, so that
    they share its keys through L2.

    With `pairs`, where there are CTAs for two pieces of each row block and lengths are
    near to even, CTAs 2i and 2i + 1 do the two halves of one, which they merge by
    themselves (`mla_gpu.exchange`).

    With `splits` the last CTA, which has the least to do, also lists what
    `mla_gpu.plan_splits` would, and their number: for those that merge and could not find
    it before the CTAs that work end.

    Example:
    ```mlir
    func.func @f(%lens: memref<?xi32>, %n: index, %cta: index, %ctas: index, %list: memref<?x8xi32>) {
      %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n)
        workers(%ctas) mask(#mla.causal) heads = 128 kv_heads = 1
        tile = 64 x 64 split = balanced split_tiles = 1
      %begin, %end = mla_gpu.plan_work %plan worker(%cta) row_blocks = 2 to %list : memref<?x8xi32>
      return
    }
    ```

    Constraints:
    * (plan_work_c1) the plan is an `mla.plan` of the function.
    * (plan_work_c2) the list has 8 fields an entry, and `row_blocks` is positive.
    * (plan_work_c3) is outside of roles, loops and branches.
    * (plan_work_c4) the list of splits has 8 fields an entry, too.
    * (plan_work_c5) `pairs` is given with row_blocks = 1.
  }];
  let arguments = (ins MLA_PlanType:$plan, Index:$worker, I64Attr:$row_blocks,
                       UnitAttr:$pairs,
                       MLAGPU_List:$list, Optional<MLAGPU_List>:$split_list,
                       Optional<MLAGPU_List>:$split_count);
  let results = (outs Index:$begin, Index:$end);
  let assemblyFormat = [{
    $plan `worker` `(` $worker `)` `row_blocks` `=` $row_blocks (`pairs` $pairs^)?
    `to` $list
    (`splits` `(` $split_list^ `,` $split_count `:` type($split_list) `,`
    type($split_count) `)`)? attr-dict `:` type($list)
  }];
}

def MLAGPU_PlanSplitsOp : MLAGPU_PlanOp<"plan_splits"> {
  let summary = "lists what the CTAs of a plan split, by all threads of the CTA";
  let description = [{
    What `mla_gpu.plan_work` splits for any worker of the same plan: the row blocks whose
    partial results are to be merged. Every CTA writes the same list; the result is the
    number of its entries.

    Example:
    ```mlir
    func.func @f(%lens: memref<?xi32>, %n: index, %ctas: index, %list: memref<?x8xi32>) {
      %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n)
        workers(%ctas) mask(#mla.causal) heads = 128 kv_heads = 1
        tile = 64 x 64 split = balanced split_tiles = 1
      %count = mla_gpu.plan_splits %plan row_blocks = 2 to %list : memref<?x8xi32>
      return
    }
    ```

    Constraints:
    * (plan_splits_c1) the plan is an `mla.plan` of the function.
    * (plan_splits_c2) the list has 8 fields an entry, and `row_blocks` is positive.
    * (plan_splits_c3) is outside of roles, loops and branches.
    * (plan_splits_c5) `pairs` is given with row_blocks = 1.
  }];
  let arguments = (ins MLA_PlanType:$plan, I64Attr:$row_blocks,
                       UnitAttr:$pairs, MLAGPU_List:$list);
  let results = (outs Index:$count);
  let assemblyFormat = [{
    $plan `row_blocks` `=` $row_blocks (`pairs` $pairs^)? `to` $list attr-dict `:` type($list)
  }];
}

class MLAGPU_ItemOp<string mnemonic> : MLAGPU_PlanOp<mnemonic> {
  let arguments = (ins Arg<MLAGPU_List, "", [MemRead]>:$list, Index:$index);
  let assemblyFormat = "$list `[` $index `]` attr-dict `:` type($list)";
}

def MLAGPU_WorkItemOp : MLAGPU_ItemOp<"work_item"> {
  let summary = "reads an entry of a work list";
  let description = [{
    `tiles` tiles of keys from `first_tile` on (counted from the request's first key) for
    the row block that begins at packed row `first_row` of a request and KV head. The
    results go to `slot` of the partial results, or, where that is -1 and this is
    the row block's only piece, to its output. (Of half of a pair it is -2, see
    `mla_gpu.paired_item`.) Without tiles, `tiles` = 0, there is a
    result too: zeros and -inf. `keys` and `queries` are the lengths of the request.

    Only fields that are used are loaded.

    Example:
    ```mlir
    func.func @f(%list: memref<?x8xi32>, %i: index) {
      %request, %kv_head, %first_row, %first_tile, %tiles, %slot, %keys, %queries =
        mla_gpu.work_item %list[%i] : memref<?x8xi32>
      return
    }
    ```

    Constraints:
    * (work_item_c1) the list has 8 fields an entry.
  }];
  let results = (outs Index:$request, Index:$kv_head, Index:$first_row,
    Index:$first_tile, Index:$tiles, Index:$slot, Index:$keys, Index:$queries);
}

def MLAGPU_PairedItemOp : MLAGPU_ItemOp<"paired_item"> {
  let summary = "whether an entry of a work list is half of a pair";
  let description = [{
    The other half is that of the CTA's neighbour in the cluster, which comes to it, too,
    and both have nothing else to do: they merge it by `mla_gpu.exchange`. Only of lists
    that `mla_gpu.plan_work` made with `pairs`.

    Example:
    ```mlir
    func.func @f(%list: memref<?x8xi32>, %i: index) {
      %paired = mla_gpu.paired_item %list[%i] : memref<?x8xi32>
      return
    }
    ```

    Constraints:
    * (paired_item_c1) the list has 8 fields an entry.
  }];
  let results = (outs I1:$paired);
}

def MLAGPU_SplitItemOp : MLAGPU_ItemOp<"split_item"> {
  let summary = "reads an entry of a list of what is split";
  let description = [{
    The row block that begins at packed row `first_row` of a request and KV head has
    `pieces` partial results: piece 0 in slot `first_slot`, piece i > 0 in
    `next_slot` + (i - 1) * `slot_stride`. `queries` is the request's.

    Only fields that are used are loaded.

    Example:
    ```mlir
    func.func @f(%list: memref<?x8xi32>, %i: index) {
      %request, %kv_head, %first_row, %pieces, %first_slot, %next_slot, %slot_stride, %queries =
        mla_gpu.split_item %list[%i] : memref<?x8xi32>
      return
    }
    ```

    Constraints:
    * (split_item_c1) the list has 8 fields an entry.
  }];
  let results = (outs Index:$request, Index:$kv_head, Index:$first_row,
    Index:$pieces, Index:$first_slot, Index:$next_slot, Index:$slot_stride,
    Index:$queries);
}
