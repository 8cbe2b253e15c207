// Plan, schedule and arguments say the same: the runtime sizes the workspace by
// them.
//
// RUN: mla-opt %s --mla-convert-tile-to-host --split-input-file --verify-diagnostics

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @other_split(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    // expected-error @+1 {{requires the split of the schedule, balanced of 8 tiles, but got row_local of 8}}
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = row_local split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @other_count(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    // expected-error @+1 {{requires the argument named 'num_splits' in its place, but got another value}}
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%other) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @other_heads(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 32 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{requires the 32 heads of the plan, but got 'memref<?x?x4x16xf32>'}}
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<8x16xf32>
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @other_plan(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    %second = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.full_tiles' op requires the plan of its work loop}}
      %b, %e = mla.full_tiles %second[%item] from %first to %end
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @not_scores(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<8x16xf32>
      // expected-error @+1 {{requires scores of mla.qk, mla.score or mla.mask}}
      %m = mla.mask %qt by %plan at %item[%first] : tensor<8x16xf32>
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  func.func @nested(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %yes = arith.constant true
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    // expected-error @+1 {{holds a work loop, but work loops are required at the top of an entry}}
    scf.if %yes {
      mla.for_work %plan worker(%w) {
      ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      }
    }
    return
  }
}

// -----

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 4x2, kv = direct>
module attributes {mla.target = #target} {
  // expected-error @+1 {{stores partial results, but no entry merges them by mla.combine}}
  func.func @partials_alone(%lens: memref<?xi32> {mla.name = "seq_lens"}, %sq: index {mla.name = "s_q"}, %ns: i32 {mla.name = "num_splits"}, %other: i32 {mla.name = "ns"}, %k: memref<?x?x1x16xf32> {mla.name = "k"}, %q: memref<?x?x4x16xf32> {mla.name = "q"}, %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) splits(%ns) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 8 x 16 split = balanced split_tiles = 8
    %po = memref.alloc(%n) : memref<?x8x16xf32>
    %pl = memref.alloc(%n) : memref<?x8xf32>
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %o, %m, %l = mla.init : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>
      %out, %lse = mla.finalize %o, %m, %l : tensor<8x16xf32>, tensor<8xf32>
      mla.store_partial %out, %lse at %item to(%po, %pl : memref<?x8x16xf32>, memref<?x8xf32>) : tensor<8x16xf32>, tensor<8xf32>
    }
    return
  }
}
