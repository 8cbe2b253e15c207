// RUN: mla-opt %s --split-input-file --mla-problem-to-tile=chip=sm_90a --mla-tile-to-gpu | FileCheck %s
// RUN: mla-opt %s --split-input-file --mla-problem-to-tile=chip=sm_90a --mla-tile-to-gpu --mla-gpu-to-nvvm | FileCheck %s --check-prefix=NVVM

// An entry of its own plans, for all launches with the same lengths; the others read its lists. It waits for no launch.

// CHECK:       entries = [<"decode_plan", []>, <"decode", []>, <"decode_combine", []>]
// CHECK-SAME:  workspace = [<"work_list", piece, memref<?x8xi32>>, <"work_range", worker, memref<?x2xi32>>, <"split_list", piece, memref<?x8xi32>>, <"split_count", worker, memref<?x1xi32>>, <"partial_out"
// CHECK-SAME:  copy = tma, plan = shared>
// CHECK:       func.func @decode_plan(
// CHECK-NOT:     name = "out"
// CHECK-SAME:    %[[W:[a-z0-9]+]]: index {mla.name = "worker"}
// CHECK-SAME:    %[[WORK:[a-z0-9]+]]: memref<?x8xi32> {mla.name = "work_list"}
// CHECK-SAME:    %[[RANGE:[a-z0-9]+]]: memref<?x2xi32> {mla.name = "work_range"}
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: memref<?x8xi32> {mla.name = "split_list"}
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: memref<?x1xi32> {mla.name = "split_count"}
// CHECK-SAME:    mla.entry = 0
// CHECK-NOT:     mla_gpu.grid_wait
// CHECK:         %[[PLAN:.*]] = mla.plan
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = mla_gpu.plan_work %[[PLAN]] worker(%[[W]]) row_blocks = 1 to %[[WORK]] splits(%[[SPLITS]], %[[COUNT]] :
// CHECK-DAG:     %[[B:.*]] = arith.index_cast %[[BEGIN]]
// CHECK-DAG:     memref.store %[[B]], %[[RANGE]][%[[W]], %c0]
// CHECK-DAG:     %[[E:.*]] = arith.index_cast %[[END]]
// CHECK-DAG:     memref.store %[[E]], %[[RANGE]][%[[W]], %c1]
// CHECK:         return

// CHECK:       func.func @decode(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: index {mla.name = "worker"}
// CHECK-SAME:    %[[RANGE:[a-z0-9]+]]: memref<?x2xi32> {mla.name = "work_range"}
// CHECK-SAME:    mla.entry = 1
// CHECK-NOT:     mla.plan
// CHECK-NOT:     mla_gpu.plan
// CHECK:         mla_gpu.grid_wait
// CHECK:         mla_gpu.grid_launch_dependents
// CHECK:         role "math"
// CHECK:           memref.load %[[RANGE]][%[[W]], %c0]
// CHECK:           memref.load %[[RANGE]][%[[W]], %c1]
// CHECK:         role "load"
// CHECK:           memref.load %[[RANGE]][%[[W]], %c0]

// CHECK:       func.func @decode_combine(
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: memref<?x8xi32> {mla.name = "split_list"}
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: memref<?x1xi32> {mla.name = "split_count"}
// CHECK-SAME:    mla.entry = 2
// CHECK-NOT:     mla.plan
// CHECK-NOT:     mla_gpu.plan
// CHECK-NOT:     mla_gpu.grid_wait
// CHECK:         %[[N32:.*]] = memref.load %[[COUNT]][%c0, %c0]
// CHECK-NEXT:    %[[N:.*]] = arith.index_cast %[[N32]]
// CHECK:         scf.for {{.*}} to %[[N]]
// CHECK:           mla_gpu.split_item %[[SPLITS]]
// CHECK:           mla_gpu.grid_wait

// NVVM:        entries = [<"decode_plan", [{{.*}}], launch = <threads = 256, {{.*}}, ctas_per_worker = 1, dependent = false>>, <"decode", [{{.*}}], launch = <{{.*}}, dependent = true>>, <"decode_combine",
func.func @decode(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x512xbf16>)
    head_dim_v = 512 schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1,
                                              stages = 2, row_blocks = 1, copy = tma, plan = shared>
  return
}

// -----

// Nothing is split: there is nothing to list for a merge.

// CHECK:       entries = [<"whole_plan", []>, <"whole", []>]
// CHECK-SAME:  workspace = [<"work_list", piece, memref<?x8xi32>>, <"work_range", worker, memref<?x2xi32>>]
// CHECK:       func.func @whole_plan(
// CHECK:         mla_gpu.plan_work {{.*}} row_blocks = 2
// CHECK-NOT:     mla_gpu.plan_splits
// CHECK:       func.func @whole(
// CHECK-NOT:     mla_gpu.plan_work
// CHECK:         role "left"
// NVVM:        entries = [<"whole_plan"
func.func @whole(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x128x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x128x512xbf16>)
    head_dim_v = 512 schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1,
                                              stages = 3, row_blocks = 2, copy = tma, plan = shared>
  return
}
