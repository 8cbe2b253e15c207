// Tiles by hand: a schedule that select-schedule would refuse is refused here too,
// and what it says is what the tiles are.
//
// RUN: mla-opt %s --mla-convert-tile-to-host --split-input-file --verify-diagnostics

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #target} {
  // expected-error @+1 {{block_m = 12 is neither a power of two nor a multiple of the 8 f32 lanes of a vector}}
  func.func @decode(%lens: memref<?xi32> {mla.name = "seq_lens"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                    %sq: index {mla.name = "s_q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 12, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 12 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #target} {
  // expected-error @+1 {{register block 'qk' of 3 rows is not a power of two of at most the 8 f32 lanes of a vector}}
  func.func @decode(%lens: memref<?xi32> {mla.name = "seq_lens"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                    %sq: index {mla.name = "s_q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 24, block_n = 16, split = whole, split_tiles = 8, qk = 3x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 24 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

// The plan and the tiles have the shape of the schedule's tile.

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #target} {
  func.func @decode(%lens: memref<?xi32> {mla.name = "seq_lens"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                    %sq: index {mla.name = "s_q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    // expected-error @+1 {{'mla.plan' op requires the tile of the schedule, 16 x 16, but got 4 x 16}}
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #target} {
  func.func @decode(%lens: memref<?xi32> {mla.name = "seq_lens"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                    %sq: index {mla.name = "s_q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 16 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.init' op requires tiles of 16 rows, but got 'tensor<32x16xf32>'}}
      %o, %m, %l = mla.init : tensor<32x16xf32>, tensor<32xf32>, tensor<32xf32>
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #target} {
  func.func @decode(%lens: memref<?xi32> {mla.name = "seq_lens"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                    %sq: index {mla.name = "s_q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 16 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.load_kv' op requires tiles of 16 keys, but got '!mla.kv_tile<32x16xf32, v = 16>'}}
      %kt = mla.load_kv %item[%first] from(%k : memref<?x?x1x16xf32>) : !mla.kv_tile<32x16xf32, v = 16>
    }
    return
  }
}
