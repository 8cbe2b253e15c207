// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func @f(%plan: !mla.plan, %w: index, %list: memref<?x8xi32>) {
  // expected-error @+1 {{(plan_work_c1) requires an mla.plan of the function}}
  %begin, %end = mla_gpu.plan_work %plan worker(%w) row_blocks = 1 to %list : memref<?x8xi32>
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %list: memref<?x7xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  // expected-error @+1 {{(plan_work_c2) requires a list of 8 fields an entry, but got 'memref<?x7xi32>'}}
  %begin, %end = mla_gpu.plan_work %plan worker(%n) row_blocks = 1 to %list : memref<?x7xi32>
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %list: memref<?x8xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  // expected-error @+1 {{(plan_work_c2) requires a positive row_blocks, but got 0}}
  %begin, %end = mla_gpu.plan_work %plan worker(%n) row_blocks = 0 to %list : memref<?x8xi32>
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %list: memref<?x8xi32>, %few: memref<?x7xi32>, %count: memref<?x1xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  // expected-error @+1 {{(plan_work_c4) requires a list of 8 fields an entry, but got 'memref<?x7xi32>'}}
  %begin, %end = mla_gpu.plan_work %plan worker(%n) row_blocks = 1 to %list splits(%few, %count : memref<?x7xi32>, memref<?x1xi32>) : memref<?x8xi32>
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %yes: i1, %list: memref<?x8xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  scf.if %yes {
    // expected-error @+1 {{(plan_splits_c3) requires to be outside of roles, loops and branches}}
    %count = mla_gpu.plan_splits %plan row_blocks = 1 to %list : memref<?x8xi32>
  }
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %list: memref<?x8xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  // expected-error @+1 {{(plan_work_c5) requires row_blocks = 1 with pairs, but got 2}}
  %begin, %end = mla_gpu.plan_work %plan worker(%n) row_blocks = 2 pairs to %list : memref<?x8xi32>
  return
}

// -----

func.func @f(%plan: !mla.plan, %list: memref<?x8xi32>) {
  // expected-error @+1 {{(plan_splits_c1) requires an mla.plan of the function}}
  %count = mla_gpu.plan_splits %plan row_blocks = 1 to %list : memref<?x8xi32>
  return
}

// -----

func.func @f(%lens: memref<?xi32>, %n: index, %list: memref<?x2xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  // expected-error @+1 {{(plan_splits_c2) requires a list of 8 fields an entry, but got 'memref<?x2xi32>'}}
  %count = mla_gpu.plan_splits %plan row_blocks = 1 to %list : memref<?x2xi32>
  return
}

// -----

func.func @f(%i: index, %list: memref<?x2xi32>) {
  // expected-error @+1 {{(work_item_c1) requires a list of 8 fields an entry, but got 'memref<?x2xi32>'}}
  %0:8 = mla_gpu.work_item %list[%i] : memref<?x2xi32>
  return
}

// -----

func.func @f(%i: index, %list: memref<?x2xi32>) {
  // expected-error @+1 {{(split_item_c1) requires a list of 8 fields an entry, but got 'memref<?x2xi32>'}}
  %0:8 = mla_gpu.split_item %list[%i] : memref<?x2xi32>
  return
}
