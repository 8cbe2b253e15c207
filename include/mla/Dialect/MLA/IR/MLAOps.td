//===- MLAOps.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_OPS_TD
#define MLA_OPS_TD

include "mla/Dialect/MLA/IR/MLAAttrs.td"
include "mla/Dialect/MLA/IR/MLADialect.td"
include "mla/Dialect/MLA/IR/MLAMasks.td"
include "mla/Dialect/MLA/IR/MLATypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def MLA_IntMemRef : MemRefOf<[I32, I64]>;
def MLA_FloatMemRef : MemRefOf<[BF16, F16, F32, F8E4M3FN]>;
def MLA_F32MemRef : MemRefOf<[F32]>;

//===----------------------------------------------------------------------===//
// Problem level
//===----------------------------------------------------------------------===//

def MLA_DecodeOp : MLA_Op<"decode", [AttrSizedOperandSegments]> {
  let summary = "attention of a decode step: what to compute";
  let description = [{
    `out = softmax(scale * q k^T + mods) v` for every query of every request,
    where V is the first `head_dim_v` columns of K. Destination style: writes
    `out` and, where given, `lse` (f32): the natural logarithm times `lse_scale`
    (1 / ln 2 for base 2). A query that sees no key gets `out = +0`,
    `lse = lse_empty`. Without these two, 1 and -inf. Scores and sums are f32.

    | clause | operands | shape |
    |---|---|---|
    | `q` | q, or latent and rope part | `[b, s_q, h_q, d]`, or `[total_q, h_q, d]` with `q_offsets` |
    | `k` | k, or latent and rope part | paged `[pages, page_size, h_kv, d]`, dense `[b, s, h_kv, d]` |
    | `v` | values that are not a view of k | as k |
    | `table` | page of each `page_size` keys | `[b, columns]` int |
    | `csr` | indptr, page indices | `[b + 1]`, `[n]` int |
    | `table_rows` | request to row of the table | `[b]` int |
    | `seq_lens` | keys of each request | `[b]` int |
    | `q_offsets` | first query of each request, and the end | `[b + 1]` int |
    | `indices` | sparse: physical rows each query sees | `[total_q, topk]` int |
    | `topk_lens` | sparse: how many of them | `[total_q]` int |
    | `sink` | per head, joins the denominator | `[h_q]` |
    | `k_scales` | a factor per key | `[pages, page_size]` f32 |
    | `scale` | softmax scale | f32 |
    | `num_splits` | pieces a row block; 0: automatic | i32 |
    | `mask` | a mask and its parameters | i32 each |
    | `out` | destination | as q, with `head_dim_v` columns |
    | `lse` | destination, may be a null pointer at launch; `lse_scale`, `lse_empty` | as q, without d; f32 |

    Widths and head counts are static, everything else may be dynamic. `int` is
    i32 or i64. The last dimension of q, k and out has stride 1.

    The `score` region is the user's code on a score: it takes request, query
    head, query position, key position (i32; positions count the request's keys
    from 0) and the scaled score (f32), and yields the new score. It may use
    elementwise arith and math ops, values from outside, and `memref.load` of
    memrefs that the launch does not write. It may run for any query and key of
    the same request, also where the mask hides the pair: indices that it forms of
    positions must be in bounds for all of them (so `%qpos - %kpos` may be
    negative), while what it yields there is not used.

    `schedule` is set by `mla-select-schedule` where it is not given.

    Example:
    ```mlir
    func.func @decode(
        %q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>,
        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %cap: f32,
        %out: memref<?x?x128x512xbf16>, %lse: memref<?x?x128xf32>) {
      mla.decode
        q(%q : memref<?x?x128x576xbf16>)
        k(%k : memref<?x64x1x576xbf16>)
        table(%table : memref<?x?xi32>)
        seq_lens(%lens : memref<?xi32>)
        scale(%scale : f32)
        mask(#mla.causal)
        out(%out : memref<?x?x128x512xbf16>)
        lse(%lse : memref<?x?x128xf32>)
        head_dim_v = 512
        score {
        ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
          %x = arith.divf %s, %cap : f32
          %y = math.tanh %x : f32
          %z = arith.mulf %y, %cap : f32
          mla.yield %z : f32
        }
      return
    }
    ```

    Constraints:
    * (decode_c1) `q`, `k`, `seq_lens`, `scale` and `out` are given once each.
    * (decode_c2) ranks and element types are those of the table above.
    * (decode_c3) head counts and widths are static and positive, h_kv divides h_q.
    * (decode_c4) q and k agree in total width, and part by part.
    * (decode_c5) widths and head_dim_v are multiples of 8, head_dim_v <= width.
    * (decode_c6) head_dim_v lies within the first part of k.
    * (decode_c7) `table` and `csr` exclude each other; `table_rows` needs one.
    * (decode_c8) out is `[..., h_q, head_dim_v]`, lse `[..., h_q]`, in q's rank.
    * (decode_c9) the mask takes as many i32 parameters as it names.
    * (decode_c10) the score region is (i32, i32, i32, i32, f32) -> f32, of
      elementwise speculatable ops and `memref.load`.
    * (decode_c11) the last dimension of q, k, v and out has stride 1.
    * (decode_c12) page size, where static, is positive.
    * (decode_c13) `lse_scale` and `lse_empty` are given together.
  }];
  let arguments = (ins
    Arg<MLA_FloatMemRef, "", [MemRead]>:$q,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$q_rope,
    Arg<MLA_FloatMemRef, "", [MemRead]>:$k,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$k_rope,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$v,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$table,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$kv_indptr,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$kv_indices,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$table_rows,
    Arg<MLA_IntMemRef, "", [MemRead]>:$seq_lens,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$q_offsets,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$indices,
    Arg<Optional<MLA_IntMemRef>, "", [MemRead]>:$topk_lens,
    Arg<Optional<MLA_FloatMemRef>, "", [MemRead]>:$sink,
    Arg<Optional<MLA_F32MemRef>, "", [MemRead]>:$k_scales,
    F32:$scale,
    Optional<I32>:$num_splits,
    Variadic<I32>:$mask_params,
    Arg<MLA_FloatMemRef, "", [MemWrite]>:$out,
    Arg<Optional<MLA_F32MemRef>, "", [MemWrite]>:$lse,
    Optional<F32>:$lse_scale,
    Optional<F32>:$lse_empty,
    I64Attr:$head_dim_v,
    MLA_MaskAttrInterface:$mask,
    OptionalAttr<MLA_Schedule>:$schedule);
  let regions = (region MaxSizedRegion<1>:$score);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool isRagged() { return static_cast<bool>(getQOffsets()); }
    bool isPaged() { return getTable() || getKvIndptr(); }
    int64_t getNumHeads();
    int64_t getNumKVHeads();
    /// Width of q and k, all parts together.
    int64_t getHeadDim();
    /// Width of the rope part; 0 where q and k are whole.
    int64_t getRopeDim();
  }];
}

def MLA_MergeOp : MLA_Op<"merge"> {
  let summary = "merges partial results of the same queries: what to compute";
  let description = [{
    `out = sum_i w_i parts_i` with `w_i = exp(lse_parts_i - lse)` and `lse = ln
    sum_i exp(lse_parts_i)` for each row and head, where all lse are natural
    logarithms times `lse_scale`. A part whose lse is -inf or `lse_empty` is the
    identity, and its values are not looked at; rows of which all parts are that
    give `(0, lse_empty)`. `lse` may be a null pointer at launch. `out` and `lse`
    may be one of the parts.

    Example:
    ```mlir
    func.func @merge(%parts: memref<?x?x16x512xbf16>, %lse_parts: memref<?x?x16xf32>,
                     %out: memref<?x16x512xbf16>, %lse: memref<?x16xf32>,
                     %scale: f32, %empty: f32) {
      mla.merge parts(%parts, %lse_parts : memref<?x?x16x512xbf16>, memref<?x?x16xf32>)
        to(%out, %lse : memref<?x16x512xbf16>, memref<?x16xf32>)
        lse_scale(%scale) lse_empty(%empty)
      return
    }
    ```

    Constraints:
    * (merge_c1) parts are [n, rows, heads, columns], lse_parts [n, rows, heads],
      out [rows, heads, columns] and lse [rows, heads]; heads and columns are static.
    * (merge_c2) parts and out are of one type; the columns are a multiple of 8
      and have stride 1.
  }];
  let arguments = (ins
    Arg<MLA_FloatMemRef, "", [MemRead]>:$parts,
    Arg<MLA_F32MemRef, "", [MemRead]>:$lse_parts,
    Arg<MLA_FloatMemRef, "", [MemWrite]>:$out,
    Arg<MLA_F32MemRef, "", [MemWrite]>:$lse,
    F32:$lse_scale, F32:$lse_empty);
  let assemblyFormat = [{
    `parts` `(` $parts `,` $lse_parts `:` type($parts) `,` type($lse_parts) `)`
    `to` `(` $out `,` $lse `:` type($out) `,` type($lse) `)`
    `lse_scale` `(` $lse_scale `)` `lse_empty` `(` $lse_empty `)` attr-dict
  }];
  let hasVerifier = 1;
}

def MLA_YieldOp : MLA_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["DecodeOp", "ScoreOp", "ForWorkOp", "ForSplitOp"]>]> {
  let summary = "ends a region of this dialect";
  let description = [{
    Yields the new score from a score region, nothing from a work loop.

    Example: `mla.yield %score : f32`

    Constraints:
    * (yield_c1) a work loop yields nothing.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* yields nothing */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

include "mla/Dialect/MLA/IR/MLATileOps.td"

#endif // MLA_OPS_TD
