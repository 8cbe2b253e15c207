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

def MLA_Schedule : MLA_Attr<"Schedule", "schedule"> {
  let summary = "how a decode problem is divided: tiles, splits, register blocks";
  let description = [{
    Written by `mla-select-schedule` from its cost model, by hand, or by a tuner;
    checked by the dataflow that it names.

    | field | meaning |
    |---|---|
    | `dataflow` | the strategy that lowers the tiles: `host_blocks` |
    | `block_m` | packed (query, head) rows a tile |
    | `block_n` | keys a tile |
    | `split` | `whole`: no row block is split; `balanced`: workers get equal runs of tiles, or the split count of the launch; `row_local`: pieces depend on the row block alone |
    | `split_tiles` | `row_local`: at least this many tiles a piece |
    | `qk` | register block of Q K^T: rows x keys |
    | `pv` | register block of P V: rows x vectors of columns |
    | `kv` | `direct`: keys are widened to f32 as register blocks load them; `staged`: once a tile, to a copy |

    Example:
    ```mlir
    #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced,
                  split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$dataflow, "int64_t":$block_m,
    "int64_t":$block_n, EnumParameter<MLA_SplitPolicy>:$split,
    "int64_t":$split_tiles, "int64_t":$qk_rows, "int64_t":$qk_keys,
    "int64_t":$pv_rows, "int64_t":$pv_vectors, EnumParameter<MLA_KVAccess>:$kv);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// The contract between compiler and runtime
//===----------------------------------------------------------------------===//

def MLA_ParamKind : MLA_Enum<"ParamKind", "what a kernel parameter carries", [
  I32EnumAttrCase<"Pointer", 0, "pointer">,
  I32EnumAttrCase<"Offset", 1, "offset">,
  I32EnumAttrCase<"Size", 2, "size">,
  I32EnumAttrCase<"Stride", 3, "stride">,
  I32EnumAttrCase<"Scalar", 4, "scalar">]>;

def MLA_Param : MLA_Attr<"Param", "param"> {
  let summary = "one parameter of a kernel entry";
  let description = [{
    `pointer`, `offset` (always 0), `size` and `stride` of dimension `dim` (64-bit, in
    elements) of the tensor called `name`, or the `scalar` of that name.

    Example: `#mla.param<"q", stride, 2>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
    EnumParameter<MLA_ParamKind>:$kind, DefaultValuedParameter<"int64_t", "0">:$dim);
  let assemblyFormat = "`<` $name `,` $kind (`,` $dim^)? `>`";
}

def MLA_Entry : MLA_Attr<"Entry", "entry"> {
  let summary = "one function that a launch runs on every worker";
  let description = [{
    Example: `#mla.entry<"decode", [#mla.param<"q", pointer>, ...]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol,
    OptionalArrayRefParameter<"::mlir::mla::ParamAttr">:$params);
  let assemblyFormat = "`<` $symbol `,` `[` (`]`) : ($params^ `]`)? `>`";
}

def MLA_Argument : MLA_Attr<"Argument", "argument"> {
  let summary = "a tensor or scalar that the caller of the kernel passes";
  let description = [{
    The type gives element type, rank and the sizes and strides that are compiled
    in; what is dynamic there is free at launch.

    Example: `#mla.argument<"seq_lens", memref<?xi32>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
}

def MLA_BufferScope : MLA_Enum<"BufferScope", "what a workspace buffer is counted by", [
  I32EnumAttrCase<"Worker", 0, "worker">,
  I32EnumAttrCase<"Slot", 1, "slot">]>;

def MLA_Buffer : MLA_Attr<"Buffer", "buffer"> {
  let summary = "a tensor that lives in the workspace of a launch";
  let description = [{
    A tensor `[count, ...]`, where count is the number of workers, or of partial
    slots: 2 a worker with automatic splits, row blocks x splits otherwise.

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
    partial slots a launch needs and which keys it reads.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"::mlir::mla::ArgumentAttr">:$arguments,
    ArrayRefParameter<"::mlir::mla::EntryAttr">:$entries,
    OptionalArrayRefParameter<"::mlir::mla::BufferAttr">:$workspace,
    "::mlir::mla::ScheduleAttr":$schedule,
    "::mlir::Attribute":$mask, "int64_t":$kv_heads,
    "int64_t":$group);
  let assemblyFormat = [{
    `<` `arguments` `=` `[` (`]`) : ($arguments^ `]`)? `,` `entries` `=` `[` $entries `]` `,`
    `workspace` `=` `[` (`]`) : ($workspace^ `]`)? `,` `schedule` `=` $schedule `,`
    `mask` `=` $mask `,` `kv_heads` `=` $kv_heads `,` `group` `=` $group `>`
  }];
}

#endif // MLA_ATTRS_TD
