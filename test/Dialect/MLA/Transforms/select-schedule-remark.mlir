// The remark gives the choice first, then the next best, costs ascending, and
// how many there were. It is not there unless asked for.
//
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule --remarks-filter=mla -o %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=CHOICE --input-file=%t.mlir
// RUN: mla-opt %s --mla-attach-target='cpu=x86-64-v4' --mla-select-schedule -o %t.quiet 2>&1 | count 0

// CHECK:      select-schedule-remark.mlir:[[# @LINE + 11]]:3: remark: [Analysis] schedule | Category:mla |
// CHECK-SAME:   of {{[0-9]+}} schedules, cycles a key:
// CHECK-SAME:   {{[0-9]+\.[0-9]}} #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 4x4, pv = 4x4, kv = staged>
// CHECK-SAME:   {{[0-9]+\.[0-9]}} #mla.schedule<host_blocks,
// CHECK-SAME:   {{[0-9]+\.[0-9]}} #mla.schedule<host_blocks,
// CHECK-SAME:   {{[0-9]+\.[0-9]}} #mla.schedule<host_blocks,
// CHECK-NOT:  remark:

// CHOICE: schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 4x4, pv = 4x4, kv = staged>
func.func @decode(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
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
