// Tile values that no tile op of the work loop makes are valid IR, and refused.
//
// RUN: mla-opt %s --mla-convert-tile-to-host --split-input-file --verify-diagnostics

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @argument(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                      %k: memref<?x?x1x16xf32> {mla.name = "k"},
                      %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                      %n: index {mla.name = "num_workers"}, %s: tensor<4x16xf32> {mla.name = "s"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.mask' op requires tile values that tile ops make in the same work loop}}
      %s1 = mla.mask %s by %plan at %item[%first] : tensor<4x16xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @constant(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                      %k: memref<?x?x1x16xf32> {mla.name = "k"},
                      %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                      %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %s = arith.constant dense<0.0> : tensor<4x16xf32>
      // expected-error @+1 {{'mla.mask' op requires tile values that tile ops make in the same work loop}}
      %s1 = mla.mask %s by %plan at %item[%first] : tensor<4x16xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @tile_argument(%lens: memref<?xi32> {mla.name = "seq_lens"},
                           %q: memref<?x?x4x16xf32> {mla.name = "q"},
                           %k: memref<?x?x1x16xf32> {mla.name = "k"},
                           %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                           %n: index {mla.name = "num_workers"},
                           %kt: !mla.kv_tile<16x16xf32, v = 16> {mla.name = "kt"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
      // expected-error @+1 {{'mla.qk' op requires tile values that tile ops make in the same work loop}}
      %s = mla.qk %qt, %kt : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16> -> tensor<4x16xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @init_argument(%lens: memref<?xi32> {mla.name = "seq_lens"},
                           %q: memref<?x?x4x16xf32> {mla.name = "q"},
                           %k: memref<?x?x1x16xf32> {mla.name = "k"},
                           %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                           %n: index {mla.name = "num_workers"}, %s: tensor<4x16xf32> {mla.name = "s"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'scf.for' op requires tile values that tile ops make in the same work loop}}
      %r = scf.for %t = %first to %end step %n iter_args(%i = %s) -> (tensor<4x16xf32>) {
        scf.yield %i : tensor<4x16xf32>
      }
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @item_argument(%lens: memref<?xi32> {mla.name = "seq_lens"},
                           %q: memref<?x?x4x16xf32> {mla.name = "q"},
                           %k: memref<?x?x1x16xf32> {mla.name = "k"},
                           %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                           %n: index {mla.name = "num_workers"}, %other: !mla.item {mla.name = "other"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.load_q' op requires tile values that tile ops make in the same work loop}}
      %qt = mla.load_q %other from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
    }
    return
  }
}
