// The names of the arguments that passes add cannot be the caller's.
//
// RUN: mla-opt %s --mla-tile --split-input-file --verify-diagnostics

// expected-error @+1 {{requires another name for argument 5 than 'worker', which is the kernel's own}}
func.func @reserved(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>, %other: index {mla.name = "worker"}) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}
