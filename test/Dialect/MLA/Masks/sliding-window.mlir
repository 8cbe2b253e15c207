// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --mla-problem-to-tile=cpu=x86-64-v4 | FileCheck %s --check-prefix=TILE
// RUN: mla-opt %s --mla-problem-to-tile=cpu=x86-64-v4 --mla-tile-to-host \
// RUN:   | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func @decode
// CHECK:         mask(#mla.sliding_window, %{{.*}} : i32)

// The window is a launch argument, and reaches the plan of both entries.
// TILE-LABEL: func.func @decode
// TILE-SAME:    %[[WINDOW:arg[0-9]+]]: i32 {mla.name = "window"}
// TILE:         mla.plan {{.*}} mask(#mla.sliding_window, %[[WINDOW]])
// TILE-LABEL: func.func @decode_combine
// TILE:         mla.plan {{.*}} mask(#mla.sliding_window,

// One unsigned comparison of the distance.
// HOST:         mask = #mla.sliding_window
// HOST-LABEL: func.func @decode(
// HOST:         arith.cmpi ult, %{{.*}} : vector<16xi32>
func.func @decode(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>,
    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %window: i32,
    %out: memref<?x?x16x512xbf16>, %lse: memref<?x?x16xf32>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.sliding_window, %window : i32)
    out(%out : memref<?x?x16x512xbf16>)
    lse(%lse : memref<?x?x16xf32>)
    head_dim_v = 512
  return
}
