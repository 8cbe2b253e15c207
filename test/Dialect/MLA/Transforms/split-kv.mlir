// RUN: mla-opt %s --mla-split-kv | FileCheck %s

#whole = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
#balanced = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
#row_local = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = row_local, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>

// A schedule that does not split: unchanged, no second entry.

// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     partial
// CHECK:         mla.plan {{.*}} split = whole
// CHECK-NOT:     scf.if
// CHECK:         mla.store %
// CHECK-NOT:   func.func @whole_combine
func.func @whole(%lens: memref<?xi32>, %n: index, %out: memref<?x?x16x64xf32>, %w: index, %ws: index)
    attributes {mla.entry = 0 : i64, mla.schedule = #whole} {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal)
    heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    mla.store %o, %l at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  }
  return
}

// Balanced: the plan says so, pieces that are not whole go to a slot.

// CHECK-LABEL: func.func @balanced(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x16x64xf32> {mla.name = "q"}, %[[LENS:[a-z0-9]+]]: memref<?xi32> {mla.name = "seq_lens"},
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: i32 {mla.name = "num_splits"}, %{{.*}}: f32 {mla.name = "cap"},
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x64xbf16> {mla.name = "out"}, %[[LSE:[a-z0-9]+]]: memref<?x?x16xf32> {mla.name = "lse"},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: index {mla.name = "worker"}, %[[N:[a-z0-9]+]]: index {mla.name = "num_workers"},
// CHECK-SAME:    %[[PO:[a-z0-9]+]]: memref<?x16x64xf32> {mla.name = "partial_out"}, %[[PL:[a-z0-9]+]]: memref<?x16xf32> {mla.name = "partial_lse"})
// CHECK-SAME:    mla.entry = 0 : i64
// CHECK:         mla.plan seq_lens(%[[LENS]] : memref<?xi32>) queries(%{{.*}}) workers(%[[N]]) splits(%[[SPLITS]]) mask(#mla.causal) {{.*}} split = balanced split_tiles = 8
// CHECK:         mla.for_work
// CHECK-NEXT:    ^bb0(%[[ITEM:.*]]: !mla.item, %{{.*}}: index, %{{.*}}: index, %[[WHOLE:.*]]: i1):
// CHECK-NEXT:      %[[O:.*]], %{{.*}}, %[[L:.*]] = mla.init
// CHECK-NEXT:      scf.if %[[WHOLE]] {
// CHECK-NEXT:        mla.store %[[O]], %[[L]] at %[[ITEM]] to(%[[OUT]] : memref<?x?x16x64xbf16>, %[[LSE]] : memref<?x?x16xf32>)
// CHECK-NEXT:      } else {
// CHECK-NEXT:        mla.store_partial %[[O]], %[[L]] at %[[ITEM]] to(%[[PO]], %[[PL]] : memref<?x16x64xf32>, memref<?x16xf32>)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    return
//
// The second entry is right behind: same plan, only the arguments that it uses,
// and those keep their names.
// CHECK-LABEL: func.func @balanced_combine(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x16x64xf32> {mla.name = "q"}, %[[LENS:[a-z0-9]+]]: memref<?xi32> {mla.name = "seq_lens"},
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: i32 {mla.name = "num_splits"},
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x64xbf16> {mla.name = "out"}, %[[LSE:[a-z0-9]+]]: memref<?x?x16xf32> {mla.name = "lse"},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: index {mla.name = "worker"}, %[[N:[a-z0-9]+]]: index {mla.name = "num_workers"},
// CHECK-SAME:    %[[PO:[a-z0-9]+]]: memref<?x16x64xf32> {mla.name = "partial_out"}, %[[PL:[a-z0-9]+]]: memref<?x16xf32> {mla.name = "partial_lse"})
// CHECK-SAME:    mla.entry = 1 : i64
// CHECK:         %[[SQ:.*]] = memref.dim %[[Q]]
// CHECK:         %[[PLAN:.*]] = mla.plan seq_lens(%[[LENS]] : memref<?xi32>) queries(%[[SQ]]) workers(%[[N]]) splits(%[[SPLITS]]) mask(#mla.causal) {{.*}} split = balanced split_tiles = 8
// CHECK-NEXT:    mla.for_split %[[PLAN]] worker(%[[W]]) {
// CHECK-NEXT:    ^bb0(%[[ITEM:.*]]: !mla.item, %[[PIECES:.*]]: index):
// CHECK-NEXT:      %[[O:.*]], %[[L:.*]] = mla.combine %[[ITEM]] pieces(%[[PIECES]]) from(%[[PO]], %[[PL]] : memref<?x16x64xf32>, memref<?x16xf32>)
// CHECK-NEXT:      mla.store %[[O]], %[[L]] at %[[ITEM]] to(%[[OUT]] : memref<?x?x16x64xbf16>, %[[LSE]] : memref<?x?x16xf32>)
// CHECK-NEXT:    }
// CHECK-NEXT:    return
// CHECK-NOT:   func.func @balanced_combine
func.func @balanced(%q: memref<?x?x16x64xf32> {mla.name = "q"}, %lens: memref<?xi32> {mla.name = "seq_lens"},
                    %splits: i32 {mla.name = "num_splits"}, %cap: f32 {mla.name = "cap"},
                    %out: memref<?x?x16x64xbf16> {mla.name = "out"}, %lse: memref<?x?x16xf32> {mla.name = "lse"},
                    %w: index {mla.name = "worker"}, %ws: index {mla.name = "num_workers"})
    attributes {mla.entry = 0 : i64, mla.schedule = #balanced} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %q, %c1 : memref<?x?x16x64xf32>
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) splits(%splits)
    mask(#mla.causal) heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    mla.store %o, %l at %item to(%out : memref<?x?x16x64xbf16>, %lse : memref<?x?x16xf32>) : tensor<16x64xf32>, tensor<16xf32>
  }
  return
}

// Row-local, without LSE and split count, ragged.

// CHECK-LABEL: func.func @row_local(
// CHECK:         mla.plan {{.*}} split = row_local split_tiles = 8
// CHECK:         mla.store_partial
// CHECK-LABEL: func.func @row_local_combine(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<?xi32> {mla.name = "seq_lens"}, %[[OFFS:[a-z0-9]+]]: memref<?xi32> {mla.name = "q_offsets"},
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x16x64xf32> {mla.name = "out"},
// CHECK:         mla.plan {{.*}} q_offsets(%[[OFFS]] : memref<?xi32>) {{.*}} split = row_local split_tiles = 8
// CHECK:         mla.store %{{.*}} to(%[[OUT]] : memref<?x16x64xf32>) :
func.func @row_local(%lens: memref<?xi32> {mla.name = "seq_lens"}, %offs: memref<?xi32> {mla.name = "q_offsets"},
                     %out: memref<?x16x64xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                     %ws: index {mla.name = "num_workers"})
    attributes {mla.entry = 0 : i64, mla.schedule = #row_local} {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) q_offsets(%offs : memref<?xi32>) workers(%ws)
    mask(#mla.none) heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    mla.store %o, %l at %item to(%out : memref<?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  }
  return
}

// Without a schedule there is nothing to split.

// CHECK-LABEL: func.func @other(
// CHECK-NEXT:    return
func.func @other(%x: index) {
  return
}
