// One error for each branch of the verifiers of copies, matrix multiplications and fragments.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func @tma_load_coordinates(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, %t: !mla_gpu.tile<64x64xbf16, swizzle = 128>, %i: index) {
  // expected-error @+1 {{(tma_load_c1) requires 2 coordinates, but got 1}}
  mla_gpu.tma_load %m[%i] to %t : !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @tma_load_box(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, %t: !mla_gpu.tile<32x64xbf16, swizzle = 128>, %i: index) {
  // expected-error @+1 {{(tma_load_c2) requires a tile of boxes of 64 x 64 from row 0 on, but got '!mla_gpu.tile<32x64xbf16, swizzle = 128>'}}
  mla_gpu.tma_load %m[%i, %i] to %t : !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<32x64xbf16, swizzle = 128>
  return
}

// -----

func.func @tma_load_rows(%m: !mla_gpu.tensor_map<?x64xbf16, box = 16x64, swizzle = 128>, %t: !mla_gpu.tile<64x64xbf16, swizzle = 128>, %i: index) {
  // expected-error @+1 {{(tma_load_c2) requires a tile of boxes of 16 x 64 from row 56 on, but got '!mla_gpu.tile<64x64xbf16, swizzle = 128>'}}
  mla_gpu.tma_load %m[%i, %i] to %t at(56) : !mla_gpu.tensor_map<?x64xbf16, box = 16x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @tma_load_row(%m: !mla_gpu.tensor_map<?x64xbf16, box = 16x64, swizzle = 128>, %t: !mla_gpu.tile<64x64xbf16, swizzle = 128>, %i: index) {
  // expected-error @+1 {{(tma_load_c2) requires a tile of boxes of 16 x 64 from row 4 on, but got '!mla_gpu.tile<64x64xbf16, swizzle = 128>'}}
  mla_gpu.tma_load %m[%i, %i] to %t at(4) : !mla_gpu.tensor_map<?x64xbf16, box = 16x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @tma_load_swizzle(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, %t: !mla_gpu.tile<64x64xbf16>, %i: index) {
  // expected-error @+1 {{(tma_load_c3) requires the element type and swizzle of}}
  mla_gpu.tma_load %m[%i, %i] to %t : !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @gather_rows(%m: memref<?x32xbf16>, %t: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(gather_c1) requires rows of '!mla_gpu.tile<64x64xbf16>', contiguous, but got 'memref<?x32xbf16>'}}
  mla_gpu.gather %m to %t {
  ^bb0(%i: index):
    mla_gpu.yield %i : index
  } : memref<?x32xbf16>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @gather_region(%m: memref<?x64xbf16>, %t: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(gather_c2) requires a region from an index to 1}}
  mla_gpu.gather %m to %t {
  ^bb0(%i: i32):
    mla_gpu.yield %i : i32
  } : memref<?x64xbf16>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @gather_ops(%m: memref<?x64xbf16>, %t: !mla_gpu.tile<64x64xbf16>) {
  mla_gpu.gather %m to %t {
  ^bb0(%i: index):
    // expected-error @+1 {{(gather_c2) requires to be outside of an mla_gpu.gather}}
    mla_gpu.grid_wait
    mla_gpu.yield %i : index
  } : memref<?x64xbf16>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @gather_aligned(%m: memref<?x64xbf16, strided<[68, 1]>>, %t: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(gather_c3) requires an offset and strides of multiples of 16 bytes if 'aligned', but got 'memref<?x64xbf16, strided<[68, 1]>>'}}
  mla_gpu.gather %m to %t aligned {
  ^bb0(%i: index):
    mla_gpu.yield %i : index
  } : memref<?x64xbf16, strided<[68, 1]>>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @load_shared_layout(%t: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(load_shared_c1) requires a tensor with a layout, of the shape and elements of '!mla_gpu.tile<64x64xbf16>', but got 'tensor<64x64xbf16>'}}
  %0 = mla_gpu.load_shared %t : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16>
  return
}

// -----

func.func @store_shared_elements(%t: !mla_gpu.tile<64x64xbf16>, %x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  // expected-error @+1 {{(store_shared_c1) requires a tensor with a layout, of the shape and elements of '!mla_gpu.tile<64x64xbf16>', but got}}
  mla_gpu.store_shared %x to %t : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @clear_rows_vector(%t: !mla_gpu.tile<64xf32>, %i: index) {
  // expected-error @+1 {{(clear_rows_c1) requires a matrix, but got '!mla_gpu.tile<64xf32>'}}
  mla_gpu.clear_rows %t from %i : !mla_gpu.tile<64xf32>
  return
}

// -----

func.func @store_rows_matrix(%x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %o: memref<?x64xf32>, %i: index) {
  // expected-error @+1 {{(store_rows_c1) requires a matrix with an #mla_gpu.mma layout, but got}}
  mla_gpu.store_rows %x to %o[%i, %i] count(%i) : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, memref<?x64xf32>
  return
}

// -----

func.func @store_rows_slice(%x: tensor<64xf32, #mla_gpu.slice<dim = 0, parent = <m = rows, instr = [64, 64, 16]>>>, %o: memref<?xf32>, %i: index) {
  // expected-error @+1 {{(store_rows_c1) requires a vector of rows in a slice, but got}}
  mla_gpu.store_rows %x to %o[%i] count(%i) : tensor<64xf32, #mla_gpu.slice<dim = 0, parent = <m = rows, instr = [64, 64, 16]>>>, memref<?xf32>
  return
}

// -----

func.func @store_rows_dest(%x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %o: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{(store_rows_c2) requires 'f32' in one or two dimensions of rows, the second static, but got 'memref<?x?xf32>'}}
  mla_gpu.store_rows %x to %o[%i] count(%i) : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, memref<?x?xf32>
  return
}

// -----

func.func @store_rows_columns(%x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, %o: memref<?x64xf32, strided<[?, 2]>>, %i: index) {
  // expected-error @+1 {{(store_rows_c2) requires 'f32' in one or two dimensions of rows, the second static, and contiguous columns, but got}}
  mla_gpu.store_rows %x to %o[%i, %i] count(%i) : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, memref<?x64xf32, strided<[?, 2]>>
  return
}

// -----

func.func @store_rows_aligned(%x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, %o: memref<?x64xf32, strided<[?, 1], offset: 2>>, %i: index) {
  // expected-error @+1 {{(store_rows_c3) requires an offset and strides of multiples of 16 bytes if 'aligned', but got}}
  mla_gpu.store_rows %x to %o[%i, %i] count(%i) aligned : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, memref<?x64xf32, strided<[?, 1], offset: 2>>
  return
}

// -----

func.func @store_rows_aligned_slice(%x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %o: memref<?xf32>, %i: index) {
  // expected-error @+1 {{(store_rows_c3) requires columns if 'aligned', but got 'memref<?xf32>'}}
  mla_gpu.store_rows %x to %o[%i] count(%i) aligned : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, memref<?xf32>
  return
}

// -----

func.func @mma_matrices(%a: !mla_gpu.tile<64xbf16>, %b: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(mma_c1) requires matrices, but got '!mla_gpu.tile<64xbf16>' and '!mla_gpu.tile<64x64xbf16>'}}
  %0 = mla_gpu.mma %a, %b : !mla_gpu.tile<64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_sizes(%a: !mla_gpu.tile<64x64xbf16>, %b: !mla_gpu.tile<128x64xbf16>) {
  // expected-error @+1 {{(mma_c1) requires (rows x depth) * (depth x columns), but got 64x64 * 128x64 -> 64x64}}
  %0 = mla_gpu.mma %a, %b : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<128x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_elements(%a: !mla_gpu.tile<64x64xbf16>, %b: !mla_gpu.tile<64x64xf16>) {
  // expected-error @+1 {{(mma_c2) requires bf16 or f16 operands and an f32 result, but got 'bf16', 'f16' and 'f32'}}
  %0 = mla_gpu.mma %a, %b : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_depth(%a: !mla_gpu.tile<64x24xbf16>, %b: !mla_gpu.tile<64x24xbf16>) {
  // expected-error @+1 {{(mma_c3) requires a depth that is a multiple of 16, but got 24}}
  %0 = mla_gpu.mma %a, %b transposed : !mla_gpu.tile<64x24xbf16>, !mla_gpu.tile<64x24xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_fragment(%a: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, %b: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(mma_c4) requires rows as M for an operand in registers, but got}}
  %0 = mla_gpu.mma %a, %b : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = keys, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_acc(%a: !mla_gpu.tile<64x64xbf16>, %c: tensor<64x64xf32, #mla_gpu.mma<m = keys, instr = [64, 64, 16]>>) {
  // expected-error @+1 {{(mma_c5) requires acc of type}}
  %0 = mla_gpu.mma %a, %a acc(%c : tensor<64x64xf32, #mla_gpu.mma<m = keys, instr = [64, 64, 16]>>) : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_swizzle(%a: !mla_gpu.tile<64x64xbf16>, %kt: !mla_gpu.tile<64x128xbf16, swizzle = 128>) {
  %b = mla_gpu.view %kt[32:96] : !mla_gpu.tile<64x128xbf16, swizzle = 128>
  // expected-error @+1 {{(mma_c6) requires whole swizzles of 64 columns for what is not transposed, but got [32:96]}}
  %0 = mla_gpu.mma %a, %b : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16, swizzle = 128> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @mma_wait_type(%t: !mla_gpu.inflight<tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>>) {
  // expected-error @+1 {{(mma_wait_c1) requires a result of type}}
  %0 = "mla_gpu.mma_wait"(%t) : (!mla_gpu.inflight<tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>>) -> tensor<64x64xf32>
  return
}

// -----

func.func @mma_wait_added(%a: !mla_gpu.tile<64x64xbf16>) {
  %0 = mla_gpu.mma %a, %a : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  // expected-note @+1 {{added to here}}
  %1 = mla_gpu.mma %a, %a acc(%0 : !mla_gpu.inflight<tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>>) : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  // expected-error @+1 {{(mma_wait_c2) requires an accumulator that no later MMA adds to}}
  %2 = mla_gpu.mma_wait %0 : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @row_reduce(%x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  // expected-error @+1 {{(row_reduce_c1) requires a matrix with a layout, and its rows in the slice or lanes of that, but got}}
  %0 = mla_gpu.row_reduce max %x : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>> -> tensor<64xf32, #mla_gpu.slice<dim = 0, parent = <m = rows, instr = [64, 64, 16]>>>
  return
}

// -----

func.func @broadcast_elements(%x: i32) {
  // expected-error @+1 {{(broadcast_c1) requires a result with a layout and elements of 'i32', but got}}
  %0 = mla_gpu.broadcast %x : i32 -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @broadcast_layout(%x: f32) {
  // expected-error @+1 {{(broadcast_c1) requires a result with a layout and elements of 'f32', but got 'tensor<64x64xf32>'}}
  %0 = mla_gpu.broadcast %x : f32 -> tensor<64x64xf32>
  return
}

// -----

func.func @broadcast_slice(%x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>) {
  // expected-error @+1 {{(broadcast_c2) requires a slice of the result's layout, as long as the dimension it keeps, but got}}
  %0 = mla_gpu.broadcast %x : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>> -> tensor<128x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{(iota_c1) requires a tensor of integers with a layout and a dimension 2, but got}}
  %0 = mla_gpu.iota dim(2) : tensor<64x64xi32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  return
}

// -----

func.func @convert_layout(%x: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>) {
  // expected-error @+1 {{(convert_layout_c1) requires the same shape and elements in two layouts, but got}}
  %0 = mla_gpu.convert_layout %x : tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>> -> tensor<64xf32>
  return
}

// -----

func.func @if_any_layout(%c: tensor<64xi1>, %x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  // expected-error @+1 {{(if_any_c1) requires a condition with a layout, but got 'tensor<64xi1>'}}
  %0 = mla_gpu.if_any %c else(%x : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
    mla_gpu.yield %x : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  } : tensor<64xi1>
  return
}

// -----

func.func @if_any_keys(%c: tensor<16x32xi1, #mla_gpu.lanes<parent = <m = keys, instr = [64, 16, 16]>>>, %x: tensor<16x64xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>) {
  // expected-error @+1 {{(if_any_c1) requires a condition in a slice, as rows are spread over warps, but got}}
  %0 = mla_gpu.if_any %c else(%x : tensor<16x64xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>) {
    mla_gpu.yield %x : tensor<16x64xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>
  } : tensor<16x32xi1, #mla_gpu.lanes<parent = <m = keys, instr = [64, 16, 16]>>>
  return
}

// -----

func.func @if_any_yield(%c: tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %x: tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  // expected-error @+1 {{(if_any_c2) requires a region that takes nothing and yields the types of 'else'}}
  %0 = mla_gpu.if_any %c else(%x : tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
    mla_gpu.yield
  } : tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
  return
}

// -----

func.func @if_any_effects(%c: tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>, %x: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, %t: !mla_gpu.tile<64x64xbf16>) {
  %0 = mla_gpu.if_any %c else(%x : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
    // expected-error @+1 {{(if_any_c3) requires to be outside of an mla_gpu.if_any, which only computes}}
    mla_gpu.store_shared %x to %t : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16>
    mla_gpu.yield %x : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  } : tensor<64xi1, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>
  return
}

// -----

func.func @merge_lse_scale(%po: memref<?x16x512xf32>, %pl: memref<?x16xf32>, %n: index,
                           %out: memref<?x16x512xbf16>, %s: f32, %e: f32) {
  // expected-error @+1 {{(merge_c4) requires lse_scale and lse_empty together, with a destination of lse}}
  mla_gpu.merge %po, %pl slots(%n, %n, %n) pieces(%n) count(%n) part(%n, %n)
    to %out[%n] lse_scale(%s) lse_empty(%e) : memref<?x16x512xf32>, memref<?x16xf32>, memref<?x16x512xbf16>
  return
}

// -----

func.func @merge_aligned(%po: memref<?x16x512xf32>, %pl: memref<?x16xf32>, %n: index, %out: memref<?x512xbf16, strided<[516, 1]>>) {
  // expected-error @+1 {{(merge_c5) requires an offset and strides of multiples of 16 bytes if 'aligned', but got 'memref<?x512xbf16, strided<[516, 1]>>'}}
  mla_gpu.merge %po, %pl slots(%n, %n, %n) pieces(%n) count(%n) part(%n, %n)
    to %out[%n] aligned : memref<?x16x512xf32>, memref<?x16xf32>, memref<?x512xbf16, strided<[516, 1]>>
  return
}

// -----

func.func @merge_rows(%p: memref<?x?x?x64xbf16>, %l: memref<?x?x?xf32>, %out: memref<?x?x64xbf16>,
                      %lse: memref<?x?xf32>, %s: f32, %e: f32, %n: index) {
  // expected-error @+1 {{(merge_rows_c1) requires results of rows x heads x columns, but got 'memref<?x?x64xbf16>'}}
  mla_gpu.merge_rows %p, %l to %out, %lse lse_scale(%s) lse_empty(%e) part(%n, %n)
    : memref<?x?x?x64xbf16>, memref<?x?x?xf32>, memref<?x?x64xbf16>, memref<?x?xf32>
  return
}

// -----

#rows = #mla_gpu.mma<m = rows, instr = [64, 128, 16]>
func.func @exchange_layout(%o: tensor<64x128xf32, #rows>, %l: tensor<64xf32, #mla_gpu.slice<dim = 1, parent = #rows>>,
                           %t: !mla_gpu.tile<64x576xbf16, swizzle = 128>) {
  // expected-error @+1 {{(exchange_c1) requires f32 with keys as M and a multiple of 128 columns, but got 'tensor<64x128xf32}}
  %0:4 = mla_gpu.exchange %o, %l through %t
    : tensor<64x128xf32, #rows>, tensor<64xf32, #mla_gpu.slice<dim = 1, parent = #rows>>, !mla_gpu.tile<64x576xbf16, swizzle = 128>
  return
}

// -----

#keys = #mla_gpu.mma<m = keys, instr = [64, 16, 16]>
func.func @exchange_rows(%o: tensor<16x512xf32, #keys>, %l: tensor<32xf32, #mla_gpu.slice<dim = 1, parent = #keys>>,
                         %t: !mla_gpu.tile<16x576xbf16, swizzle = 128>) {
  // expected-error @+1 {{(exchange_c1) requires f32 in the slice of rows of 'tensor<16x512xf32}}
  %0:4 = mla_gpu.exchange %o, %l through %t
    : tensor<16x512xf32, #keys>, tensor<32xf32, #mla_gpu.slice<dim = 1, parent = #keys>>, !mla_gpu.tile<16x576xbf16, swizzle = 128>
  return
}

// -----

#keys = #mla_gpu.mma<m = keys, instr = [64, 16, 16]>
func.func @exchange_room(%o: tensor<16x512xf32, #keys>, %l: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>,
                         %t: !mla_gpu.tile<16x512xbf16, swizzle = 128>) {
  // expected-error @+1 {{(exchange_c2) requires a tile of at least 18432 bytes, but got 16384}}
  %0:4 = mla_gpu.exchange %o, %l through %t
    : tensor<16x512xf32, #keys>, tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>, !mla_gpu.tile<16x512xbf16, swizzle = 128>
  return
}

// -----

#keys = #mla_gpu.mma<m = keys, instr = [64, 16, 16]>
func.func @exchange_role(%o: tensor<16x512xf32, #keys>, %l: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>,
                         %t: !mla_gpu.tile<16x576xbf16, swizzle = 128>) {
  // expected-error @+1 {{(exchange_c3) requires to be in a role}}
  %0:4 = mla_gpu.exchange %o, %l through %t
    : tensor<16x512xf32, #keys>, tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>, !mla_gpu.tile<16x576xbf16, swizzle = 128>
  return
}

// -----

#keys = #mla_gpu.mma<m = keys, instr = [64, 16, 16]>
func.func private @exchange_twice(%o: tensor<16x512xf32, #keys>, %l: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>,
                                  %t: !mla_gpu.tile<16x576xbf16, swizzle = 128>) {
  // expected-error @+1 {{(exchange_c3) requires to be the only one of the function, but got 2}}
  %0:4 = mla_gpu.exchange %o, %l through %t
    : tensor<16x512xf32, #keys>, tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>, !mla_gpu.tile<16x576xbf16, swizzle = 128>
  %1:4 = mla_gpu.exchange %o, %l through %t
    : tensor<16x512xf32, #keys>, tensor<16xf32, #mla_gpu.slice<dim = 1, parent = #keys>>, !mla_gpu.tile<16x576xbf16, swizzle = 128>
  return
}
