func.func @decode(%q: memref<?x16x512xf16>, %qr: memref<?x16x64xf16>, %k: memref<?x?x1x512xf16>,
                  %kr: memref<?x?x1x64xf16>, %ptr: memref<?xi32>, %idx: memref<?xi32>,
                  %lens: memref<?xi32>, %offs: memref<?xi32>, %scale: f32, %cap: f32,
                  %splits: i32, %out: memref<?x16x512xf16>, %lse: memref<?x16xf32>) {
  mla.decode
    q(%q : memref<?x16x512xf16>, %qr : memref<?x16x64xf16>)
    k(%k : memref<?x?x1x512xf16>, %kr : memref<?x?x1x64xf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    num_splits(%splits : i32)
    mask(#mla.causal)
    out(%out : memref<?x16x512xf16>)
    lse(%lse : memref<?x16xf32>)
    head_dim_v = 512
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      mla.yield %z : f32
    }
  return
}
