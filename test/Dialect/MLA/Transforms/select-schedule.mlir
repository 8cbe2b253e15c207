// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v3' --mla-select-schedule | FileCheck %s --check-prefixes=CHECK,V3
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule | FileCheck %s --check-prefixes=CHECK,V4
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule='split=row_local' | FileCheck %s --check-prefix=LOCAL
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule='split=whole' | FileCheck %s --check-prefix=WHOLE
//
// Selecting twice changes nothing.
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule --mla-select-schedule | FileCheck %s --check-prefixes=CHECK,V4

// 16 rows: 16 registers hold 8 accumulators and their operands, 32 hold 16.

// CHECK-LABEL: func.func @rows_16(
// V3:            schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 4x2, pv = 4x2, kv = staged>
// V4:            schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 4x4, pv = 4x4, kv = staged>
// LOCAL-LABEL: func.func @rows_16(
// LOCAL:         schedule = #mla.schedule<host_blocks, block_m = 16, {{.*}} split = row_local, split_tiles = 16,
// WHOLE-LABEL: func.func @rows_16(
// WHOLE:         schedule = #mla.schedule<host_blocks, block_m = 16, {{.*}} split = whole,
func.func @rows_16(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x512xbf16>)
    head_dim_v = 512
  return
}

// CHECK-LABEL: func.func @rows_128(
// V3:            schedule = #mla.schedule<host_blocks, block_m = 128, block_n = 64, split = balanced, split_tiles = 16, qk = 4x2, pv = 4x2, kv = staged>
// V4:            schedule = #mla.schedule<host_blocks, block_m = 128, block_n = 64, split = balanced, split_tiles = 16, qk = 4x4, pv = 4x4, kv = staged>
func.func @rows_128(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x128x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x128x512xbf16>)
    head_dim_v = 512
  return
}

// The rows of a tile share a KV head: 8 heads over 8 KV heads are 1 row.

// CHECK-LABEL: func.func @rows_1(
// CHECK:         schedule = #mla.schedule<host_blocks, block_m = 1, block_n = 64,
func.func @rows_1(%q: memref<?x?x8x128xf32>, %k: memref<?x?x8x128xf32>, %lens: memref<?xi32>,
                  %scale: f32, %out: memref<?x?x8x128xf32>) {
  mla.decode
    q(%q : memref<?x?x8x128xf32>)
    k(%k : memref<?x?x8x128xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x8x128xf32>)
    head_dim_v = 128
  return
}

// A schedule that is given and can be lowered is kept, its split policy too.

// CHECK-LABEL: func.func @given(
// CHECK:         schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 32, split = whole, split_tiles = 3, qk = 2x4, pv = 1x4, kv = direct>
// LOCAL-LABEL: func.func @given(
// LOCAL:         schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 32, split = whole, split_tiles = 3, qk = 2x4, pv = 1x4, kv = direct>
func.func @given(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                 %scale: f32, %out: memref<?x?x16x64xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 32, split = whole, split_tiles = 3, qk = 2x4, pv = 1x4, kv = direct>
  return
}
