// A problem inside of other control flow is refused, not left behind.
//
// RUN: mla-opt %s --mla-tile --split-input-file --verify-diagnostics

func.func @nested(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                  %scale: f32, %out: memref<?x?x16x64xf32>, %c: i1) {
  scf.if %c {
    // expected-error @+1 {{'mla.decode' op requires to be the only mla.decode of a function of one block}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  }
  return
}
