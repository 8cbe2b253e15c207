//===- MLAAttrs.td --------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_ATTRS_TD
#define MLA_ATTRS_TD

include "mla/Dialect/MLA/IR/MLADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class MLA_Attr<string name, string keyword> : AttrDef<MLA_Dialect, name> {
  let mnemonic = keyword;
}

class MLA_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::mla";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

def MLA_Target : MLA_Attr<"Target", "target"> {
  let summary = "the machine that a module is compiled for";
  let description = [{
    The only machine fact that a pass may read; `mla-attach-target` puts it on the
    module as `mla.target`.

    `host` is a CPU, described by LLVM's names of it. `vector_bits` and
    `vector_registers` describe the widest f32 vectors, `l1_bytes` and `l2_bytes`
    the data caches of a core.

    `cuda` is a GPU: its `chip`, as LLVM and PTX name it, the shared memory that one
    CTA can have, and the L2 cache of the whole.

    The number of workers or SMs is not here: kernels are right for any.

    Example:
    ```mlir
    #mla.target<host, cpu = "x86-64-v4", features = "", vector_bits = 512,
                vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>
    ```

    Example: `#mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>`
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, "::mlir::StringAttr":$cpu,
                        "::mlir::StringAttr":$features, "int64_t":$vector_bits,
                        "int64_t":$vector_registers, "int64_t":$l1_bytes,
                        "int64_t":$l2_bytes, "int64_t":$smem_bytes);
  let builders = [
    // A CPU.
    AttrBuilder<(ins "::mlir::StringAttr":$kind, "::mlir::StringAttr":$cpu,
                     "::mlir::StringAttr":$features, "int64_t":$vector_bits,
                     "int64_t":$vector_registers, "int64_t":$l1_bytes,
                     "int64_t":$l2_bytes), [{
      return $_get($_ctxt, kind, cpu, features, vector_bits, vector_registers,
                   l1_bytes, l2_bytes, /*smem_bytes=*/0);
    }]>,
    // A GPU.
    AttrBuilder<(ins "::llvm::StringRef":$chip, "int64_t":$smem_bytes,
                     "int64_t":$l2_bytes), [{
      auto none = ::mlir::StringAttr::get($_ctxt, "");
      return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, "cuda"),
                   ::mlir::StringAttr::get($_ctxt, chip), none, 0, 0, 0,
                   l2_bytes, smem_bytes);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isHost() const { return getKind().getValue() == "host"; }
    bool isCuda() const { return getKind().getValue() == "cuda"; }
    /// Of a GPU: as in sm_90a.
    ::llvm::StringRef getChip() const { return getCpu().getValue(); }
    /// f32 elements of the widest vector.
    int64_t getLanes() const { return getVectorBits() / 32; }
  }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def MLA_SplitPolicy : MLA_Enum<"SplitPolicy",
    "how a row block's keys are divided among workers", [
  I32EnumAttrCase<"Whole", 0, "whole">,
  I32EnumAttrCase<"Balanced", 1, "balanced">,
  I32EnumAttrCase<"RowLocal", 2, "row_local">]>;

def MLA_KVAccess : MLA_Enum<"KVAccess", "where register blocks read keys", [
  I32EnumAttrCase<"Direct", 0, "direct">,
  I32EnumAttrCase<"Staged", 1, "staged">]>;

def MLA_CopyKind : MLA_Enum<"CopyKind", "how a GPU copies keys to shared memory", [
  I32EnumAttrCase<"TMA", 0, "tma">,
  I32EnumAttrCase<"Gather", 1, "gather">]>;

def MLA_PlanPolicy : MLA_Enum<"PlanPolicy", "who plans the work of a GPU's launch", [
  I32EnumAttrCase<"Inline", 0, "inline">,
  I32EnumAttrCase<"Shared", 1, "shared">]>;

def MLA_Schedule : MLA_Attr<"Schedule", "schedule"> {
  let summary = "how a decode problem is divided: tiles, splits, register blocks";
  let description = [{
    Written by `mla-select-schedule` from its cost model, by hand, or by a tuner;
    checked by the dataflow that it names.

    | field | meaning |
    |---|---|
    | `dataflow` | the strategy that lowers the tiles: `host_blocks` on a CPU; `keys_as_m` or `rows_as_m` on a GPU |
    | `block_m` | packed (query, head) rows a tile |
    | `block_n` | keys a tile |
    | `split` | `whole`: no row block is split; `balanced`: workers get equal runs of tiles, or the split count of the launch; `row_local`: pieces depend on the row block alone |
    | `split_tiles` | `row_local`: at least this many tiles a piece |
    | `qk` | register block of Q K^T: rows x keys |
    | `pv` | register block of P V: rows x vectors of columns |
    | `kv` | `direct`: keys are widened to f32 as register blocks load them; `staged`: once a tile, to a copy |
    | `stages` | tiles of keys that a CTA holds in shared memory |
    | `row_blocks` | CTAs side by side that do neighbouring row blocks of a request, and so share its keys through L2 |
    | `copy` | `tma`: boxes of whole tiles, or of the rows of a tile that one page has; `gather`: row by row, for pages and strides that TMA cannot take |
    | `cluster` | 1, and not written: CTAs are launched one by one; 2: where a launch has so many row blocks that two CTAs do one, these are a cluster, and merge their halves through shared memory |
    | `plan` | `inline`, and not written: each launch plans for itself; `shared`: an entry of its own, before all others, writes lists that all launches with the same lengths may read |
    | `alignment` | 1, and not written: nothing is known of where q, k and out begin; 16: they begin, and their strides but the last are, at multiples of so many bytes, which launches have to keep (see `#mla.argument`) |

    `qk`, `pv` and `kv` are for a CPU; `stages`, `row_blocks`, `copy`,
    `cluster`, `plan` and `alignment` for a GPU.

    Example:
    ```mlir
    #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced,
                  split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>
    ```

    Example:
    ```mlir
    #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced,
                  split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$dataflow, "int64_t":$block_m,
    "int64_t":$block_n, EnumParameter<MLA_SplitPolicy>:$split,
    "int64_t":$split_tiles, "int64_t":$qk_rows, "int64_t":$qk_keys,
    "int64_t":$pv_rows, "int64_t":$pv_vectors, EnumParameter<MLA_KVAccess>:$kv,
    "int64_t":$stages, "int64_t":$row_blocks, EnumParameter<MLA_CopyKind>:$copy,
    EnumParameter<MLA_PlanPolicy>:$plan, "int64_t":$cluster,
    "int64_t":$alignment);
  let builders = [
    // For a CPU.
    AttrBuilder<(ins "::mlir::StringAttr":$dataflow, "int64_t":$block_m,
                     "int64_t":$block_n, "SplitPolicy":$split,
                     "int64_t":$split_tiles, "int64_t":$qk_rows,
                     "int64_t":$qk_keys, "int64_t":$pv_rows,
                     "int64_t":$pv_vectors, "KVAccess":$kv), [{
      return $_get($_ctxt, dataflow, block_m, block_n, split, split_tiles,
                   qk_rows, qk_keys, pv_rows, pv_vectors, kv, /*stages=*/0,
                   /*row_blocks=*/1, CopyKind::TMA, PlanPolicy::Inline,
                   /*cluster=*/1, /*alignment=*/1);
    }]>,
    // For a GPU.
    AttrBuilder<(ins "::llvm::StringRef":$dataflow, "int64_t":$block_m,
                     "int64_t":$block_n, "SplitPolicy":$split,
                     "int64_t":$split_tiles, "int64_t":$stages,
                     "int64_t":$row_blocks, "CopyKind":$copy,
                     CArg<"PlanPolicy", "PlanPolicy::Inline">:$plan,
                     CArg<"int64_t", "1">:$cluster,
                     CArg<"int64_t", "1">:$alignment), [{
      return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, dataflow), block_m,
                   block_n, split, split_tiles, 0, 0, 0, 0, KVAccess::Direct,
                   stages, row_blocks, copy, plan, cluster, alignment);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Has stages of shared memory; register blocks otherwise.
    bool isGPU() const { return getStages() > 0; }
    /// The same with another split policy; without clusters unless balanced.
    ScheduleAttr withSplit(SplitPolicy split) const;
  }];
}

//===----------------------------------------------------------------------===//
// The contract between compiler and runtime
//===----------------------------------------------------------------------===//

def MLA_ParamKind : MLA_Enum<"ParamKind", "what a kernel parameter carries", [
  I32EnumAttrCase<"Pointer", 0, "pointer">,
  I32EnumAttrCase<"Offset", 1, "offset">,
  I32EnumAttrCase<"Size", 2, "size">,
  I32EnumAttrCase<"Stride", 3, "stride">,
  I32EnumAttrCase<"Scalar", 4, "scalar">,
  I32EnumAttrCase<"TensorMap", 5, "tensor_map">]>;

def MLA_TensorMap : MLA_Attr<"TensorMap", "tensor_map"> {
  let summary = "how to describe a tensor for TMA";
  let description = [{
    Dimension i of the map is dimension `dims[i]` of the tensor, outermost first; the
    last one is contiguous. `box` is rows x columns of one copy, of the last two
    dimensions. Columns wider than `swizzle` bytes are encoded as two dimensions, so
    that a box lies as column tiles of that width, one behind the other. L2 promotion is
    none, and elements outside are zeros.

    Example: `#mla.tensor_map<dims = [0, 2, 1, 3], box = 64x576, swizzle = 128>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$dims, "int64_t":$box_rows,
                        "int64_t":$box_columns, "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
}

def MLA_Launch : MLA_Attr<"Launch", "launch"> {
  let summary = "how a GPU launches an entry";
  let description = [{
    CTAs of `threads` with `shared_bytes` of dynamic shared memory, `ctas_per_worker` for
    each worker; there are as many workers as the device has SMs. `dependent`: the code
    waits for the kernel before it where it must, so it may start early; of the first
    entry, before it reads anything. `cluster`, not written if 1: CTAs of a cluster;
    launches with that many CTAs for each row block, which divide its keys, start this
    entry instead of the one before it, all others that one.

    Example: `#mla.launch<threads = 192, shared_bytes = 169984, ctas_per_worker = 1, dependent = true>`
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$shared_bytes,
                        "int64_t":$ctas_per_worker, "bool":$dependent,
                        DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
}

def MLA_Param : MLA_Attr<"Param", "param"> {
  let summary = "one parameter of a kernel entry";
  let description = [{
    `pointer`, `offset` (always 0), `size` and `stride` of dimension `dim` (64-bit, in
    elements) of the tensor called `name`, or the `scalar` of that name, or a
    `tensor_map` of it (128 bytes).

    Example: `#mla.param<"q", stride, 2>`

    Example: `#mla.param<"k", tensor_map of <dims = [0, 1, 3], box = 64x576, swizzle = 128>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
    EnumParameter<MLA_ParamKind>:$kind, DefaultValuedParameter<"int64_t", "0">:$dim,
    OptionalParameter<"::mlir::mla::TensorMapAttr">:$map);
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$name, "ParamKind":$kind,
                                   CArg<"int64_t", "0">:$dim), [{
    return $_get($_ctxt, name, kind, dim, TensorMapAttr());
  }]>];
  let assemblyFormat = "`<` $name `,` $kind (`of` $map^)? (`,` $dim^)? `>`";
}

def MLA_Entry : MLA_Attr<"Entry", "entry"> {
  let summary = "one function that a launch runs on every worker";
  let description = [{
    On a GPU, also how it is launched.

    Example: `#mla.entry<"decode", [#mla.param<"q", pointer>, ...]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol,
    OptionalArrayRefParameter<"::mlir::mla::ParamAttr">:$params,
    OptionalParameter<"::mlir::mla::LaunchAttr">:$launch);
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$symbol,
                                   "::llvm::ArrayRef<ParamAttr>":$params), [{
    return $_get($_ctxt, symbol, params, LaunchAttr());
  }]>];
  let assemblyFormat = [{
    `<` $symbol `,` `[` (`]`) : ($params^ `]`)? (`,` `launch` `=` $launch^)? `>`
  }];
}

def MLA_Argument : MLA_Attr<"Argument", "argument"> {
  let summary = "a tensor or scalar that the caller of the kernel passes";
  let description = [{
    The type gives element type, rank and the sizes and strides that are compiled
    in; what is dynamic there is free at launch. `alignment`, not written if 1: bytes
    that where the tensor begins, and its strides but the last, have to be multiples
    of.

    Example: `#mla.argument<"seq_lens", memref<?xi32>>`

    Example: `#mla.argument<"out", memref<?x?x16x512xbf16>, alignment = 16>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$type,
                        DefaultValuedParameter<"int64_t", "1">:$alignment);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$name,
                                   "::mlir::Type":$type,
                                   CArg<"int64_t", "1">:$alignment), [{
    return $_get($_ctxt, name, type, alignment);
  }]>];
  let assemblyFormat = [{
    `<` $name `,` $type (`,` `alignment` `=` $alignment^)? `>`
  }];
}

def MLA_BufferScope : MLA_Enum<"BufferScope", "what a workspace buffer is counted by", [
  I32EnumAttrCase<"Worker", 0, "worker">,
  I32EnumAttrCase<"Slot", 1, "slot">,
  I32EnumAttrCase<"Piece", 2, "piece">]>;

def MLA_Buffer : MLA_Attr<"Buffer", "buffer"> {
  let summary = "a tensor that lives in the workspace of a launch";
  let description = [{
    A tensor `[count, ...]`, where count is the number of workers (of a GPU: the CTAs
    of the first entry); or of partial slots: 2 a worker with automatic splits, row
    blocks x splits otherwise; or of pieces of work: row blocks x splits (1 if
    automatic), and one more a worker. Row blocks of each request and KV head count as
    a multiple of the schedule's `row_blocks`.

    Example: `#mla.buffer<"partial_out", slot, memref<?x16x512xf32>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
    EnumParameter<MLA_BufferScope>:$scope, "::mlir::Type":$type);
  let assemblyFormat = "`<` $name `,` $scope `,` $type `>`";
  let genVerifyDecl = 1;
}

def MLA_Kernel : MLA_Attr<"Kernel", "kernel"> {
  let summary = "everything that the runtime knows of a compiled kernel";
  let description = [{
    Written by the last lowering of a target; the runtime marshals a launch from it
    alone. `entries` run in order, each on every worker, with a barrier between.
    `schedule`, `mask`, `kv_heads` and `group` (query heads a KV head) tell how many
    partial slots a launch needs and which keys it reads; a kernel of another problem
    than mla.decode has neither schedule nor mask.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"::mlir::mla::ArgumentAttr">:$arguments,
    ArrayRefParameter<"::mlir::mla::EntryAttr">:$entries,
    OptionalArrayRefParameter<"::mlir::mla::BufferAttr">:$workspace,
    OptionalParameter<"::mlir::mla::ScheduleAttr">:$schedule,
    OptionalParameter<"::mlir::Attribute">:$mask, "int64_t":$kv_heads,
    "int64_t":$group);
  let assemblyFormat = [{
    `<` `arguments` `=` `[` (`]`) : ($arguments^ `]`)? `,` `entries` `=` `[` $entries `]` `,`
    `workspace` `=` `[` (`]`) : ($workspace^ `]`)? `,` (`schedule` `=` $schedule^ `,`)?
    (`mask` `=` $mask^ `,`)? `kv_heads` `=` $kv_heads `,` `group` `=` $group `>`
  }];
}

#endif // MLA_ATTRS_TD
