// RUN: mla-opt %s --split-input-file --verify-diagnostics --mla-convert-tile-to-gpu

// Each case is what mla-tile makes, but for one thing.

#gpu = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
#keys = #mla.schedule<keys_as_m, block_m = 8, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
!q = memref<?x?x8x128xbf16>
!k = memref<?x?x1x128xbf16>
!kv = !mla.kv_tile<64x128xbf16, v = 64>
!o = tensor<8x64xf32>
!row = tensor<8xf32>
module attributes {mla.target = #gpu} {
  func.func @no_mask(%q: !q {mla.name = "q"}, %k: !k {mla.name = "k"}, %lens: memref<?xi32> {mla.name = "seq_lens"}, %scale: f32 {mla.name = "softmax_scale"},
                     %out: memref<?x?x8x64xbf16> {mla.name = "out"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #keys} {
    %c1 = arith.constant 1 : index
    %queries = memref.dim %q, %c1 : !q
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%queries) workers(%n) mask(#mla.none) heads = 8 kv_heads = 1 tile = 8 x 64 split = whole split_tiles = 1
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : !q) : tensor<8x128xbf16>
      %o, %m, %l = mla.init : !o, !row, !row
      // expected-error @+1 {{requires an mla.mask, or the range of an mla.full_tiles}}
      %r:3 = scf.for %t = %first to %end step %c1 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !row, !row) {
        %kt = mla.load_kv %item[%t] from(%k : !k) : !kv
        %s = mla.qk %qt, %kt : tensor<8x128xbf16>, !kv -> tensor<8x64xf32>
        %x = mla.score %s at %item[%t] {
        ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %raw: f32):
          %y = arith.mulf %raw, %scale : f32
          mla.yield %y : f32
        } : tensor<8x64xf32>
        %p, %a, %m1, %l1 = mla.softmax_step %x, %m0, %l0 : tensor<8x64xf32>, !row -> tensor<8x64xbf16>
        %o1 = mla.pv %p, %kt, %o0 rescale(%a) : tensor<8x64xbf16>, !kv, !o, !row
        scf.yield %o1, %m1, %l1 : !o, !row, !row
      }
      %final, %lse = mla.finalize %r#0, %r#1, %r#2 : !o, !row
      mla.store %final, %lse at %item to(%out : memref<?x?x8x64xbf16>) : !o, !row
    }
    return
  }
}

// -----

#gpu = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
#keys = #mla.schedule<keys_as_m, block_m = 8, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
module attributes {mla.target = #gpu} {
  // expected-error @+1 {{requires one mla.plan to be lowered to a GPU, but got 0}}
  func.func @no_plan() attributes {mla.entry = 0 : i64, mla.schedule = #keys} {
    return
  }
}

// -----

#gpu = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
#host = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>
module attributes {mla.target = #gpu} {
  // expected-error @+1 {{requires an 'mla.schedule' of a GPU to be lowered to one}}
  func.func @of_a_cpu() attributes {mla.entry = 0 : i64, mla.schedule = #host} {
    return
  }
}
