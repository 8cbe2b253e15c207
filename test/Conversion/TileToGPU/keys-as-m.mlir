// RUN: mla-opt %s --mla-problem-to-tile='chip=sm_90a split=whole' --mla-convert-tile-to-gpu --inline --canonicalize --cse | FileCheck %s
// RUN: mla-opt %s --mla-problem-to-tile=chip=sm_90a --mla-convert-tile-to-gpu --inline --canonicalize --cse | FileCheck %s --check-prefix=SPLIT

// Few rows: keys by TMA through a map of pages x KV heads x rows x columns, queries row by row.

// CHECK:       mla.kernel = #mla.kernel<arguments = [<"q", memref<?x?x16x576xbf16>>, <"k", memref<?x64x1x576xbf16>>, <"table", memref<?x?xi32>>, <"seq_lens", memref<?xi32>>, <"softmax_scale", f32>, <"out", memref<?x?x16x512xbf16>>, <"lse", memref<?x?x16xf32>>],
// CHECK-SAME:    entries = [<"decode", []>],
// CHECK-SAME:    workspace = [<"work_list", piece, memref<?x8xi32>>],
// CHECK-SAME:    schedule = <keys_as_m, block_m = 16, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.causal, kv_heads = 1, group = 16>
// CHECK:       func.func @decode({{.*}}%[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}, {{.*}}%[[SCALE:[a-z0-9]+]]: f32 {mla.name = "softmax_scale"}
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x512xbf16> {mla.name = "out"}, %[[LSE:[a-z0-9]+]]: memref<?x?x16xf32> {mla.name = "lse"}
// CHECK-SAME:    %[[WORK:[a-z0-9]+]]: memref<?x8xi32> {mla.name = "work_list"}
// CHECK-SAME:    %[[MAP:[a-z0-9]+]]: !{{.*}} {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 64x576, swizzle = 128>}
// CHECK-DAG:     %[[LOG2E:.*]] = arith.constant 1.44269{{[0-9]*}} : f32
// CHECK:         mla_gpu.grid_wait
// CHECK-NOT:     mla_gpu.grid_launch_dependents
// CHECK:         %[[PLAN:.*]] = mla.plan {{.*}} mask(#mla.causal) heads = 16 kv_heads = 1 tile = 16 x 64 split = whole
// CHECK-NEXT:    %[[BEGIN:.*]], %[[END:.*]] = mla_gpu.plan_work %[[PLAN]] worker(%{{.*}}) row_blocks = 1 to %[[WORK]] :
// CHECK:         %[[KV:.*]] = mla_gpu.pipeline %{{.*}}[0:576] writer(tma) from("load") to("math")
// CHECK:         %[[Q:.*]] = mla_gpu.pipeline %{{.*}}[0:576] writer(cp_async) from("load_q") to("math")

// CHECK:         role "math" warps(4) {
// CHECK-DAG:       %[[SCALE2:.*]] = arith.mulf %[[SCALE]], %[[LOG2E]] : f32
// CHECK:           scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// A scale that is not positive masks all tiles, which scales before the maximum.
// CHECK:             %[[POSITIVE:.*]] = arith.cmpf ogt, %[[SCALE2]], %{{.*}} : f32
// CHECK:             %[[FULL:.*]] = arith.select %[[POSITIVE]],
// CHECK:             %[[QT:.*]] = mla_gpu.wait %[[Q]]
// CHECK:             scf.for %{{.*}} iter_args(
// CHECK:               %[[KT:.*]] = mla_gpu.wait %[[KV]]
// CHECK:               %[[S:.*]] = mla_gpu.mma %[[QT]], %[[KT]] transposed
// CHECK:               %[[RAW:.*]] = mla_gpu.mma_wait %[[S]]
// CHECK:               %[[MASKED:.*]] = arith.cmpi uge, %{{.*}}, %[[FULL]] : index
// CHECK:               %[[FACTOR:.*]] = arith.select %[[MASKED]], %{{.*}}, %[[SCALE2]] : f32
// CHECK:               %[[X:.*]] = scf.if %[[MASKED]]
// CHECK:                 mla_gpu.broadcast %[[SCALE2]]
// CHECK:                 arith.mulf %[[RAW]],
// CHECK:                 mla_gpu.map
// Keys up to a query exist: nothing else asks that.
// CHECK-NOT:               arith.cmpi
// CHECK:                   arith.cmpi sle
// CHECK-NOT:               arith.cmpi
// CHECK:                   arith.select
// CHECK:               } else {
// CHECK-NEXT:            scf.yield %[[RAW]]
// CHECK:               mla_gpu.row_reduce max %[[X]]
// CHECK:               mla_gpu.broadcast %[[FACTOR]]
// CHECK:               math.fma %[[X]],
// CHECK:               mla_gpu.store_shared
// CHECK:               mla_gpu.if_any
// CHECK:               %[[V:.*]] = mla_gpu.view %[[KT]][0:512]
// CHECK:               mla_gpu.clear_rows %[[V]]
// CHECK:               mla_gpu.mma %{{.*}}, %[[V]] acc(
// CHECK:               mla_gpu.release %[[KV]]
// CHECK:             mla_gpu.release %[[Q]]
// CHECK-NOT:         scf.if
// CHECK:             %[[ROWS:.*]] = memref.subview %[[OUT]]
// CHECK:             mla_gpu.store_rows %{{.*}} to %[[ROWS]][
// CHECK:             %[[LSES:.*]] = memref.subview %[[LSE]]
// CHECK:             mla_gpu.store_rows %{{.*}} to optional %[[LSES]][

// CHECK:         role "load" warps(1) {
// CHECK:           scf.for
// CHECK:             %[[REQUEST:request[_0-9]*]], {{.*}} = mla_gpu.work_item %[[WORK]]
// CHECK:               memref.load %[[TABLE]][%[[REQUEST]], %{{.*}}]
// CHECK:               %[[DST:.*]] = mla_gpu.acquire %[[KV]]
// CHECK:               mla_gpu.tma_load %[[MAP]][
// CHECK:               mla_gpu.commit %[[KV]]
// CHECK:         role "load_q" warps(1) {
// CHECK:             mla_gpu.acquire %[[Q]]
// CHECK:             mla_gpu.gather
// CHECK:             mla_gpu.commit %[[Q]]

// Partial results: base-2 log-sum-exps, without the natural one's factor.

// SPLIT:       entries = [<"decode", []>, <"decode_pairs", []>, <"decode_combine", []>],
// SPLIT-SAME:  workspace = [<"partial_out", slot, memref<?x16x512xf32>>, <"partial_lse", slot, memref<?x16xf32>>, <"work_list", piece, memref<?x8xi32>>, <"split_list", piece, memref<?x8xi32>>]
// SPLIT:       mla_gpu.grid_launch_dependents
// SPLIT:       role "math"
// SPLIT:         %[[LSE2:.*]] = arith.addf
// SPLIT:         scf.if
// SPLIT:           arith.truncf
// SPLIT:           arith.mulf %[[LSE2]],
// SPLIT:           mla_gpu.store_rows {{.*}} to optional
// SPLIT:         } else {
// SPLIT:           mla_gpu.store_rows %{{.*}} : tensor<16x512xf32{{.*}}, memref<?x16x512xf32>
// SPLIT:           mla_gpu.store_rows %[[LSE2]] to {{.*}}, memref<?x16xf32>

// The merge finds what the main entry's CTAs split, and each of its CTAs what it does, before it waits for them.

// SPLIT:       func.func @decode_combine({{.*}}%[[CTAS:[a-z0-9]+]]: index {mla.name = "num_workers"}
// SPLIT-SAME:    mla_gpu.ctas_per_worker = 2 : i64
// SPLIT:         %[[ASKED:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32
// SPLIT:         %[[SMALL:.*]] = arith.cmpi sle, %{{.*}}, %c16
// SPLIT:         %[[CHAINED:.*]] = arith.andi %[[ASKED]], %[[SMALL]]
// SPLIT-NEXT:    scf.if %[[CHAINED]] {
// SPLIT-NEXT:      mla_gpu.grid_launch_dependents
// SPLIT:         %[[MAIN:.*]] = arith.divui %[[CTAS]], %c2
// SPLIT:         %[[PLAN:.*]] = mla.plan {{.*}} workers(%[[MAIN]])
// SPLIT:         %[[COUNT:.*]] = mla_gpu.plan_splits %[[PLAN]] row_blocks = 1 pairs to %[[SPLITS:.*]] :
// SPLIT-NOT:     mla_gpu.grid_wait
// SPLIT:         scf.for %[[I:.*]] = {{.*}} to %[[COUNT]]
// SPLIT:           mla_gpu.split_item %[[SPLITS]][%[[I]]]
// SPLIT:           mla_gpu.grid_wait
// SPLIT:           mla_gpu.merge
// SPLIT:         }
// SPLIT:         mla_gpu.grid_wait
// SPLIT-NEXT:    return
func.func @decode(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>,
                  %lse: memref<?x?x16xf32>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x512xbf16>)
    lse(%lse : memref<?x?x16xf32>)
    head_dim_v = 512
  return
}
