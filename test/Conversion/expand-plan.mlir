// RUN: mla-opt %s --mla-gpu-expand-plan --canonicalize --cse | FileCheck %s

// Each role that uses the range loads it, and of an item, what is used.

func.func private @use(index)

// CHECK-LABEL: func.func @work(
// CHECK-SAME:    %[[LENS:[a-z0-9]+]]: memref<?xi32>, {{.*}} %[[LIST:[a-z0-9]+]]: memref<?x8xi32>
// CHECK-NOT:     mla.plan
// CHECK:         %[[RANGE:.*]] = memref.alloca() : memref<2xi32, 3>
// CHECK-DAG:     memref.store %c0_i32, %[[RANGE]][%c0]
// CHECK-DAG:     memref.store %c0_i32, %[[RANGE]][%c1]
// CHECK:         mla_gpu.scan {{.*}} ["sum", "max"] {
// CHECK:           memref.load %[[LENS]]
// CHECK:         mla_gpu.scan {{.*}} ["sum"] {
// CHECK:         } then {
// CHECK:           memref.store {{.*}}, %[[RANGE]][%c0]
// CHECK:           memref.store {{.*}}, %[[RANGE]][%c1]
// CHECK-COUNT-8:   memref.store {{.*}}, %[[LIST]]
// CHECK-NOT:     memref.load %[[RANGE]]
// CHECK:         role "a"
// CHECK-DAG:       %[[B:.*]] = memref.load %[[RANGE]][%c0]
// CHECK-DAG:       %[[BEGIN:.*]] = arith.index_cast %[[B]]
// CHECK-DAG:       %[[E:.*]] = memref.load %[[RANGE]][%c1]
// CHECK-DAG:       %[[END:.*]] = arith.index_cast %[[E]]
// CHECK:           scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK-NEXT:        %[[T:.*]] = memref.load %[[LIST]][%[[I]], %c4]
// CHECK-NEXT:        %[[TILES:.*]] = arith.index_cast %[[T]]
// CHECK-NEXT:        func.call @use(%[[TILES]])
// CHECK-NEXT:      }
// CHECK:         role "b"
// CHECK:           memref.load %[[RANGE]][%c1]
// CHECK-NOT:       memref.load
// CHECK:         return
func.func @work(%lens: memref<?xi32>, %n: index, %w: index, %ws: index, %list: memref<?x8xi32>) {
  %c1 = arith.constant 1 : index
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  %begin, %end = mla_gpu.plan_work %plan worker(%w) row_blocks = 1 to %list : memref<?x8xi32>
  mla_gpu.warp_specialize
  role "a" warps(1) {
    scf.for %i = %begin to %end step %c1 {
      %request, %kv_head, %first_row, %first_tile, %tiles, %slot, %keys, %queries = mla_gpu.work_item %list[%i] : memref<?x8xi32>
      func.call @use(%tiles) : (index) -> ()
      // Of no use to anybody.
      %sum = arith.addi %keys, %queries : index
    }
  }
  role "b" warps(1) {
    func.call @use(%end) : (index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @splits(
// CHECK-SAME:    %[[LIST:[a-z0-9]+]]: memref<?x8xi32>
// CHECK:         %[[STAGING:.*]] = memref.alloca() : memref<256x8xi32, 3>
// CHECK:         mla_gpu.scan {{.*}} ["sum", "max"]
// CHECK:         mla_gpu.scan {{.*}} ["sum"] {
// CHECK:           memref.store {{.*}}, %[[STAGING]]
// CHECK:         %[[COUNT:.*]] = mla_gpu.scan {{.*}} ["sum"] {
// CHECK:           memref.store {{.*}}, %[[LIST]]
// CHECK:         %[[P:.*]] = memref.load %[[LIST]][%[[COUNT]], %c3]
// CHECK-NEXT:    %[[PIECES:.*]] = arith.index_cast %[[P]]
// CHECK-NEXT:    return %[[PIECES]]
func.func @splits(%lens: memref<?xi32>, %n: index, %ws: index, %list: memref<?x8xi32>) -> index {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  %count = mla_gpu.plan_splits %plan row_blocks = 1 to %list : memref<?x8xi32>
  %request, %kv_head, %first_row, %pieces, %first_slot, %next_slot, %slot_stride, %queries = mla_gpu.split_item %list[%count] : memref<?x8xi32>
  return %pieces : index
}

// Pairs: CTAs for two pieces, an even number of them, and half of the longest unit at most 1.5 times the mean. Nothing is then
// listed for the merge, and slots are -2.

// CHECK-LABEL: func.func @pairs(
// CHECK-SAME:    %[[WS:[a-z0-9]+]]: index, %[[LIST:[a-z0-9]+]]: memref<?x8xi32>
// CHECK:         %[[GROUPS:.*]] = arith.minsi %[[WS]], %c256
// CHECK:         %[[TOTALS:.*]]:2 = mla_gpu.scan {{.*}} ["sum", "max"]
// CHECK:         %[[HALF:.*]] = arith.divui %{{.*}}, %c2
// CHECK:         %[[MOST:.*]] = arith.cmpi sle, %[[HALF]], %{{.*}}
// CHECK:         %[[PAIRED:.*]] = arith.select %{{.*}}, %false, %{{.*}} : i1
// CHECK:         arith.select %[[PAIRED]], %[[HALF]],
// CHECK:         mla_gpu.scan {{.*}} ["sum"] {
// CHECK:           arith.select %[[PAIRED]], %c-2, %{{.*}} : index
// CHECK:         %[[SLOT:.*]] = memref.load %[[LIST]][%{{.*}}, %c5]
// CHECK:         %[[INDEX:.*]] = arith.index_cast %[[SLOT]]
// CHECK:         %[[IS:.*]] = arith.cmpi eq, %[[INDEX]], %c-2
// CHECK:         return %[[IS]]
func.func @pairs(%lens: memref<?xi32>, %n: index, %w: index, %ws: index, %list: memref<?x8xi32>) -> i1 {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  %begin, %end = mla_gpu.plan_work %plan worker(%w) row_blocks = 1 pairs to %list : memref<?x8xi32>
  %paired = mla_gpu.paired_item %list[%begin] : memref<?x8xi32>
  return %paired : i1
}

// The last CTA also lists what is split, as it scans for its own work: by group it stages them, and packs the list.

// CHECK-LABEL: func.func @work_and_splits(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<?xi32>, %{{[a-z0-9]+}}: index, %[[W:[a-z0-9]+]]: index, %[[WS:[a-z0-9]+]]: index, {{.*}} %[[SPLITS:[a-z0-9]+]]: memref<?x8xi32>, %[[COUNT:[a-z0-9]+]]: memref<?x1xi32>
// CHECK:         %[[NEXT:.*]] = arith.addi %[[W]], %c1
// CHECK:         %[[LISTS:.*]] = arith.cmpi eq, %[[NEXT]], %[[WS]]
// CHECK:         %[[STAGES:.*]] = arith.andi %{{.*}}, %[[LISTS]]
// CHECK:         mla_gpu.scan {{.*}} ["sum"]
// CHECK:         } then {
// CHECK:           scf.if %[[STAGES]] {
// CHECK:         %[[GROUPS:.*]] = arith.select %[[STAGES]], %{{.*}}, %c0
// CHECK:         %[[N:.*]] = mla_gpu.scan %[[GROUPS]] ["sum"]
// CHECK:           memref.store {{.*}}, %[[SPLITS]]
// CHECK:         scf.if %[[LISTS]] {
// CHECK-NEXT:      %[[N32:.*]] = arith.index_cast %[[N]]
// CHECK-NEXT:      memref.store %[[N32]], %[[COUNT]][%c0, %c0]
func.func @work_and_splits(%lens: memref<?xi32>, %n: index, %w: index, %ws: index, %list: memref<?x8xi32>, %splits: memref<?x8xi32>,
                           %count: memref<?x1xi32>) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%ws) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 1
  %begin, %end = mla_gpu.plan_work %plan worker(%w) row_blocks = 1 to %list splits(%splits, %count : memref<?x8xi32>, memref<?x1xi32>)
    : memref<?x8xi32>
  func.call @use(%begin) : (index) -> ()
  func.call @use(%end) : (index) -> ()
  return
}
