// The roles that dataflow rows_as_m makes of DeepSeek's shape: 576 columns of K, 512 of V, pages of 64.
// RUN: mla-opt %s --mla-problem-to-tile="chip=sm_90a queries=4" --mla-tile-to-gpu --inline | FileCheck %s

// CHECK-DAG: ![[RING:.*]] = !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
// CHECK-DAG: ![[SCALES:.*]] = !mla_gpu.smem<3x64xf32>
// CHECK-DAG: ![[QROPE:.*]] = !mla_gpu.tile<64x64xbf16, swizzle = 128>
// CHECK-DAG: ![[QLAST:.*]] = !mla_gpu.tile<64x16xbf16, swizzle = 32>
// CHECK-DAG: ![[MAP:.*]] = !mla_gpu.tensor_map<?x1x64x576xbf16, box = 64x64, swizzle = 128>
// CHECK-DAG: ![[QMAP:.*]] = !mla_gpu.tensor_map<?x?x128x576xbf16, box = 64x64, swizzle = 128>

// ---- setup: P takes the place of rope columns. Of Q, columns 512-575 and 496-511 have tiles.
// CHECK: func.func @decode(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<?x?x128x512xbf16> {mla.name = "out"}
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<?x?x128xf32> {mla.name = "lse"}
// CHECK-SAME: %[[PO:[a-z0-9]+]]: memref<?x64x512xf32> {mla.name = "partial_out"}
// CHECK-SAME: %[[PL:[a-z0-9]+]]: memref<?x64xf32> {mla.name = "partial_lse"}
// CHECK-SAME: %[[LIST:[a-z0-9]+]]: memref<?x8xi32> {mla.name = "work_list"}
// CHECK-SAME: %[[K:[a-z0-9]+]]: ![[MAP]] {mla.name = "k"
// CHECK-SAME: %[[Q:[a-z0-9]+]]: ![[QMAP]] {mla.name = "q", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 2, 3], box = 64x64, swizzle = 128>}
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C256:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[C512:.*]] = arith.constant 512 : index
// CHECK: %[[PLAN:.*]] = mla.plan {{.*}} mask(#mla.causal) heads = 128 kv_heads = 1 tile = 64 x 64 split = balanced
// CHECK: %[[BEGIN:.*]], %[[END:.*]] = mla_gpu.plan_work %[[PLAN]] worker(%{{.*}}) row_blocks = 2 to %[[LIST]] splits(%{{.*}}, %{{.*}} : memref<?x8xi32>, memref<?x1xi32>) :
// CHECK: %[[STORAGE:.*]] = mla_gpu.alloc : ![[RING]]
// CHECK: %[[FACTORS:.*]] = mla_gpu.alloc : ![[SCALES]]
// CHECK: %[[ROPE_TILE:.*]] = mla_gpu.alloc : ![[QROPE]]
// CHECK: %[[LAST_TILE:.*]] = mla_gpu.alloc : ![[QLAST]]
// CHECK: %[[LEFT:.*]] = mla_gpu.pipeline %[[STORAGE]][0:256] writer(tma) from("left") to("softmax", "left")
// CHECK: %[[RIGHT:.*]] = mla_gpu.pipeline %[[STORAGE]][256:512] writer(tma) from("right") to("softmax", "right")
// CHECK: %[[ROPE:.*]] = mla_gpu.pipeline %[[STORAGE]][512:576] writer(tma) from("right") to("softmax")
// CHECK: %[[P:.*]] = mla_gpu.pipeline %[[STORAGE]][512:576], %[[FACTORS]] writer(threads) from("softmax") to("left", "right") after(%[[ROPE]]
// CHECK: %[[TURN:.*]] = mla_gpu.pipeline slots(3) writer(threads) from("softmax") to("left", "right")
// CHECK-NOT: mla_gpu.pipeline

// ---- Q K^T and softmax
// CHECK: role "softmax" warps(4) registers(184)
// CHECK: scf.for %[[PIECE:.*]] = %[[BEGIN]] to %[[END]] step %[[C1]] iter_args(%[[BASE:.*]] = %[[C0]])
// Also a piece without tiles takes a slot for one.
// CHECK: mla_gpu.work_item %[[LIST]][%[[PIECE]]]
// CHECK: %[[TILES:.*]] = arith.maxsi %{{.*}}, %[[C1]] : index
// Its first slot is Q, which goes to registers and what else holds it.
// CHECK: %[[QL:.*]] = mla_gpu.wait %[[LEFT]][%[[BASE]]]
// CHECK: %[[QR:.*]] = mla_gpu.wait %[[RIGHT]][%[[BASE]]]
// CHECK: %[[QP:.*]] = mla_gpu.wait %[[ROPE]][%[[BASE]]]
// CHECK: %[[Q4:.*]] = mla_gpu.load_shared %[[QP]]
// CHECK: mla_gpu.store_shared %[[Q4]] to %[[ROPE_TILE]]
// CHECK: mla_gpu.view %[[QR]][240:256]
// CHECK: mla_gpu.store_shared %{{.*}} to %[[LAST_TILE]]
// CHECK: %[[Q0:.*]] = mla_gpu.load_shared %[[QL]] {{.*}} -> tensor<64x256xbf16,
// CHECK: mla_gpu.view %[[QR]][0:112]
// CHECK: %[[Q1:.*]] = mla_gpu.load_shared {{.*}} -> tensor<64x112xbf16,
// CHECK: mla_gpu.view %[[QR]][112:240]
// CHECK: %[[Q2:.*]] = mla_gpu.load_shared {{.*}} -> tensor<64x128xbf16,
// CHECK-NEXT: mla_gpu.release %[[ROPE]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.acquire %[[P]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.commit %[[P]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.release %[[LEFT]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.release %[[RIGHT]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.acquire %[[TURN]][%[[BASE]]]
// CHECK-NEXT: mla_gpu.commit %[[TURN]][%[[BASE]]]
// CHECK: %[[FIRST_TILE:.*]] = arith.addi %[[BASE]], %[[C1]]
// CHECK: scf.for %[[TILE:.*]] = %[[C0]] to %[[TILES]] step %[[C1]]
// CHECK: %[[N:.*]] = arith.addi %[[FIRST_TILE]], %[[TILE]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[N]], %[[C1]]
// CHECK: %[[KL:.*]] = mla_gpu.wait %[[LEFT]][%[[N]]]
// CHECK: %[[S0:.*]] = mla_gpu.mma %[[Q0]], %[[KL]] transposed :
// P of the tile before is shown while this runs, but not before the first one of a piece.
// CHECK-NEXT: scf.if
// CHECK-NEXT: mla_gpu.commit %[[P]][%[[BEFORE]]]
// CHECK-NEXT: mla_gpu.release %[[LEFT]][%[[BEFORE]]]
// CHECK-NEXT: mla_gpu.release %[[RIGHT]][%[[BEFORE]]]
// CHECK-NEXT: mla_gpu.acquire %[[TURN]][%[[BEFORE]]]
// CHECK: %[[KR:.*]] = mla_gpu.wait %[[RIGHT]][%[[N]]]
// CHECK: %[[K1:.*]] = mla_gpu.view %[[KR]][0:112]
// CHECK: %[[S1:.*]] = mla_gpu.mma %[[Q1]], %[[K1]] transposed acc(%[[S0]]
// CHECK: %[[KP:.*]] = mla_gpu.wait %[[ROPE]][%[[N]]]
// CHECK: %[[S2:.*]] = mla_gpu.mma %[[ROPE_TILE]], %[[KP]] transposed acc(%[[S1]]
// CHECK: %[[K3:.*]] = mla_gpu.view %[[KR]][240:256]
// CHECK: %[[S3:.*]] = mla_gpu.mma %[[LAST_TILE]], %[[K3]] transposed acc(%[[S2]]
// CHECK: %[[K2:.*]] = mla_gpu.view %[[KR]][112:240]
// CHECK: %[[S4:.*]] = mla_gpu.mma %[[Q2]], %[[K2]] transposed acc(%[[S3]]
// It is P V's turn when only the last steps run.
// CHECK: mla_gpu.mma_wait %[[S3]] :
// CHECK-NEXT: scf.if
// CHECK-NEXT: mla_gpu.commit %[[TURN]][%[[BEFORE]]]
// CHECK: mla_gpu.mma_wait %[[S4]] :
// CHECK-NEXT: mla_gpu.release %[[ROPE]][%[[N]]]
// The mask, the reference of exp, and the division by the sums are for some tiles only. What the mask takes of the
// piece is read where it is used.
// CHECK: scf.if
// CHECK: mla_gpu.work_item %[[LIST]][%[[PIECE]]]
// CHECK: mla_gpu.map
// CHECK: mla_gpu.row_reduce max {{.*}} -> tensor<64x4xf32, #lanes>
// CHECK: %[[MOVED:.*]]:3 = mla_gpu.if_any
// CHECK: %[[PS:.*]]:2 = mla_gpu.acquire %[[P]][%[[N]]]
// CHECK: scf.if
// CHECK: math.exp2 {{.*}} : tensor<64x64xf32,
// CHECK: mla_gpu.row_reduce sum {{.*}} -> tensor<64x4xf32, #lanes>
// CHECK: arith.divf
// CHECK: arith.truncf {{.*}} to tensor<64x64xbf16,
// CHECK: mla_gpu.store_shared %{{.*}} to %[[PS]]#0
// CHECK: mla_gpu.store_shared %{{.*}} to %[[PS]]#1
// CHECK: else
// CHECK: math.exp2 {{.*}} : tensor<64x64xf32,
// CHECK-NOT: arith.divf
// CHECK: mla_gpu.store_shared %{{.*}} to %[[PS]]#0
// CHECK: mla_gpu.store_shared %{{.*}} to %[[PS]]#1
// ---- finish: the last P, and the row's log-sum-exp, natural or in base 2
// CHECK: mla_gpu.commit %[[P]]
// CHECK: mla_gpu.release %[[LEFT]]
// CHECK: mla_gpu.release %[[RIGHT]]
// CHECK: %[[LSE2:.*]] = arith.addf
// CHECK: scf.if
// CHECK: %[[NATURAL:.*]] = arith.mulf %[[LSE2]],
// CHECK: memref.subview %[[LSE]]
// CHECK: mla_gpu.store_rows %[[NATURAL]] to optional
// CHECK: else
// CHECK: memref.subview %[[PL]]
// CHECK: mla_gpu.store_rows %[[LSE2]] to %

// ---- loads, stages ahead
// CHECK: role "left"(%[[LEFT]], %[[C0]]), "right"(%[[RIGHT]], %[[C256]]) warps(4) registers(160)
// CHECK: ^bb0(%[[HALF:.*]]: !{{.*}}, %[[COLUMN:.*]]: index):
// CHECK: scf.for %[[FIRST:.*]] = %[[C0]] to %[[C3]] step %[[C1]]
// CHECK: memref.load %[[TABLE]]
// CHECK: %[[IS_Q:.*]] = arith.cmpi eq, %{{.*}}, %[[C0]] : index
// CHECK: %[[DST:.*]] = mla_gpu.acquire %[[HALF]][%[[FIRST]]]
// CHECK: scf.if %[[IS_Q]]
// CHECK: mla_gpu.tma_load %[[Q]][%{{.*}}, %{{.*}}, %{{.*}}, %[[COLUMN]]] to %[[DST]]
// CHECK: else
// CHECK: mla_gpu.tma_load %[[K]][%{{.*}}, %{{.*}}, %[[C0]], %[[COLUMN]]] to %[[DST]]
// CHECK: mla_gpu.commit %[[HALF]][%[[FIRST]]]
// CHECK: scf.if
// CHECK: %[[DST_ROPE:.*]] = mla_gpu.acquire %[[ROPE]][%[[FIRST]]]
// CHECK: mla_gpu.tma_load %[[Q]][%{{.*}}, %{{.*}}, %{{.*}}, %[[C512]]] to %[[DST_ROPE]]
// CHECK: mla_gpu.tma_load %[[K]][%{{.*}}, %{{.*}}, %[[C0]], %[[C512]]] to %[[DST_ROPE]]
// ---- P V. The slot of Q is only let go and refilled.
// CHECK: scf.for %{{.*}} iter_args(%[[START:[a-z0-9]+]] = %[[C0]],
// CHECK: mla_gpu.wait %[[HALF]][%[[START]]]
// CHECK: mla_gpu.wait %[[P]][%[[START]]]
// CHECK-NEXT: mla_gpu.wait %[[TURN]][%[[START]]]
// CHECK-NEXT: mla_gpu.release %[[HALF]][%[[START]]]
// CHECK-NEXT: mla_gpu.release %[[P]][%[[START]]]
// CHECK-NEXT: mla_gpu.release %[[TURN]][%[[START]]]
// CHECK: %[[O:.*]]:3 = scf.for
// CHECK: %[[M:.*]] = arith.addi
// CHECK: %[[V:.*]] = mla_gpu.wait %[[HALF]][%[[M]]]
// CHECK: %[[PW:.*]]:2 = mla_gpu.wait %[[P]][%[[M]]]
// CHECK: mla_gpu.load_shared %[[PW]]#1
// CHECK: %[[SCALED:.*]] = mla_gpu.if_any
// CHECK: mla_gpu.clear_rows %[[V]]
// CHECK: mla_gpu.wait %[[TURN]][%[[M]]]
// CHECK: %[[RUNS:.*]] = mla_gpu.mma %[[PW]]#0, %[[V]] acc(%[[SCALED]]
// CHECK: %[[PAGE:.*]] = scf.if
// CHECK: memref.load %[[TABLE]]
// CHECK: mla_gpu.mma_wait %[[RUNS]]
// CHECK: mla_gpu.release %[[HALF]][%[[M]]]
// CHECK: mla_gpu.release %[[P]][%[[M]]]
// CHECK: mla_gpu.release %[[TURN]][%[[M]]]
// CHECK: %[[AHEAD:.*]] = arith.addi %[[M]], %[[C3]]
// CHECK: mla_gpu.acquire %[[HALF]][%[[AHEAD]]]
// CHECK: mla_gpu.tma_load %[[K]][%[[PAGE]], %{{.*}}, %[[C0]], %[[COLUMN]]]
// CHECK: mla_gpu.acquire %[[ROPE]][%[[AHEAD]]]
// ---- finish
// CHECK: scf.if
// CHECK: arith.truncf %[[O]]#0
// CHECK: memref.subview %[[OUT]]
// CHECK: mla_gpu.store_rows
// CHECK: else
// CHECK: memref.subview %[[PO]]
// CHECK: mla_gpu.store_rows %[[O]]#0
func.func @decode(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>,
                  %lse: memref<?x?x128xf32>) {
  mla.decode
    q(%q : memref<?x?x128x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x128x512xbf16>)
    lse(%lse : memref<?x?x128xf32>)
    head_dim_v = 512
  return
}
