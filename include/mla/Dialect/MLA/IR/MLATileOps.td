//===- MLATileOps.td ------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The tile level; included by MLAOps.td.

def MLA_F32Tensor : StaticShapeTensorOf<[F32]>;
def MLA_TileTensor : StaticShapeTensorOf<[BF16, F16, F32]>;

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def MLA_PlanOp : MLA_Op<"plan", [AttrSizedOperandSegments]> {
  let summary = "divides the visible work of a launch among workers";
  let description = [{
    Rows are (query, head) pairs that share a KV head, query-major: row r is query
    r / (heads / kv_heads). `tile` rows make a row block; a row block sees the
    tiles of keys that hold its mask's hull. An item is (request, KV head, row
    block), and weighs as many units as it sees tiles, at least one. Worker w of n
    owns the units [w u, (w + 1) u) with u = ceil(total / n).

    `split` says what a worker does of the items in its range: `whole`: the items
    that begin there, whole; `balanced`: just its units, so that a piece may end
    where the range ends; `row_local`: the pieces that begin there, where an item
    is cut in equal pieces of at least `split_tiles` tiles. A `splits` operand
    above 0 cuts every item into that many equal pieces at the most.

    `seq_lens` gives the keys of each request; `queries` the same number of
    queries for each (index), or `q_offsets` the first of each and the end.
    Negative lengths count as 0.

    Example:
    ```mlir
    func.func @f(%lens: memref<?xi32>, %n: index, %workers: index) {
      %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n)
        workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
        tile = 16 x 64 split = balanced split_tiles = 16
      return
    }
    ```

    Constraints:
    * (plan_c1) exactly one of `queries` and `q_offsets` is given.
    * (plan_c2) lengths and offsets are rank 1.
    * (plan_c3) heads is a positive multiple of kv_heads; tile and split_tiles are positive.
    * (plan_c4) the mask takes as many parameters as it names.
  }];
  let arguments = (ins
    Arg<MLA_IntMemRef, "", [MemRead]>:$seq_lens,
    Optional<Index>:$queries,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$q_offsets,
    Index:$workers,
    Optional<I32>:$splits,
    Variadic<I32>:$mask_params,
    MLA_MaskAttrInterface:$mask,
    I64Attr:$heads, I64Attr:$kv_heads, I64Attr:$block_m, I64Attr:$block_n,
    EnumProp<MLA_SplitPolicy>:$split, I64Attr:$split_tiles);
  let results = (outs MLA_PlanType:$plan);
  let assemblyFormat = [{
    `seq_lens` `(` $seq_lens `:` type($seq_lens) `)`
    (`queries` `(` $queries^ `)`)?
    (`q_offsets` `(` $q_offsets^ `:` type($q_offsets) `)`)?
    `workers` `(` $workers `)` (`splits` `(` $splits^ `)`)?
    `mask` `(` $mask (`,` $mask_params^)? `)`
    `heads` `=` $heads `kv_heads` `=` $kv_heads
    `tile` `=` $block_m `x` $block_n `split` `=` $split
    `split_tiles` `=` $split_tiles attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Query heads that share a KV head.
    int64_t getGroup() { return getHeads() / getKvHeads(); }
  }];
}

class MLA_WorkLoopOp<string mnemonic> : MLA_Op<mnemonic,
    [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let arguments = (ins MLA_PlanType:$plan, Index:$worker);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$plan `worker` `(` $worker `)` $body attr-dict";
  let hasVerifier = 1;
}

def MLA_ForWorkOp : MLA_WorkLoopOp<"for_work"> {
  let summary = "runs its body for each piece of work of one worker";
  let description = [{
    The region takes the item, the range of its tiles that is this piece (index,
    [first, end), possibly empty), and whether the piece is the whole item (i1).

    Example:
    ```mlir
    func.func @f(%plan: !mla.plan, %w: index) {
      mla.for_work %plan worker(%w) {
      ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
        mla.yield
      }
      return
    }
    ```

    Constraints:
    * (for_work_c1) the region takes (!mla.item, index, index, i1).
  }];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getItem() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getFirst() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getEnd() { return getBody().getArgument(2); }
    ::mlir::BlockArgument getWhole() { return getBody().getArgument(3); }
  }];
}

def MLA_ForSplitOp : MLA_WorkLoopOp<"for_split"> {
  let summary = "runs its body for each item that was split, once over all workers";
  let description = [{
    The region takes the item and the number of its pieces (index, at least 2).

    Example:
    ```mlir
    func.func @f(%plan: !mla.plan, %w: index) {
      mla.for_split %plan worker(%w) {
      ^bb0(%item: !mla.item, %pieces: index):
        mla.yield
      }
      return
    }
    ```

    Constraints:
    * (for_split_c1) the region takes (!mla.item, index).
  }];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getItem() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getPieces() { return getBody().getArgument(1); }
  }];
}

def MLA_FullTilesOp : MLA_Op<"full_tiles", [Pure]> {
  let summary = "the part of a range of tiles that needs no mask";
  let description = [{
    The sub-range [begin, end) of [first, last) whose tiles hold only keys that
    exist and that every row of the item sees. first <= begin <= end <= last; the
    range may be empty.

    Example:
    ```mlir
    func.func @f(%plan: !mla.plan, %item: !mla.item, %first: index, %last: index) -> index {
      %b, %e = mla.full_tiles %plan[%item] from %first to %last
      return %b : index
    }
    ```
  }];
  let arguments = (ins MLA_PlanType:$plan, MLA_ItemType:$item, Index:$first,
                       Index:$last);
  let results = (outs Index:$begin, Index:$end);
  let assemblyFormat = "$plan `[` $item `]` `from` $first `to` $last attr-dict";
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

def MLA_LoadQOp : MLA_Op<"load_q"> {
  let summary = "the packed query rows of an item";
  let description = [{
    Rows past the item's end hold any finite values. `q` is one tensor or latent
    and rope part, whose columns are put side by side.

    Example:
    ```mlir
    func.func @f(%item: !mla.item, %q: memref<?x?x16x576xbf16>) {
      %0 = mla.load_q %item from(%q : memref<?x?x16x576xbf16>) : tensor<16x576xbf16>
      return
    }
    ```

    Constraints:
    * (load_q_c1) q has a row dimension at least, and the result is rows x (width
      of all parts), of q's element type.
  }];
  let arguments = (ins MLA_ItemType:$item, Arg<MLA_FloatMemRef, "", [MemRead]>:$q,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$q_rope);
  let results = (outs MLA_TileTensor:$result);
  let assemblyFormat = [{
    $item `from` `(` $q `:` type($q) (`,` $q_rope^ `:` type($q_rope))? `)`
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def MLA_LoadKVOp : MLA_Op<"load_kv", [AttrSizedOperandSegments]> {
  let summary = "one tile of keys of an item's request";
  let description = [{
    Keys [tile * n, tile * n + n) of the request, where they exist and lie in the
    hull of what the item's rows see: slots outside hold nothing, and what is
    there in memory, or in the table for their pages, is never read.

    Without `table` and `csr`, k is dense: `[b, s, h_kv, d]`.

    Example:
    ```mlir
    func.func @f(%item: !mla.item, %t: index, %k: memref<?x64x1x576xbf16>,
                 %table: memref<?x?xi32>) {
      %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x576xbf16>)
        table(%table : memref<?x?xi32>) : !mla.kv_tile<64x576xbf16, v = 512>
      return
    }
    ```

    Constraints:
    * (load_kv_c1) the tile's width is that of all parts of k, of k's element type.
    * (load_kv_c2) `table` and `csr` exclude each other.
    * (load_kv_c3) V lies within the first part of k.
  }];
  let arguments = (ins MLA_ItemType:$item, Index:$tile,
    Arg<MLA_FloatMemRef, "", [MemRead]>:$k,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$k_rope,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$table,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$kv_indptr,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$kv_indices,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$table_rows);
  let results = (outs MLA_KVTileType:$result);
  let assemblyFormat = [{
    $item `[` $tile `]` `from` `(` $k `:` type($k) (`,` $k_rope^ `:` type($k_rope))? `)`
    (`table` `(` $table^ `:` type($table) `)`)?
    (`csr` `(` $kv_indptr^ `:` type($kv_indptr) `,` $kv_indices `:` type($kv_indices) `)`)?
    (`table_rows` `(` $table_rows^ `:` type($table_rows) `)`)?
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

def MLA_InitOp : MLA_Op<"init", [Pure]> {
  let summary = "the running state before the first tile";
  let description = [{
    O = 0 (rows x d_v), row maximum = -inf, row sum = 0.

    Example:
    ```mlir
    func.func @f() {
      %o, %m, %l = mla.init : tensor<16x512xf32>, tensor<16xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (init_c1) row maximum and row sum have O's rows.
  }];
  let results = (outs MLA_F32Tensor:$o, MLA_F32Tensor:$row_max, MLA_F32Tensor:$row_sum);
  let assemblyFormat = "attr-dict `:` type($o) `,` type($row_max) `,` type($row_sum)";
  let hasVerifier = 1;
}

def MLA_QKOp : MLA_Op<"qk", [Pure]> {
  let summary = "raw scores of a tile: Q K^T, accumulated in f32";
  let description = [{
    Columns of keys that the tile does not hold are undefined: a score must mask
    them.

    Example:
    ```mlir
    func.func @f(%q: tensor<16x576xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
      %s = mla.qk %q, %kt : tensor<16x576xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
      return
    }
    ```

    Constraints:
    * (qk_c1) the result is (rows of q) x (keys of the tile); widths agree.
  }];
  let arguments = (ins MLA_TileTensor:$q, MLA_KVTileType:$kv);
  let results = (outs MLA_F32Tensor:$result);
  let assemblyFormat = "$q `,` $kv attr-dict `:` type($q) `,` type($kv) `->` type($result)";
  let hasVerifier = 1;
}

def MLA_ScoreOp : MLA_Op<"score", [SingleBlock, RecursiveMemoryEffects,
    AllTypesMatch<["scores", "result"]>]> {
  let summary = "code on every score of a tile: scale, user code, mask";
  let description = [{
    The region computes one score from request, query head, position of the query,
    position of the key (i32) and the raw score (f32). A target clones it per
    vector or fragment, so its ops are elementwise and speculatable, or loads.

    Example:
    ```mlir
    func.func @f(%s: tensor<16x64xf32>, %item: !mla.item, %t: index, %scale: f32) {
      %0 = mla.score %s at %item[%t] {
      ^bb0(%b: i32, %h: i32, %q: i32, %k: i32, %x: f32):
        %y = arith.mulf %x, %scale : f32
        mla.yield %y : f32
      } : tensor<16x64xf32>
      return
    }
    ```

    Constraints:
    * (score_c1) the region is (i32, i32, i32, i32, f32) -> f32.
    * (score_c2) its ops are elementwise and speculatable, or `memref.load`.
  }];
  let arguments = (ins MLA_F32Tensor:$scores, MLA_ItemType:$item, Index:$tile);
  let results = (outs MLA_F32Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$scores `at` $item `[` $tile `]` $body attr-dict `:` type($scores)";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MLA_MaskOp : MLA_Op<"mask", [Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "-inf for every score of a key that its query does not see";
  let description = [{
    Applies the plan's mask, and masks keys that do not exist. Rows past the item's
    end are undefined.

    Example:
    ```mlir
    func.func @f(%s: tensor<16x64xf32>, %plan: !mla.plan, %item: !mla.item, %t: index) {
      %0 = mla.mask %s by %plan at %item[%t] : tensor<16x64xf32>
      return
    }
    ```

    Constraints:
    * (mask_c1) scores are rows x keys.
  }];
  let arguments = (ins MLA_F32Tensor:$scores, MLA_PlanType:$plan, MLA_ItemType:$item,
                       Index:$tile);
  let results = (outs MLA_F32Tensor:$result);
  let assemblyFormat = "$scores `by` $plan `at` $item `[` $tile `]` attr-dict `:` type($scores)";
  let hasVerifier = 1;
}

def MLA_SoftmaxStepOp : MLA_Op<"softmax_step", [Pure]> {
  let summary = "online softmax: probabilities of a tile and the new row state";
  let description = [{
    m' = max(m, row maximum of s), p = exp(s - m'), alpha = exp(m - m'),
    l' = alpha l + row sum of p. A row that has seen no key keeps m' = -inf, p = 0,
    alpha = 1 or 0, l' = 0: never NaN. P's element type is that of the result.

    Example:
    ```mlir
    func.func @f(%s: tensor<16x64xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
      %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x64xf32>
      return
    }
    ```

    Constraints:
    * (softmax_step_c1) p has the scores' shape; row state has their rows.
  }];
  let arguments = (ins MLA_F32Tensor:$scores, MLA_F32Tensor:$row_max, MLA_F32Tensor:$row_sum);
  let results = (outs MLA_TileTensor:$p, MLA_F32Tensor:$alpha,
                      MLA_F32Tensor:$new_max, MLA_F32Tensor:$new_sum);
  let assemblyFormat = [{
    $scores `,` $row_max `,` $row_sum attr-dict `:`
    custom<SoftmaxTypes>(type($scores), type($row_max), type($row_sum), type($p),
                         type($alpha), type($new_max), type($new_sum))
  }];
  let hasVerifier = 1;
}

def MLA_PVOp : MLA_Op<"pv", [Pure, AllTypesMatch<["o", "result"]>]> {
  let summary = "O' = diag(alpha) O + P V, accumulated in f32";
  let description = [{
    Only keys that the tile holds are read: garbage in other slots never reaches O.

    Example:
    ```mlir
    func.func @f(%p: tensor<16x64xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                 %o: tensor<16x512xf32>, %a: tensor<16xf32>) {
      %0 = mla.pv %p, %kt, %o rescale(%a) : tensor<16x64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (pv_c1) o is (rows of p) x (V's width), p has the tile's keys, alpha p's rows.
  }];
  let arguments = (ins MLA_TileTensor:$p, MLA_KVTileType:$kv, MLA_F32Tensor:$o,
                       MLA_F32Tensor:$alpha);
  let results = (outs MLA_F32Tensor:$result);
  let assemblyFormat = [{
    $p `,` $kv `,` $o `rescale` `(` $alpha `)` attr-dict `:`
    type($p) `,` type($kv) `,` type($o) `,` type($alpha)
  }];
  let hasVerifier = 1;
}

def MLA_FinalizeOp : MLA_Op<"finalize", [Pure, AllTypesMatch<["o", "out"]>,
    AllTypesMatch<["row_max", "row_sum", "lse"]>]> {
  let summary = "normalised output and log-sum-exp of the running state";
  let description = [{
    out = O / l, lse = m + ln l; (0, -inf) for a row that saw no key.

    Example:
    ```mlir
    func.func @f(%o: tensor<16x512xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
      %out, %lse = mla.finalize %o, %m, %l : tensor<16x512xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (finalize_c1) row state has O's rows.
  }];
  let arguments = (ins MLA_F32Tensor:$o, MLA_F32Tensor:$row_max, MLA_F32Tensor:$row_sum);
  let results = (outs MLA_F32Tensor:$out, MLA_F32Tensor:$lse);
  let assemblyFormat = [{
    $o `,` $row_max `,` $row_sum attr-dict `:` type($o) `,` type($row_max)
  }];
  let hasVerifier = 1;
}

def MLA_CombineOp : MLA_Op<"combine"> {
  let summary = "merges the partial results of a split item, in split order";
  let description = [{
    out = sum_i w_i out_i with w_i = exp(lse_i - lse) and lse = ln sum_i exp(lse_i),
    from the first piece to the last. (0, -inf) is the identity.

    Example:
    ```mlir
    func.func @f(%item: !mla.item, %n: index, %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
      %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
        : tensor<16x512xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (combine_c1) partials are [slots, rows, d_v] and [slots, rows] of the results' shapes.
  }];
  let arguments = (ins MLA_ItemType:$item, Index:$pieces,
    Arg<MLA_F32MemRef, "", [MemRead]>:$partial_out,
    Arg<MLA_F32MemRef, "", [MemRead]>:$partial_lse);
  let results = (outs MLA_F32Tensor:$out, MLA_F32Tensor:$lse);
  let assemblyFormat = [{
    $item `pieces` `(` $pieces `)` `from` `(` $partial_out `,` $partial_lse `:`
    type($partial_out) `,` type($partial_lse) `)` attr-dict `:` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

def MLA_StoreOp : MLA_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes an item's rows to the launch's result";
  let description = [{
    Rounds to the element type of the destination; writes the rows that exist and
    nothing else. A null `lse` pointer at launch means that it is not wanted.
    Values of lse are multiplied by `lse_scale`; -inf becomes `lse_empty`.

    Example:
    ```mlir
    func.func @f(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                 %out: memref<?x?x16x512xbf16>, %lse: memref<?x?x16xf32>) {
      mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>, %lse : memref<?x?x16xf32>)
        : tensor<16x512xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (store_c1) out has the tile's columns; lse values match its rows.
    * (store_c2) lse_scale and lse_empty are given together, and with `lse`.
  }];
  let arguments = (ins MLA_F32Tensor:$out_tile, MLA_F32Tensor:$lse_tile, MLA_ItemType:$item,
    Arg<MLA_FloatMemRef, "", [MemWrite]>:$out,
    Arg<Optional<MLA_F32MemRef>, "", [MemWrite]>:$lse,
    Optional<F32>:$lse_scale, Optional<F32>:$lse_empty);
  let assemblyFormat = [{
    $out_tile `,` $lse_tile `at` $item `to` `(` $out `:` type($out)
    (`,` $lse^ `:` type($lse))? `)` (`lse_scale` `(` $lse_scale^ `)`)?
    (`lse_empty` `(` $lse_empty^ `)`)? attr-dict `:` type($out_tile) `,` type($lse_tile)
  }];
  let hasVerifier = 1;
}

def MLA_StorePartialOp : MLA_Op<"store_partial"> {
  let summary = "writes a piece's normalised rows and their lse to its slot";
  let description = [{
    Example:
    ```mlir
    func.func @f(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                 %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
      mla.store_partial %o, %l at %item to(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
        : tensor<16x512xf32>, tensor<16xf32>
      return
    }
    ```

    Constraints:
    * (store_partial_c1) partials are [slots, rows, d_v] and [slots, rows] of the tiles' shapes.
  }];
  let arguments = (ins MLA_F32Tensor:$out_tile, MLA_F32Tensor:$lse_tile, MLA_ItemType:$item,
    Arg<MLA_F32MemRef, "", [MemWrite]>:$partial_out,
    Arg<MLA_F32MemRef, "", [MemWrite]>:$partial_lse);
  let assemblyFormat = [{
    $out_tile `,` $lse_tile `at` $item `to` `(` $partial_out `,` $partial_lse `:`
    type($partial_out) `,` type($partial_lse) `)` attr-dict `:` type($out_tile) `,` type($lse_tile)
  }];
  let hasVerifier = 1;
}
