// RUN: mla-opt %s --mla-problem-to-tile="chip=sm_90a queries=8" -o %t
// RUN: not mla-opt %t --mla-tile-to-gpu 2>&1 | FileCheck %s

// Columns of Q K^T that P V does not read begin in the middle of the latent part.
// CHECK: error: dataflow rows_as_m requires a latent part as wide as V, 256, but got 512
func.func @f(%q: memref<?x?x64x512xbf16>, %qr: memref<?x?x64x64xbf16>, %k: memref<?x64x1x512xbf16>,
             %kr: memref<?x64x1x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
             %out: memref<?x?x64x256xbf16>) {
  mla.decode
    q(%q : memref<?x?x64x512xbf16>, %qr : memref<?x?x64x64xbf16>)
    k(%k : memref<?x64x1x512xbf16>, %kr : memref<?x64x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x64x256xbf16>)
    head_dim_v = 256
  return
}
