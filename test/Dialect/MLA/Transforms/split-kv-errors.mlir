// RUN: mla-opt %s --mla-split-kv --split-input-file --verify-diagnostics

#balanced = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>

// expected-error @+1 {{requires one mla.plan and one mla.store in mla.for_work to split, but got 1 and 2}}
func.func @two_stores(%lens: memref<?xi32>, %n: index, %out: memref<?x?x16x64xf32>, %w: index, %ws: index)
    attributes {mla.schedule = #balanced} {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal)
    heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    mla.store %o, %l at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
    mla.store %o, %l at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  }
  return
}

// -----

#balanced = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>

// expected-error @+1 {{requires one mla.plan and one mla.store in mla.for_work to split, but got 1 and 1}}
func.func @store_outside(%lens: memref<?xi32>, %n: index, %out: memref<?x?x16x64xf32>, %item: !mla.item, %ws: index)
    attributes {mla.schedule = #balanced} {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal)
    heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
  %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
  mla.store %o, %l at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  return
}
