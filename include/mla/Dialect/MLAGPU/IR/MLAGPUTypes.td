//===- MLAGPUTypes.td ------------------------------------ -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_GPU_TYPES_TD
#define MLA_GPU_TYPES_TD

include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.td"
include "mlir/IR/AttrTypeBase.td"

class MLAGPU_Type<string name, string keyword> : TypeDef<MLAGPU_Dialect, name> {
  let mnemonic = keyword;
  let genVerifyDecl = 1;
}

// Storage with a swizzle: what smem and tile share.
class MLAGPU_StorageType<string name, string keyword> : MLAGPU_Type<name, keyword> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$element_type, "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
}

def MLAGPU_SmemType : MLAGPU_StorageType<"Smem", "smem"> {
  let summary = "staged storage in shared memory";
  let description = [{
    `stages x rows x columns`, or `stages x length`. With a swizzle of 32, 64 or 128
    bytes, columns lie in tiles of that many bytes, each rows x swizzle, in the
    permutation that TMA writes and the tensor cores read.

    Example: `!mla_gpu.smem<3x64x576xbf16, swizzle = 128>`
  }];
  let extraClassDeclaration = [{
    int64_t getStages() const { return getShape()[0]; }
    bool isMatrix() const { return getShape().size() == 3; }
    int64_t getColumns() const { return getShape().back(); }
    /// Bytes of all stages.
    int64_t getBytes() const;
    /// The tile that columns [begin, end) of one stage are.
    TileType getTile(int64_t begin, int64_t end) const;
  }];
}

def MLAGPU_TileType : MLAGPU_StorageType<"Tile", "tile"> {
  let summary = "a tile in shared memory: one slot, or columns of it";
  let description = [{
    `rows x columns` or a vector. What a pipeline hands over, and what copies and
    MMAs work on. A value of it is a place, not contents.

    Example: `!mla_gpu.tile<64x256xbf16, swizzle = 128>`
  }];
  let extraClassDeclaration = [{
    bool isMatrix() const { return getShape().size() == 2; }
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape().back(); }
    int64_t getBytes() const;
    /// Columns of a swizzled run of columns; 1 without swizzle.
    int64_t getSwizzleColumns() const;
  }];
}

def MLAGPU_PipelineType : MLAGPU_Type<"Pipeline", "pipeline"> {
  let summary = "a way to hand tiles from one role to others";
  let description = [{
    `stages` slots, each of the given tiles; without tiles it hands over a turn, and
    nothing but order.

    Example: `!mla_gpu.pipeline<3, !mla_gpu.tile<64x64xbf16, swizzle = 128>, !mla_gpu.tile<64xf32>>`
  }];
  let parameters = (ins "int64_t":$stages,
                        OptionalArrayRefParameter<"::mlir::Type">:$tiles);
  let assemblyFormat = "`<` $stages (`,` $tiles^)? `>`";
}

def MLAGPU_InflightType : MLAGPU_Type<"Inflight", "inflight"> {
  let summary = "the value of an MMA that may still be running";
  let description = [{
    Only `mla_gpu.mma`, which adds to it, and `mla_gpu.mma_wait`, which returns the
    tensor, take it: accumulators in flight cannot be read.

    Example: `!mla_gpu.inflight<tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$value);
  let assemblyFormat = "`<` $value `>`";
}

def MLAGPU_TensorMapType : MLAGPU_Type<"TensorMap", "tensor_map"> {
  let summary = "a tensor in global memory, described for TMA";
  let description = [{
    The tensor's shape (`?` where it is free at launch; strides are data of the
    map), and the box, rows x columns, that one copy moves. A box wider than
    the swizzle is stored as columns tiles side by side.

    Example: `!mla_gpu.tensor_map<?x64x576xbf16, box = 64x64, swizzle = 128>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$element_type, "int64_t":$box_rows, "int64_t":$box_columns,
    "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
}



#endif // MLA_GPU_TYPES_TD
