// What changes in the kernel of rows_as_m with widths, types and the layout of k.
// RUN: mla-opt %s --split-input-file --mla-problem-to-tile="chip=sm_90a queries=8" --mla-tile-to-gpu --inline | FileCheck %s

// No rope columns: P has two slots of its own. The last 16 columns of Q have a tile.
// CHECK-DAG: ![[$P:.*]] = !mla_gpu.smem<2x64x64xf16, swizzle = 128>
// CHECK-DAG: !tensor_map = !mla_gpu.tensor_map<?x1x64x512xf16, box = 64x256, swizzle = 128>
// CHECK-LABEL: func.func @no_rope
// CHECK: %[[PS:.*]] = mla_gpu.alloc : ![[$P]]
// CHECK-COUNT-2: mla_gpu.alloc
// CHECK-NOT: mla_gpu.alloc
// CHECK-COUNT-2: writer(tma)
// CHECK: mla_gpu.pipeline %[[PS]][0:64], %{{.*}} writer(threads) from("softmax") to("left", "right") :
func.func @no_rope(%q: memref<?x?x128x512xf16>, %k: memref<?x64x1x512xf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xf16>,
                   %lse: memref<?x?x128xf32>) {
  mla.decode
    q(%q : memref<?x?x128x512xf16>)
    k(%k : memref<?x64x1x512xf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x128x512xf16>)
    lse(%lse : memref<?x?x128xf32>)
    head_dim_v = 512
  return
}

// -----

// All of Q fits the registers: two allocations, of keys and scales. f32 results are not rounded, an lse that
// is not wanted is not written, and dense keys are found by request.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[K:[a-z0-9]+]]: !tensor_map {mla.name = "k"
// CHECK-COUNT-2: mla_gpu.alloc
// CHECK-NOT: mla_gpu.alloc
// CHECK: mla_gpu.pipeline %{{.*}}[0:64] writer(tma)
// CHECK: mla_gpu.pipeline %{{.*}}[64:128] writer(tma)
// CHECK: mla_gpu.pipeline %{{.*}}[128:192] writer(tma)
// CHECK-COUNT-3: mla_gpu.load_shared {{.*}} -> tensor<64x64xbf16,
// CHECK: %[[S0:.*]] = mla_gpu.mma
// CHECK: %[[S1:.*]] = mla_gpu.mma {{.*}} acc(%[[S0]]
// CHECK: %[[S2:.*]] = mla_gpu.mma {{.*}} acc(%[[S1]]
// CHECK: mla_gpu.mma_wait %[[S1]] :
// CHECK: mla_gpu.mma_wait %[[S2]] :
// CHECK: math.log2
// CHECK: scf.if
// CHECK-NEXT: else
// CHECK: mla_gpu.store_rows
// CHECK: role "left"
// CHECK: %[[HAS_KEYS:.*]] = arith.cmpi sgt
// CHECK: %[[OUTER:.*]] = arith.select %[[HAS_KEYS]], %{{.*}}, %c-1 : index
// CHECK: mla_gpu.tma_load %[[K]][%[[OUTER]],
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @narrow(%q: memref<?x?x64x192xbf16>, %k: memref<?x?x1x192xbf16>, %lens: memref<?xi32>, %scale: f32,
                  %out: memref<?x?x64x128xf32>) {
  mla.decode
    q(%q : memref<?x?x64x192xbf16>)
    k(%k : memref<?x?x1x192xbf16>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.none)
    out(%out : memref<?x?x64x128xf32>)
    head_dim_v = 128
  return
}

// -----

// Pages of one key are gathered row by row, of both parts of k. Latent and rope part of Q are loaded from
// their own tensors. Nothing is split: there is no partial result.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x16x512xbf16> {mla.name = "q"
// CHECK-SAME: %[[QR:[a-z0-9]+]]: memref<?x16x64xbf16> {mla.name = "q_rope"
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x?x1x512xbf16> {mla.name = "k"
// CHECK-SAME: %[[KR:[a-z0-9]+]]: memref<?x?x1x64xbf16> {mla.name = "k_rope"
// CHECK-NOT: tensor_map
// CHECK-COUNT-3: writer(cp_async)
// CHECK: role "left"
// CHECK: ^bb0(%[[HALF:.*]]: !{{.*}}, %[[COLUMN:.*]]: index):
// CHECK: %[[DST:.*]] = mla_gpu.acquire %[[HALF]]
// CHECK: %[[PART_OF_Q:.*]] = memref.subview %[[Q]][0, 0, %[[COLUMN]]]
// CHECK: mla_gpu.gather %[[PART_OF_Q]] to %[[DST]]
// CHECK: else
// CHECK: %[[PART:.*]] = memref.subview %[[K]][0, 0, 0, %[[COLUMN]]]
// CHECK: mla_gpu.gather %[[PART]] to %[[DST]]
// CHECK: mla_gpu.commit %[[HALF]]
// CHECK: mla_gpu.gather %[[QR]] to
// CHECK: mla_gpu.gather %[[KR]] to
// CHECK-NOT: partial
// CHECK: return
func.func @gather(%q: memref<?x16x512xbf16>, %qr: memref<?x16x64xbf16>, %k: memref<?x?x1x512xbf16>,
                  %kr: memref<?x?x1x64xbf16>, %ptr: memref<?xi32>, %idx: memref<?xi32>, %lens: memref<?xi32>,
                  %offs: memref<?xi32>, %scale: f32, %out: memref<?x16x512xbf16>) {
  mla.decode
    q(%q : memref<?x16x512xbf16>, %qr : memref<?x16x64xbf16>)
    k(%k : memref<?x?x1x512xbf16>, %kr : memref<?x?x1x64xbf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x16x512xbf16>)
    head_dim_v = 512 schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole,
                                              split_tiles = 1, stages = 3, row_blocks = 1, copy = gather>
  return
}

// -----

// Rows of a block are 8 heads of each of 8 queries: a box for each query, in each column tile.
// CHECK-DAG: ![[$QMAP:.*]] = !mla_gpu.tensor_map<?x?x8x192xbf16, box = 8x64, swizzle = 128>
// CHECK-LABEL: func.func @few_heads
// CHECK: role "left"
// CHECK: scf.if
// CHECK: mla_gpu.tma_load %{{.*}} to %[[DST:[0-9a-z]+]] : ![[$QMAP]], !
// CHECK: mla_gpu.tma_load %{{.*}} to %[[DST]] at(8) : ![[$QMAP]], !
// CHECK: arith.addi %{{.*}}, %c56 : index
// CHECK: mla_gpu.tma_load %{{.*}} to %[[DST]] at(56) : ![[$QMAP]], !
func.func @few_heads(%q: memref<?x?x8x192xbf16>, %k: memref<?x?x1x192xbf16>, %lens: memref<?xi32>, %scale: f32,
                     %out: memref<?x?x8x128xf32>) {
  mla.decode
    q(%q : memref<?x?x8x192xbf16>)
    k(%k : memref<?x?x1x192xbf16>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.none)
    out(%out : memref<?x?x8x128xf32>)
    head_dim_v = 128 schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole,
                                              split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>
  return
}
