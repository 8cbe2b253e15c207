// Entries are functions with a body of one block whose arguments have names.
//
// RUN: mla-opt %s --mla-convert-tile-to-host --split-input-file --verify-diagnostics

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>
module attributes {mla.target = #target} {
  // expected-error @+1 {{requires argument 1 of an entry to have an 'mla.name'}}
  func.func @unnamed(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index, %w: index {mla.name = "worker"},
                     %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
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
#schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @main(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"},
                  %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }

  // expected-error @+1 {{requires an entry of one block}}
  func.func private @declared(index {mla.name = "worker"}) attributes {mla.entry = 1 : i64, mla.schedule = #schedule}
}

// -----

// Two problems in a module are two kernels, of which a module can hold one.

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @main(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"},
                  %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }

  // expected-error @+1 {{requires to be the only entry with 'mla.entry' = 0}}
  func.func @other(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"},
                   %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}
