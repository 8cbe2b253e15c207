//===- MLAGPUTileOps.td ---------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Copies, matrix multiplications and fragments; included by MLAGPUOps.td.

def MLAGPU_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger, Index]>;
def MLAGPU_Operand : AnyTypeOf<[MLAGPU_TileType, StaticShapeTensorOf<[BF16, F16]>]>;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

def MLAGPU_TMALoadOp : MLAGPU_Op<"tma_load"> {
  let summary = "copies boxes of a tensor in global memory to a tile";
  let description = [{
    As many boxes as the tile is wide, from the given coordinates of the tensor on.
    Elements outside of the tensor arrive as zero. `mla_gpu.commit` hands over what
    has arrived. For an example in a role see `mla_gpu.acquire`.

    Boxes lower than the tile go to its rows from `at` on: rows that lie apart in the
    tensor take a copy each.

    Example:
    ```mlir
    func.func @f(%map: !mla_gpu.tensor_map<?x64x576xbf16, box = 64x64, swizzle = 128>,
                 %page: index, %dst: !mla_gpu.tile<64x256xbf16, swizzle = 128>) {
      %c0 = arith.constant 0 : index
      mla_gpu.tma_load %map[%page, %c0, %c0] to %dst
        : !mla_gpu.tensor_map<?x64x576xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<64x256xbf16, swizzle = 128>
      return
    }
    // 16 heads of each of four queries.
    func.func @g(%map: !mla_gpu.tensor_map<?x16x576xbf16, box = 16x64, swizzle = 128>,
                 %query: index, %dst: !mla_gpu.tile<64x256xbf16, swizzle = 128>) {
      %c0 = arith.constant 0 : index
      mla_gpu.tma_load %map[%query, %c0, %c0] to %dst at(48)
        : !mla_gpu.tensor_map<?x16x576xbf16, box = 16x64, swizzle = 128>, !mla_gpu.tile<64x256xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (tma_load_c1) one coordinate for each dimension of the tensor.
    * (tma_load_c2) the tile is whole boxes wide, and has their rows from `at` on, a
      multiple of 8.
    * (tma_load_c3) element type and swizzle are the same.
  }];
  let arguments = (ins MLAGPU_TensorMapType:$map, Variadic<Index>:$coordinates,
                       MLAGPU_TileType:$tile, DefaultValuedAttr<I64Attr, "0">:$at);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $tile (`at` `(` $at^ `)`)? attr-dict
    `:` type($map) `,` type($tile)
  }];
  let extraClassDeclaration = [{
    /// Of all boxes.
    int64_t getBytes();
  }];
  let hasVerifier = 1;
}

def MLAGPU_GatherOp : MLAGPU_Op<"gather", [SingleBlock]> {
  let summary = "copies rows from wherever they are to a tile";
  let description = [{
    For what TMA cannot describe: odd page sizes and strides, lists of tokens. The
    region gives the row of `source`, an index for each dimension but the last, that
    row i of the tile is copied from; where the first is negative, row i becomes
    zeros, and nothing is read. A target clones it for each thread. The copy is
    asynchronous: `mla_gpu.commit` hands over what has arrived. `aligned`: all rows of
    the source begin at multiples of 16 bytes, which is else asked as the kernel runs.

    Example:
    ```mlir
    func.func @f(%pool: memref<?x576xbf16>, %rows: memref<?xindex>, %first: index,
                 %dst: !mla_gpu.tile<64x576xbf16, swizzle = 128>) {
      mla_gpu.gather %pool to %dst {
      ^bb0(%i: index):
        %at = arith.addi %first, %i : index
        %row = memref.load %rows[%at] : memref<?xindex>
        mla_gpu.yield %row : index
      } : memref<?x576xbf16>, !mla_gpu.tile<64x576xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (gather_c1) the source has the tile's columns and element type, contiguous.
    * (gather_c2) the region takes an index and yields one for each dimension of the
      source but the last; it has no op of this dialect.
    * (gather_c3) of a source that is `aligned` all known strides but the last, and the
      offset, are multiples of 16 bytes.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
    Arg<MLAGPU_TileType, "", [MemWrite]>:$tile, UnitAttr:$aligned);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $source `to` $tile (`aligned` $aligned^)? $body attr-dict
    `:` type($source) `,` type($tile)
  }];
  let hasVerifier = 1;
}

def MLAGPU_LoadSharedOp : MLAGPU_Op<"load_shared"> {
  let summary = "a tile's contents, in the threads' registers";
  let description = [{
    Example:
    ```mlir
    func.func @f(%q: !mla_gpu.tile<64x256xbf16, swizzle = 128>) {
      %0 = mla_gpu.load_shared %q : !mla_gpu.tile<64x256xbf16, swizzle = 128>
        -> tensor<64x256xbf16, #mla_gpu.mma<m = rows, instr = [64, 16, 16]>>
      return
    }
    ```

    Constraints:
    * (load_shared_c1) shapes and element types agree; the tensor has a layout.
  }];
  let arguments = (ins MLAGPU_TileType:$tile);
  let results = (outs MLAGPU_Tensor:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_StoreSharedOp : MLAGPU_Op<"store_shared"> {
  let summary = "writes a fragment to a tile";
  let description = [{
    Example:
    ```mlir
    func.func @f(%p: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>,
                 %dst: !mla_gpu.tile<64x64xbf16, swizzle = 128>) {
      mla_gpu.store_shared %p to %dst
        : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (store_shared_c1) shapes and element types agree; the tensor has a layout.
  }];
  let arguments = (ins MLAGPU_Tensor:$value, MLAGPU_TileType:$tile);
  let assemblyFormat = "$value `to` $tile attr-dict `:` type($value) `,` type($tile)";
  let hasVerifier = 1;
}

def MLAGPU_ClearRowsOp : MLAGPU_Op<"clear_rows"> {
  let summary = "zeros rows of a tile";
  let description = [{
    Rows of V that no row of Q sees may hold anything, and 0 * NaN is NaN: they are
    cleared before the product. These are rows from `first` on, up to `end` where that
    is given: keys before the first visible one, or behind the last one. Numbers outside
    of the tile are as its bounds; does nothing where no row is left.
    A reading role may do this to a slot that it holds, if no other one reads that
    part of it at the time.

    Example:
    ```mlir
    func.func @f(%v: !mla_gpu.tile<64x256xbf16, swizzle = 128>, %hidden: index, %keys: index) {
      %c0 = arith.constant 0 : index
      mla_gpu.clear_rows %v from %c0 to %hidden : !mla_gpu.tile<64x256xbf16, swizzle = 128>
      mla_gpu.clear_rows %v from %keys : !mla_gpu.tile<64x256xbf16, swizzle = 128>
      return
    }
    ```

    Constraints:
    * (clear_rows_c1) the tile is a matrix.
  }];
  let arguments = (ins MLAGPU_TileType:$tile, Index:$first, Optional<Index>:$end);
  let assemblyFormat = [{
    $tile `from` $first (`to` $end^)? attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
}

def MLAGPU_StoreRowsOp : MLAGPU_Op<"store_rows"> {
  let summary = "writes the rows that exist of a fragment to global memory";
  let description = [{
    Row r of the value goes to packed row `row` + r of the destination, its columns to
    `column` on. Packed rows are dimension 0, or dimensions 0 and 1 with the second
    static: (query, head) pairs, query-major. Rows from `count` on are not written.
    A slice is written once. `optional`: a destination without memory (null) is not
    written. `aligned`: from `column` on, all rows of the destination begin at multiples
    of 16 bytes, which is else asked as the kernel runs.

    Example:
    ```mlir
    func.func @f(%o: tensor<64x256xbf16, #mla_gpu.mma<m = rows, instr = [64, 256, 16]>>,
                 %out: memref<?x128x512xbf16>, %row: index, %column: index, %n: index) {
      mla_gpu.store_rows %o to %out[%row, %column] count(%n)
        : tensor<64x256xbf16, #mla_gpu.mma<m = rows, instr = [64, 256, 16]>>, memref<?x128x512xbf16>
      return
    }
    ```

    Constraints:
    * (store_rows_c1) the value has a layout, and is rows x columns with a `column`, or
      a value a row without.
    * (store_rows_c2) the destination has the value's element type and one or two
      dimensions of rows, the second static; and contiguous columns where it has any.
    * (store_rows_c3) a destination that is `aligned` has columns, and all its known
      strides but the last, and the offset, are multiples of 16 bytes.
  }];
  let arguments = (ins MLAGPU_Tensor:$value,
    Arg<AnyMemRef, "", [MemWrite]>:$dest, Index:$row, Optional<Index>:$column,
    Index:$count, UnitAttr:$optional, UnitAttr:$aligned);
  let assemblyFormat = [{
    $value `to` (`optional` $optional^)? $dest `[` $row (`,` $column^)? `]`
    `count` `(` $count `)` (`aligned` $aligned^)? attr-dict
    `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Matrix multiplication
//===----------------------------------------------------------------------===//

def MLAGPU_MmaOp : MLAGPU_Op<"mma"> {
  let summary = "starts a matrix multiplication";
  let description = [{
    lhs * rhs (+ acc), where lhs is rows x depth and rhs depth x columns or, where it
    is `transposed`, columns x depth, as a tile of keys is for Q K^T. Both products of
    attention read the same tile, then: K as it lies (K-major), V as a view of it
    (MN-major).

    lhs is a tile or, where rows are M, a fragment; rhs is a tile. Tiles that are read
    stay in use until an `mla_gpu.mma_wait` for this value or a later one. MMAs of a
    role are done in order, and an accumulator in flight may be added to.

    Example:
    ```mlir
    func.func @f(%p: !mla_gpu.tile<64x64xbf16, swizzle = 128>,
                 %kt: !mla_gpu.tile<64x576xbf16, swizzle = 128>,
                 %o: tensor<64x256xf32, #mla_gpu.mma<m = rows, instr = [64, 256, 16]>>) {
      %v = mla_gpu.view %kt[0:256] : !mla_gpu.tile<64x576xbf16, swizzle = 128>
      %0 = mla_gpu.mma %p, %v acc(%o : tensor<64x256xf32, #mla_gpu.mma<m = rows, instr = [64, 256, 16]>>)
        : !mla_gpu.tile<64x64xbf16, swizzle = 128>, !mla_gpu.tile<64x256xbf16, swizzle = 128>
        -> tensor<64x256xf32, #mla_gpu.mma<m = rows, instr = [64, 256, 16]>>
      return
    }
    ```

    Constraints:
    * (mma_c1) operands and result are matrices that agree in rows, columns and depth.
    * (mma_c2) lhs and rhs are both bf16 or both f16; the result is f32 with an
      `#mla_gpu.mma` layout.
    * (mma_c3) the depth is a multiple of K of the instruction.
    * (mma_c4) a fragment has a layout with rows as M, and so has the result.
    * (mma_c5) acc is of the result's type, or of that in flight.
    * (mma_c6) what is not K-major is whole swizzles wide and begins at one.
  }];
  let arguments = (ins MLAGPU_Operand:$lhs, MLAGPU_TileType:$rhs,
    Optional<AnyTypeOf<[MLAGPU_Tensor, MLAGPU_InflightType]>>:$acc,
    UnitAttr:$transposed);
  let results = (outs MLAGPU_InflightType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)? (`acc` `(` $acc^ `:` type($acc) `)`)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` custom<Inflight>(type($result))
  }];
  let hasVerifier = 1;
}

def MLAGPU_MmaWaitOp : MLAGPU_Op<"mma_wait"> {
  let summary = "waits for a matrix multiplication, and returns its value";
  let description = [{
    Waits for this one and all before it; later ones go on. Without a result it only
    waits: for tiles to be done with, or to let another role begin while the last
    steps still run.

    Example:
    ```mlir
    func.func @f(%q: !mla_gpu.tile<64x576xbf16, swizzle = 128>,
                 %kt: !mla_gpu.tile<64x576xbf16, swizzle = 128>) {
      %0 = mla_gpu.mma %q, %kt transposed
        : !mla_gpu.tile<64x576xbf16, swizzle = 128>, !mla_gpu.tile<64x576xbf16, swizzle = 128>
        -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      %s = mla_gpu.mma_wait %0 : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      return
    }
    ```

    Constraints:
    * (mma_wait_c1) the result is the value in flight.
    * (mma_wait_c2) an accumulator that is added to again is not read before that.
  }];
  let arguments = (ins MLAGPU_InflightType:$value);
  let results = (outs Optional<MLAGPU_Tensor>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def MLAGPU_RowReduceOp : MLAGPU_Op<"row_reduce", [Pure]> {
  let summary = "maximum or sum of each row";
  let description = [{
    To a slice: the value of the row, in all threads that share it, across warps where
    the layout needs it. To `#mla_gpu.lanes`: what each of those threads has by itself,
    without exchange; reduced again later, this gives the slice.

    Example:
    ```mlir
    func.func @f(%s: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
      %0 = mla_gpu.row_reduce max %s : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
        -> tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
      %1 = mla_gpu.row_reduce sum %s : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
        -> tensor<64x4xf32, #mla_gpu.lanes<parent = <m = rows, instr = [64, 64, 16]>>>
      return
    }
    ```

    Constraints:
    * (row_reduce_c1) the value is a matrix of a layout, and the result its rows in the
      slice, or, from an `#mla_gpu.mma` layout, in the lanes of that layout.
  }];
  let arguments = (ins EnumProp<MLAGPU_Reduction>:$kind, MLAGPU_Tensor:$value);
  let results = (outs MLAGPU_Tensor:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_BroadcastOp : MLAGPU_Op<"broadcast", [Pure]> {
  let summary = "a scalar everywhere, or a slice along its missing dimension";
  let description = [{
    Example:
    ```mlir
    func.func @f(%m: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %x: f32) {
      %0 = mla_gpu.broadcast %m : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
        -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      %1 = mla_gpu.broadcast %x : f32 -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      return
    }
    ```

    Constraints:
    * (broadcast_c1) the result has a layout and the value's element type.
    * (broadcast_c2) a vector is a slice of the result's layout, or of its parent, and
      as long as the result in the dimension that it keeps.
  }];
  let arguments = (ins AnyTypeOf<[MLAGPU_Tensor, AnyFloat, AnySignlessIntegerOrIndex]>:$value);
  let results = (outs MLAGPU_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_IotaOp : MLAGPU_Op<"iota", [Pure]> {
  let summary = "each element's own index in a dimension";
  let description = [{
    What masks and position-dependent scores are made of.

    Example:
    ```mlir
    func.func @f() {
      %key = mla_gpu.iota dim(1) : tensor<64x64xi32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      return
    }
    ```

    Constraints:
    * (iota_c1) the result is of integers, has a layout, and has the dimension.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs MLAGPU_Tensor:$result);
  let assemblyFormat = "`dim` `(` $dim `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_ExchangeOp : MLAGPU_Op<"exchange", [InferTypeOpAdaptor]> {
  let summary = "the two CTAs of a cluster give each other half of a matrix";
  let description = [{
    Both CTAs come here, with values of the same rows. Each keeps the half of its
    columns that has its number in the cluster, gets the same half of the other's
    (`theirs`), and all that the other has a row (`their_rows`); `column` is the half's
    first column. `through` is a tile of as many bytes as come, which the role holds and
    does not need any more: the other CTA writes there.

    Example:
    ```mlir
    func.func @f(%o: tensor<16x512xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>,
                 %lse: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>) {
      %scratch = mla_gpu.alloc : !mla_gpu.tile<16x576xbf16, swizzle = 128>
      mla_gpu.warp_specialize
      role "math" warps(4) {
        %mine, %theirs, %their_lse, %column = mla_gpu.exchange %o, %lse through %scratch
          : tensor<16x512xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>,
            tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>,
            !mla_gpu.tile<16x576xbf16, swizzle = 128>
      }
      return
    }
    ```

    Constraints:
    * (exchange_c1) the value is rows x columns of f32 in an `#mla_gpu.mma` layout with keys
      as M, a multiple of 128 columns; `rows` is f32 in its slice.
    * (exchange_c2) the tile has 4 bytes for each element that comes: half of the matrix,
      and a value a row for each of the 32 threads that share it.
    * (exchange_c3) is in a role, once in the function, and runs once in a launch.
  }];
  let arguments = (ins MLAGPU_Tensor:$value, MLAGPU_Tensor:$rows, MLAGPU_TileType:$tile);
  let results = (outs MLAGPU_Tensor:$mine, MLAGPU_Tensor:$theirs,
                      MLAGPU_Tensor:$their_rows, Index:$column);
  let assemblyFormat = [{
    $value `,` $rows `through` $tile attr-dict
    `:` type($value) `,` type($rows) `,` type($tile)
  }];
  let hasVerifier = 1;
}

def MLAGPU_ConvertLayoutOp : MLAGPU_Op<"convert_layout", [Pure]> {
  let summary = "the same values, held by other threads";
  let description = [{
    Explicit, as it may cost an exchange through shared memory. Free where both
    layouts put what is used in the same threads, as for the rows of scores and of O.

    Example:
    ```mlir
    func.func @f(%a: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>) {
      %0 = mla_gpu.convert_layout %a : tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>
        -> tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 8, 16]>>>
      return
    }
    ```

    Constraints:
    * (convert_layout_c1) shapes and element types agree; both tensors have layouts.
  }];
  let arguments = (ins MLAGPU_Tensor:$value);
  let results = (outs MLAGPU_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def MLAGPU_IfAnyOp : MLAGPU_Op<"if_any", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "computes values anew only if some row needs it";
  let description = [{
    Runs the region where some element of the condition holds, else gives the values of
    `else`. Rows are asked in groups of the target's choice, by warp or all together, so
    a row whose own condition does not hold may get either value and must be right
    with both. Skips the rescaling of O by ones, for example.

    Example:
    ```mlir
    func.func @f(%a: tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>,
                 %m: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>,
                 %x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>) {
      %0 = mla_gpu.if_any %a else(%m : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>) {
        %1 = arith.maximumf %m, %x : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
        mla_gpu.yield %1 : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
      } : tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
      return
    }
    ```

    Constraints:
    * (if_any_c1) the condition is i1 with a layout; where rows are spread over warps
      (keys as M) a slice, so that all warps agree.
    * (if_any_c2) the region takes nothing and yields values of the types of `else`.
    * (if_any_c3) the region only computes: it has no side effects.
  }];
  let arguments = (ins StaticShapeTensorOf<[I1]>:$condition, Variadic<MLAGPU_Tensor>:$values);
  let results = (outs Variadic<MLAGPU_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `else` `(` $values `:` type($values) `)` $body attr-dict `:`
    type($condition) custom<SameTypes>(type($results), ref(type($values)))
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def MLAGPU_MapOp : MLAGPU_Op<"map", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "code over scalars, for every element of tensors";
  let description = [{
    What elementwise ops on tensors cannot say: masks, score code, and what loads.
    The region takes an element of each operand and yields one of the result; it may
    use scalars from outside. A target clones it for each element that a thread has.

    Example:
    ```mlir
    func.func @f(%s: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>,
                 %bias: memref<?xf32>) {
      %k = mla_gpu.iota dim(1) : tensor<64x64xindex, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      %0 = mla_gpu.map %s, %k {
      ^bb0(%x: f32, %i: index):
        %b = memref.load %bias[%i] : memref<?xf32>
        %y = arith.addf %x, %b : f32
        mla_gpu.yield %y : f32
      } : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>,
          tensor<64x64xindex, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
        -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
      return
    }
    ```

    Constraints:
    * (map_c1) operands and result have the same shape and layout.
    * (map_c2) the region takes their elements and yields the result's; it has no op of
      this dialect, and does not write.
  }];
  let arguments = (ins Variadic<MLAGPU_Tensor>:$values);
  let results = (outs MLAGPU_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $values $body attr-dict `:` type($values) `->` type($result)
  }];
  let hasVerifier = 1;
}
