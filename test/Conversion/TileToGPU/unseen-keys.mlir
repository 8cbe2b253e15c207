// Keys that boxes bring, but no row of the piece sees, may be NaN: their rows of V are cleared, before the window and
// behind the last query's key.
// RUN: mla-opt %s --split-input-file --mla-problem-to-tile="chip=sm_90a" --mla-tile-to-gpu --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @window(
// CHECK:         %[[C0:.*]] = arith.constant 0 : index
// CHECK:         role "math"
// CHECK:           mla_gpu.store_shared
// CHECK:           %[[V:.*]] = mla_gpu.view
// CHECK:           mla_gpu.clear_rows %[[V]] from %[[C0]] to %[[HIDDEN:[a-z0-9_]+]] :
// CHECK:           mla_gpu.clear_rows %[[V]] from %[[LEFT:[a-z0-9_]+]] :
// CHECK:           mla_gpu.mma %{{.*}}, %[[V]]
func.func @window(%q: memref<?x?x8x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>, %window: i32,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x8x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x8x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.sliding_window, %window : i32)
    out(%out : memref<?x?x8x512xbf16>)
    head_dim_v = 512
  return
}

// -----

// Each half of V by the role that multiplies it.

// CHECK-LABEL: func.func @window_of_many_rows(
// CHECK:         %[[C0:.*]] = arith.constant 0 : index
// CHECK:         role "left"(
// CHECK:           scf.for {{.*}} -> (tensor<64x256xf32,
// CHECK:           %[[V:.*]] = mla_gpu.wait
// CHECK:           mla_gpu.if_any
// CHECK:           mla_gpu.clear_rows %[[V]] from %[[C0]] to %{{.*}} :
// CHECK:           mla_gpu.clear_rows %[[V]] from %{{[a-z0-9_]+}} :
func.func @window_of_many_rows(%q: memref<?x?x64x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                               %window: i32, %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x64x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x64x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.sliding_window, %window : i32)
    out(%out : memref<?x?x64x512xbf16>)
    head_dim_v = 512
  return
}

// -----

// All of these see the first key. The last one's end is that of the piece, not of the request.

// CHECK-LABEL: func.func @causal(
// CHECK:         role "math"
// CHECK-NOT:     mla_gpu.clear_rows {{.*}} to
// CHECK:           %[[HULL_END:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK:           %[[LEFT:.*]] = arith.subi %[[HULL_END]], %{{.*}}
// CHECK:           mla_gpu.clear_rows %{{.*}} from %[[LEFT]] :
func.func @causal(%q: memref<?x?x8x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x8x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x8x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x8x512xbf16>)
    head_dim_v = 512
  return
}
