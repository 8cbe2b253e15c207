func.func @decode(%q: memref<?x?x8x72xf32>, %k: memref<?x?x8x72xf32>, %lens: memref<?xi64>,
                  %scale: f32, %out: memref<?x?x8x24xf32>) {
  mla.decode
    q(%q : memref<?x?x8x72xf32>)
    k(%k : memref<?x?x8x72xf32>)
    seq_lens(%lens : memref<?xi64>)
    scale(%scale : f32)
    out(%out : memref<?x?x8x24xf32>)
    head_dim_v = 24
  return
}
