// RUN: mla-opt %s --mla-attach-target=chip=sm_90a --mla-select-schedule | FileCheck %s

// A schedule that was given promises that free strides are multiples of 16 bytes.

// CHECK-LABEL: @promised
// CHECK:         schedule = #mla.schedule<keys_as_m, block_m = 16, {{.*}} copy = tma>
!p = memref<?x64x1x576xbf16, strided<[?, 576, 576, 1]>>
func.func @promised(%q: memref<?x?x16x576xbf16>, %k: !p, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : !p) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
  return
}
