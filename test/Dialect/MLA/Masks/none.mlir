// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --mla-problem-to-tile=cpu=x86-64-v3 | FileCheck %s --check-prefix=TILE
// RUN: mla-opt %s --mla-problem-to-tile=cpu=x86-64-v3 --mla-tile-to-host | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @decode
// CHECK:         mask(#mla.none)

// No parameters at launch.
// TILE-LABEL: func.func @decode(
// TILE:         mla.plan {{.*}} mask(#mla.none) heads
// TILE-LABEL: func.func @decode_combine(
// TILE:         mla.plan {{.*}} mask(#mla.none) heads

// No key that exists is out of sight, so no score is compared for it.
// HOST:         mask = #mla.none
// HOST-LABEL: func.func @decode(
// HOST-NOT:     {{arith.cmpi .* : vector<}}
// HOST-LABEL: func.func @decode_combine(
func.func @decode(%q: memref<?x?x16x64xbf16>, %k: memref<?x64x1x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x64x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.none)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}
