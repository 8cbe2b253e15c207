// Pairs of CTAs merge the halves of a row block themselves, where the plan has them.
// RUN: mla-opt %s --mla-problem-to-tile=chip=sm_90a --mla-convert-tile-to-gpu --inline --canonicalize --cse | FileCheck %s
// RUN: mla-opt %s --mla-problem-to-tile=chip=sm_90a --mla-tile-to-gpu --mla-gpu-to-nvvm | FileCheck %s --check-prefix=NVVM
// RUN: sed 's/cluster = 2>/cluster = 2, plan = shared>/' %s | mla-opt --mla-problem-to-tile=chip=sm_90a --mla-convert-tile-to-gpu --inline --canonicalize --cse | FileCheck %s --check-prefix=SHARED
// RUN: sed -e 's/xf32>) {/xf32>, %%splits: i32) {/; s/ scale(%%scale : f32)/& num_splits(%%splits : i32)/' %s \
// RUN:   | mla-opt --mla-problem-to-tile=chip=sm_90a --mla-convert-tile-to-gpu | FileCheck %s --check-prefix=SPLITS

// CHECK:      entries = [<"decode", []>, <"decode_pairs", []>, <"decode_combine", []>]
// CHECK-SAME: schedule = <keys_as_m, {{.*}}, cluster = 2>
// Launches without clusters have an entry that knows nothing of pairs.
// CHECK:      func.func @decode({{.*}} attributes {mla.entry = 0 : i64
// CHECK-NOT:  pairs to
// CHECK-NOT:  mla_gpu.exchange
// CHECK-NOT:  mla_gpu.paired_item
// CHECK-NOT:  mla_gpu.cluster
// CHECK:      func.func @decode_pairs({{.*}} attributes {mla.entry = 1 : i64, {{.*}}mla_gpu.cluster = 2
// CHECK:      mla_gpu.plan_work %{{.*}} row_blocks = 1 pairs to
// CHECK:      %[[Q:.*]] = mla_gpu.pipeline {{.*}} from("load_q") to("math")
// CHECK:      role "math"
// CHECK:        %[[QT:.*]] = mla_gpu.wait %[[Q]]
// CHECK:        %[[OUT:.*]] = arith.mulf %{{.*}}#0,
// CHECK:        %[[LSE:.*]] = arith.addf %{{.*}}#1,
// CHECK:        %[[PAIRED:.*]] = mla_gpu.paired_item
// CHECK:        scf.if %[[PAIRED]] {
// CHECK:          %[[MINE:.*]], %[[THEIRS:.*]], %[[ROWS:.*]], %[[COLUMN:.*]] = mla_gpu.exchange %[[OUT]], %[[LSE]] through %[[QT]]
// CHECK-NEXT:     mla_gpu.release %[[Q]]
// Weights of the two are 2^(lse - most) over their sum.
// CHECK:          %[[MOST:.*]] = arith.maximumf %[[LSE]], %[[ROWS]]
// CHECK:          arith.subf %[[LSE]],
// CHECK:          arith.subf %[[ROWS]],
// CHECK:          %[[SCALED:.*]] = arith.mulf %[[MINE]],
// CHECK:          %[[MERGED:.*]] = math.fma %[[THEIRS]], %{{.*}}, %[[SCALED]]
// CHECK:          %[[ROUND:.*]] = arith.truncf %[[MERGED]]
// CHECK:          mla_gpu.store_rows %[[ROUND]] to %{{.*}}, %[[COLUMN]]] {{.*}} : tensor<16x256xbf16
// The first CTA stores the log-sum-exps.
// CHECK:          %[[FIRST:.*]] = arith.cmpi eq, %[[COLUMN]], %c0
// CHECK:          scf.if %[[FIRST]] {
// CHECK:            mla_gpu.store_rows {{.*}} to optional
// CHECK:        } else {
// CHECK-NEXT:     mla_gpu.release %[[Q]]
// CHECK:          scf.if
// CHECK:      attributes {mla.entry = 2 : i64, {{.*}}mla_gpu.ctas_per_worker
// CHECK:      mla_gpu.plan_splits %{{.*}} row_blocks = 1 pairs to

// Only the entry that exchanges is launched in clusters, and it needs no more memory than without.
// NVVM:       entries = [<"decode", [{{.*}}], launch = <threads = 192, shared_bytes = 186{{[0-9]+}}, ctas_per_worker = 1, dependent = true>>,
// NVVM-SAME:  <"decode_pairs", [{{.*}}], launch = <threads = 192, shared_bytes = 186{{[0-9]+}}, ctas_per_worker = 1, dependent = true, cluster = 2>>, <"decode_combine",
// NVVM-NOT:   cluster = 2>>
// NVVM:       workspace =
// NVVM:       llvm.func @decode(
// NVVM-NOT:     barrier.cluster
// NVVM-NOT:     cluster_ctarank
// NVVM:       llvm.func @decode_pairs(
// NVVM:         "barrier.cluster.arrive.release;"
// NVVM:         "barrier.cluster.wait.acquire;"
// NVVM:         st.shared::cluster
// NVVM:       llvm.func @decode_combine(
// NVVM-NOT:     cluster

// Launches that give a count of splits have no pairs.
// SPLITS:     func.func @decode(
// SPLITS:     mla.plan {{.*}} workers({{[^)]*}}) splits(
// SPLITS:     func.func @decode_pairs(
// SPLITS:     mla.plan {{.*}} workers({{[^)]*}}) mask(
// SPLITS:     func.func @decode_combine(
// SPLITS:     mla.plan {{.*}} workers({{[^)]*}}) splits(

// A shared plan is that of both.
// SHARED:     entries = [<"decode_plan", []>, <"decode", []>, <"decode_pairs", []>, <"decode_combine", []>]
// SHARED:     func.func @decode_plan({{.*}} attributes {mla.entry = 0
// SHARED:     func.func @decode(
// SHARED-NOT: plan_work
// SHARED:     func.func @decode_pairs(
// SHARED-NOT: plan_work
// SHARED:     mla_gpu.exchange

func.func @decode(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>, %lse: memref<?x?x16xf32>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>)
    lse(%lse : memref<?x?x16xf32>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 2>
  return
}

