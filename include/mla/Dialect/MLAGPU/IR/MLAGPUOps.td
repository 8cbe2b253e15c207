//===- MLAGPUOps.td -------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_GPU_OPS_TD
#define MLA_GPU_OPS_TD

include "mla/Dialect/MLAGPU/IR/MLAGPUAttrs.td"
include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.td"
include "mla/Dialect/MLAGPU/IR/MLAGPUTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def MLAGPU_AllocOp : MLAGPU_Op<"alloc"> {
  let summary = "reserves shared memory for the whole kernel";
  let description = [{
    Staged storage (`!mla_gpu.smem`) is reached through the pipelines that are made
    over it. A plain `!mla_gpu.tile` belongs to the one role that uses it.

    Example:
    ```mlir
    func.func @f() {
      %ring = mla_gpu.alloc : !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
      %mine = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (alloc_c1) is outside of roles, loops and branches.
  }];
  let results = (outs AnyTypeOf<[MLAGPU_SmemType, MLAGPU_TileType]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_ViewOp : MLAGPU_Op<"view", [Pure, InferTypeOpAdaptor]> {
  let summary = "columns of a tile, as a tile";
  let description = [{
    V is such a view of a tile of keys.

    Example:
    ```mlir
    func.func @f(%kt: !mla_gpu.tile<64x576xbf16, swizzle = 128>) {
      %v = mla_gpu.view %kt[0:512] : !mla_gpu.tile<64x576xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (view_c1) the tile has columns, and [begin, end) is a range of them.
    * (view_c2) begin and end are multiples of 16: a step of an MMA along K.
  }];
  let arguments = (ins MLAGPU_TileType:$tile, I64Attr:$begin, I64Attr:$end);
  let results = (outs MLAGPU_TileType:$result);
  let assemblyFormat = "$tile `[` $begin `` `:` `` $end `]` attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

def MLAGPU_PipelineOp : MLAGPU_Op<"pipeline", [AttrSizedOperandSegments,
    InferTypeOpAdaptor]> {
  let summary = "declares how tiles go from one role to others";
  let description = [{
    Each slot is a stage of every given storage, or some columns of it. The role
    `from` acquires a slot, writes it and commits it; each role of `to` waits for it,
    reads it and releases it. Numbers of slots run from 0, across loops and work
    items: number n is stage n mod `stages`, and `from` gets it when all of `to`
    have released n - stages. `from` may be one of `to`.

    `writer` says how slots are written, so that the hand-over can be made to match:
    by `tma` copies, `cp_async` copies or ordinary stores of `threads`.

    Pieces of a slot that are handed over separately, or by different roles, are
    pipelines over column ranges of one storage. Ranges do not overlap, except where
    a pipeline takes its place `after` another one: slot n of the later one reuses
    slot n of the earlier one as soon as that is released, and slot n + stages of
    the first is free when the last of the chain has released slot n.

    Without storage, `slots` says how many turns may be open: a pipeline of nothing
    but order.

    Example:
    ```mlir
    func.func @f() {
      %ring = mla_gpu.alloc : !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
      %scales = mla_gpu.alloc : !mla_gpu.smem<3x64xf32>
      %k = mla_gpu.pipeline %ring[0:512] writer(tma) from("load") to("qk", "pv")
        : !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
      %rope = mla_gpu.pipeline %ring[512:576] writer(tma) from("load") to("qk")
        : !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
      // P takes the place of the columns that only Q K^T reads.
      %p = mla_gpu.pipeline %ring[512:576], %scales writer(threads) from("qk") to("pv")
        after(%rope : !mla_gpu.pipeline<3, !mla_gpu.tile<64x64xbf16, swizzle = 128>>)
        : !mla_gpu.smem<3x64x576xbf16, swizzle = 128>, !mla_gpu.smem<3x64xf32>
      %turn = mla_gpu.pipeline slots(3) writer(threads) from("qk") to("pv")
      return
    }
    ```

    Constraints:
    * (pipeline_c1) storages have the same number of stages; `slots` is given exactly
      where there are none.
    * (pipeline_c2) a range lies in its storage; it is multiples of 16, and of the
      swizzle.
    * (pipeline_c3) some role reads, and none is named twice.
    * (pipeline_c4) `after` names a pipeline with as many stages, whose place this one
      takes: same storage, ranges inside.
    * (pipeline_c5) without storage, the writer is `threads`.
    * (pipeline_c6) is outside of roles, loops and branches.
  }];
  let arguments = (ins Variadic<MLAGPU_SmemType>:$storages,
    Optional<MLAGPU_PipelineType>:$after, DenseI64ArrayAttr:$begins,
    DenseI64ArrayAttr:$ends, OptionalAttr<I64Attr>:$slots,
    EnumProp<MLAGPU_Writer>:$writer, StrAttr:$from, StrArrayAttr:$to);
  let results = (outs MLAGPU_PipelineType:$result);
  let assemblyFormat = [{
    custom<Ranges>($storages, $begins, $ends) (`slots` `(` $slots^ `)`)?
    `writer` `(` $writer `)` `from` `(` $from `)` custom<Roles>($to)
    (`after` `(` $after^ `:` type($after) `)`)? attr-dict (`:` type($storages)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The pipeline whose place this one takes, or null.
    PipelineOp getEarlier();
    bool isReader(::llvm::StringRef role);
  }];
}

class MLAGPU_VerbOp<string mnemonic, list<Trait> traits = []>
    : MLAGPU_Op<mnemonic, traits> {
  let arguments = (ins MLAGPU_PipelineType:$pipeline, Index:$number);
  let assemblyFormat = "$pipeline `[` $number `]` attr-dict `:` type($pipeline)";
  let hasVerifier = 1;
}

def MLAGPU_AcquireOp : MLAGPU_VerbOp<"acquire", [InferTypeOpAdaptor]> {
  let summary = "the writing role takes a slot, as soon as it is free";
  let description = [{
    Example:
    ```mlir
    func.func @f(%page: index, %n: index,
                 %map: !mla_gpu.tensor_map<?x64x576xbf16, box = 64x576, swizzle = 128>) {
      %c0 = arith.constant 0 : index
      %ring = mla_gpu.alloc : !mla_gpu.smem<2x64x576xbf16, swizzle = 128>
      %kv = mla_gpu.pipeline %ring[0:576] writer(tma) from("load") to("math")
        : !mla_gpu.smem<2x64x576xbf16, swizzle = 128>
      mla_gpu.warp_specialize
      role "math" warps(4) {
        %kt = mla_gpu.wait %kv[%n] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x576xbf16, swizzle = 128>>
        mla_gpu.release %kv[%n] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x576xbf16, swizzle = 128>>
      }
      role "load" warps(1) {
        %dst = mla_gpu.acquire %kv[%n] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x576xbf16, swizzle = 128>>
        mla_gpu.tma_load %map[%page, %c0, %c0] to %dst
          : !mla_gpu.tensor_map<?x64x576xbf16, box = 64x576, swizzle = 128>, !mla_gpu.tile<64x576xbf16, swizzle = 128>
        mla_gpu.commit %kv[%n] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x576xbf16, swizzle = 128>>
      }
      return
    }
    ```

    Constraints:
    * (acquire_c1) the pipeline is declared in the function, and this is its `from` role;
      or this is a private function, for roles to call.
  }];
  let results = (outs Variadic<MLAGPU_TileType>:$tiles);
}

def MLAGPU_CommitOp : MLAGPU_VerbOp<"commit"> {
  let summary = "the writing role hands its slot over";
  let description = [{
    With copies in flight: once these have arrived. See `mla_gpu.acquire`.

    Example: `mla_gpu.commit %kv[%n] : !mla_gpu.pipeline<2>`

    Constraints:
    * (commit_c1) the pipeline is declared in the function, and this is its `from` role;
      or this is a private function, for roles to call.
  }];
}

def MLAGPU_WaitOp : MLAGPU_VerbOp<"wait", [InferTypeOpAdaptor]> {
  let summary = "a reading role waits until a slot is handed over";
  let description = [{
    See `mla_gpu.acquire`.

    Example: `mla_gpu.wait %kv[%n] : !mla_gpu.pipeline<2>`

    Constraints:
    * (wait_c1) the pipeline is declared in the function, and this is one of its `to` roles;
      or this is a private function, for roles to call.
  }];
  let results = (outs Variadic<MLAGPU_TileType>:$tiles);
}

def MLAGPU_ReleaseOp : MLAGPU_VerbOp<"release"> {
  let summary = "a reading role lets its slot go";
  let description = [{
    See `mla_gpu.acquire`.

    Example: `mla_gpu.release %kv[%n] : !mla_gpu.pipeline<2>`

    Constraints:
    * (release_c1) the pipeline is declared in the function, and this is one of its `to` roles;
      or this is a private function, for roles to call.
  }];
}

//===----------------------------------------------------------------------===//
// Roles and launches
//===----------------------------------------------------------------------===//

def MLAGPU_WarpSpecializeOp : MLAGPU_Op<"warp_specialize",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "the roles of a CTA, side by side";
  let description = [{
    Each role has the warps that run it (consecutive, in the order of the roles) and,
    optionally, the registers that each of its threads gets. The op ends when all
    roles have. Roles that do the same with different things share a region: code
    once in memory, and what differs as arguments.

    Example:
    ```mlir
    func.func @f(%left: index, %right: index) {
      mla_gpu.warp_specialize
      role "softmax" warps(4) registers(184) {
      }
      role "left"(%left), "right"(%right) warps(4) registers(160) {
      ^bb0(%column: index):
      }
      return
    }
    ```

    Constraints:
    * (warp_specialize_c1) roles have different names and 1 to 16 warps, 32 together.
    * (warp_specialize_c2) registers are given for all roles or none.
    * (warp_specialize_c3) registers are multiples of 8 from 24 to 256, for whole warpgroups.
    * (warp_specialize_c4) registers of all threads are within what the CTA starts with:
      each thread an equal share of 65536, a multiple of 8 and at most 256.
    * (warp_specialize_c5) a role with an MMA has whole warpgroups.
    * (warp_specialize_c6) is not inside another role.
    * (warp_specialize_c7) each role gives what its region takes.
  }];
  let arguments = (ins Variadic<AnyType>:$args, StrArrayAttr:$names,
                       DenseI64ArrayAttr:$warps, DenseI64ArrayAttr:$registers,
                       DenseI64ArrayAttr:$sharing);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Roles are numbered over all regions; `sharing` is the roles of each.
    unsigned getNumRoles() { return getNames().size(); }
    ::llvm::StringRef getName(unsigned role) {
      return ::llvm::cast<::mlir::StringAttr>(getNames()[role]).getValue();
    }
    /// The region that a role runs.
    ::mlir::Region &getBody(unsigned role);
    /// The first of the roles that run a region; they are consecutive.
    unsigned getFirstRole(::mlir::Region &body);
    /// What a role gives its region.
    ::mlir::OperandRange getRoleArgs(unsigned role);
  }];
}

def MLAGPU_YieldOp : MLAGPU_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["WarpSpecializeOp", "IfAnyOp", "GatherOp", "MapOp", "ScanOp"]>]> {
  let summary = "ends a region";
  let description = [{
    Example: `mla_gpu.yield %0 : tensor<64xf32, #row>` in an `mla_gpu.if_any`.

    Constraints:
    * (yield_c1) a role yields nothing.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* yields nothing */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let hasVerifier = 1;
}

def MLAGPU_GridWaitOp : MLAGPU_Op<"grid_wait"> {
  let summary = "waits for the launch that this one depends on";
  let description = [{
    Before it, nothing that the earlier launch writes may be read. Costs nothing where
    the launch is not a dependent one.

    Example:
    ```mlir
    func.func @f() {
      mla_gpu.grid_wait
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def MLAGPU_GridLaunchDependentsOp : MLAGPU_Op<"grid_launch_dependents"> {
  let summary = "lets the launch that depends on this one begin";
  let description = [{
    It may take free SMs from when all CTAs have come here; what it reads of this
    launch it sees after its `mla_gpu.grid_wait`.

    Example:
    ```mlir
    func.func @f() {
      mla_gpu.grid_launch_dependents
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Work of all threads
//===----------------------------------------------------------------------===//

def MLAGPU_ScanOp : MLAGPU_Op<"scan", [RecursiveMemoryEffects]> {
  let summary = "prefix sums over numbered things, by all threads of the CTA";
  let description = [{
    How a CTA plans: `values` gives some counts for each number below `count`; the
    results are what they come to (`sum`, or `max`) over all numbers, 0 where there are
    none. With a second region, this then runs once for each number, in any order, with
    the number, for each count what the numbers before come to, and its own counts
    again: it stores what it finds. When the op ends all threads of the CTA see that.

    Example:
    ```mlir
    func.func @f(%lens: memref<?xindex>, %n: index, %starts: memref<?xindex>) {
      %total, %longest = mla_gpu.scan %n ["sum", "max"] {
      ^bb0(%i: index):
        %len = memref.load %lens[%i] : memref<?xindex>
        mla_gpu.yield %len, %len : index, index
      } then {
      ^bb0(%i: index, %before: index, %longest_before: index, %len: index, %same: index):
        memref.store %before, %starts[%i] : memref<?xindex>
        mla_gpu.yield
      } : index, index
      return
    }
    ```

    Constraints:
    * (scan_c1) a kind, `sum` or `max`, for each result.
    * (scan_c2) `values` takes an index, and yields one for each result.
    * (scan_c3) `then` takes an index and two for each result, and yields nothing.
    * (scan_c4) is outside of roles, loops and branches.
  }];
  let arguments = (ins Index:$count, StrArrayAttr:$kinds);
  let results = (outs Variadic<Index>:$results);
  let regions = (region SizedRegion<1>:$values, AnyRegion:$then);
  let assemblyFormat = [{
    $count $kinds $values (`then` $then^)? attr-dict `:` type($results)
  }];
  let hasVerifier = 1;
}

def MLAGPU_MergeOp : MLAGPU_Op<"merge", [AttrSizedOperandSegments]> {
  let summary = "merges partial results of a row block, by all threads of the CTA";
  let description = [{
    out = sum_i w_i out_i with w_i = 2^(lse_i - lse) and lse = log2 sum_i 2^lse_i, over
    `pieces` pieces in a fixed order, for rows below `count`. Piece 0 is in slot `first`
    of the partial buffers, piece i > 0 in `next` + (i - 1) * `stride`. The rows' columns
    are divided among `parts` CTAs, of which this is number `part`. Results go to packed
    rows `row` and on (see `mla_gpu.store_rows`) of `out`, rounded to its element type,
    and, where that is given and not null, of `lse`, as natural logarithms times
    `lse_scale`. (0, -inf) is the identity; rows of which all pieces are that give
    (0, `lse_empty`). Without these two, 1 and -inf. `aligned`: all rows of `out` begin
    at multiples of 16 bytes, which is else asked as the kernel runs.

    Example:
    ```mlir
    func.func @f(%po: memref<?x16x512xf32>, %pl: memref<?x16xf32>, %first: index, %next: index,
                 %two: index, %n: index, %count: index, %part: index, %parts: index,
                 %out: memref<?x16x512xbf16>, %lse: memref<?x16xf32>, %row: index) {
      mla_gpu.merge %po, %pl slots(%first, %next, %two) pieces(%n) count(%count) part(%part, %parts)
        to %out, %lse[%row] : memref<?x16x512xf32>, memref<?x16xf32>, memref<?x16x512xbf16>, memref<?x16xf32>
      return
    }
    ```

    Constraints:
    * (merge_c1) partial results are slots x rows x columns of f32, contiguous, and slots x
      rows of f32.
    * (merge_c2) `out` has one or two dimensions of rows, the second static, and as many
      columns, contiguous; `lse` has the same of rows, of f32.
    * (merge_c3) is outside of roles.
    * (merge_c4) lse_scale and lse_empty are given together, and with `lse`.
    * (merge_c5) of an `out` that is `aligned` all known strides but the last, and the
      offset, are multiples of 16 bytes.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$partial_out,
    Arg<AnyMemRef, "", [MemRead]>:$partial_lse,
    Index:$first, Index:$next, Index:$stride, Index:$pieces, Index:$count,
    Index:$part, Index:$parts,
    Arg<AnyMemRef, "", [MemWrite]>:$out, Arg<Optional<AnyMemRef>, "", [MemWrite]>:$lse,
    Optional<F32>:$lse_scale, Optional<F32>:$lse_empty, Index:$row,
    UnitAttr:$aligned);
  let assemblyFormat = [{
    $partial_out `,` $partial_lse `slots` `(` $first `,` $next `,` $stride `)`
    `pieces` `(` $pieces `)` `count` `(` $count `)` `part` `(` $part `,` $parts `)`
    `to` $out (`,` $lse^)? `[` $row `]` (`lse_scale` `(` $lse_scale^ `)`)?
    (`lse_empty` `(` $lse_empty^ `)`)? (`aligned` $aligned^)? attr-dict
    `:` type($partial_out) `,` type($partial_lse) `,` type($out) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

def MLAGPU_MergeRowsOp : MLAGPU_Op<"merge_rows"> {
  let summary = "merges results of the same rows, by all threads of the launch";
  let description = [{
    What `mla.merge` says, by CTA `part` of `parts`. What a row reads is read before
    any of it is written, so that results may take the place of one of the inputs.

    Example:
    ```mlir
    func.func @f(%parts: memref<?x?x16x512xbf16>, %lse_parts: memref<?x?x16xf32>,
                 %out: memref<?x16x512xbf16>, %lse: memref<?x16xf32>,
                 %scale: f32, %empty: f32, %part: index, %count: index) {
      mla_gpu.merge_rows %parts, %lse_parts to %out, %lse lse_scale(%scale) lse_empty(%empty)
        part(%part, %count) : memref<?x?x16x512xbf16>, memref<?x?x16xf32>, memref<?x16x512xbf16>, memref<?x16xf32>
      return
    }
    ```

    Constraints:
    * (merge_rows_c1) ranks are 4, 3, 3 and 2; heads and columns of out are static.
    * (merge_rows_c2) is outside of roles.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$values,
    Arg<AnyMemRef, "", [MemRead]>:$lse_values,
    Arg<AnyMemRef, "", [MemWrite]>:$out, Arg<AnyMemRef, "", [MemWrite]>:$lse,
    F32:$lse_scale, F32:$lse_empty, Index:$part, Index:$parts);
  let assemblyFormat = [{
    $values `,` $lse_values `to` $out `,` $lse `lse_scale` `(` $lse_scale `)`
    `lse_empty` `(` $lse_empty `)` `part` `(` $part `,` $parts `)` attr-dict
    `:` type($values) `,` type($lse_values) `,` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
}

include "mla/Dialect/MLAGPU/IR/MLAGPUPlanOps.td"
include "mla/Dialect/MLAGPU/IR/MLAGPUTileOps.td"

#endif // MLA_GPU_OPS_TD
