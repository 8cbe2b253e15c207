// Round trips of mla.decode, with each clause in each of its forms.
//
// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --mlir-print-op-generic | mla-opt | FileCheck %s
// RUN: mla-opt %s --emit-bytecode | mla-opt | FileCheck %s

// The fewest clauses: dense keys, no mask.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x16x64xf32>, %[[K:[a-z0-9]+]]: memref<?x?x2x64xf32>,
// CHECK-SAME:    %[[LENS:[a-z0-9]+]]: memref<?xi64>, %[[SCALE:[a-z0-9]+]]: f32, %[[OUT:[a-z0-9]+]]: memref<?x?x16x32xf32>)
// CHECK-NEXT:    mla.decode
// CHECK-NEXT:      q(%[[Q]] : memref<?x?x16x64xf32>)
// CHECK-NEXT:      k(%[[K]] : memref<?x?x2x64xf32>)
// CHECK-NEXT:      seq_lens(%[[LENS]] : memref<?xi64>)
// CHECK-NEXT:      scale(%[[SCALE]] : f32)
// CHECK-NEXT:      mask(#mla.none)
// CHECK-NEXT:      out(%[[OUT]] : memref<?x?x16x32xf32>)
// CHECK-NEXT:      head_dim_v = 32
// CHECK-NEXT:    return
func.func @dense(%q: memref<?x?x16x64xf32>, %k: memref<?x?x2x64xf32>, %lens: memref<?xi64>,
                 %scale: f32, %out: memref<?x?x16x32xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x2x64xf32>)
    seq_lens(%lens : memref<?xi64>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x32xf32>)
    head_dim_v = 32
  return
}

// Pages by a table whose rows are found through another, latent and rope
// parts, LSE, a split count and a schedule.

// CHECK-LABEL: func.func @paged(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x128x512xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[QR:[a-z0-9]+]]: memref<?x?x128x64xbf16>, %[[K:[a-z0-9]+]]: memref<?x64x1x512xbf16>,
// CHECK-SAME:    %[[KR:[a-z0-9]+]]: memref<?x64x1x64xbf16>, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32, strided<[?, 1]>>,
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: memref<?xi32>, %[[LENS:[a-z0-9]+]]: memref<?xi32>, %[[SCALE:[a-z0-9]+]]: f32,
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: i32, %[[OUT:[a-z0-9]+]]: memref<?x?x128x512xbf16>, %[[LSE:[a-z0-9]+]]: memref<?x?x128xf32>)
// CHECK-NEXT:    mla.decode
// CHECK-NEXT:      q(%[[Q]] : memref<?x?x128x512xbf16, strided<[?, ?, ?, 1], offset: ?>>, %[[QR]] : memref<?x?x128x64xbf16>)
// CHECK-NEXT:      k(%[[K]] : memref<?x64x1x512xbf16>, %[[KR]] : memref<?x64x1x64xbf16>)
// CHECK-NEXT:      table(%[[TABLE]] : memref<?x?xi32, strided<[?, 1]>>)
// CHECK-NEXT:      table_rows(%[[ROWS]] : memref<?xi32>)
// CHECK-NEXT:      seq_lens(%[[LENS]] : memref<?xi32>)
// CHECK-NEXT:      scale(%[[SCALE]] : f32)
// CHECK-NEXT:      num_splits(%[[SPLITS]] : i32)
// CHECK-NEXT:      mask(#mla.causal)
// CHECK-NEXT:      out(%[[OUT]] : memref<?x?x128x512xbf16>)
// CHECK-NEXT:      lse(%[[LSE]] : memref<?x?x128xf32>)
// CHECK-NEXT:      head_dim_v = 512
// CHECK-NEXT:      schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = row_local, split_tiles = 4, qk = 8x2, pv = 4x4, kv = direct>
// CHECK-NEXT:    return
func.func @paged(%q: memref<?x?x128x512xbf16, strided<[?, ?, ?, 1], offset: ?>>,
                 %qr: memref<?x?x128x64xbf16>, %k: memref<?x64x1x512xbf16>,
                 %kr: memref<?x64x1x64xbf16>, %table: memref<?x?xi32, strided<[?, 1]>>,
                 %rows: memref<?xi32>, %lens: memref<?xi32>, %scale: f32, %splits: i32,
                 %out: memref<?x?x128x512xbf16>, %lse: memref<?x?x128xf32>) {
  // Clauses may come in any order; they are printed in one.
  mla.decode
    out(%out : memref<?x?x128x512xbf16>)
    lse(%lse : memref<?x?x128xf32>)
    mask(#mla.causal)
    num_splits(%splits : i32)
    scale(%scale : f32)
    seq_lens(%lens : memref<?xi32>)
    table_rows(%rows : memref<?xi32>)
    table(%table : memref<?x?xi32, strided<[?, 1]>>)
    k(%k : memref<?x64x1x512xbf16>, %kr : memref<?x64x1x64xbf16>)
    q(%q : memref<?x?x128x512xbf16, strided<[?, ?, ?, 1], offset: ?>>, %qr : memref<?x?x128x64xbf16>)
    head_dim_v = 512
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = row_local,
                             split_tiles = 4, qk = 8x2, pv = 4x4, kv = direct>
  return
}

// Ragged queries, CSR pages, score code with a table read.

// CHECK-LABEL: func.func @ragged(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x16x64xf16>, %[[K:[a-z0-9]+]]: memref<?x?x4x64xf16>,
// CHECK-SAME:    %[[PTR:[a-z0-9]+]]: memref<?xi32>, %[[IDX:[a-z0-9]+]]: memref<?xi32>, %[[LENS:[a-z0-9]+]]: memref<?xi32>,
// CHECK-SAME:    %[[OFFS:[a-z0-9]+]]: memref<?xi32>, %[[SCALE:[a-z0-9]+]]: f32, %[[SLOPES:[a-z0-9]+]]: memref<16xf32>,
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x16x64xf32>, %[[LSE:[a-z0-9]+]]: memref<?x16xf32>)
// CHECK-NEXT:    mla.decode
// CHECK-NEXT:      q(%[[Q]] : memref<?x16x64xf16>)
// CHECK-NEXT:      k(%[[K]] : memref<?x?x4x64xf16>)
// CHECK-NEXT:      csr(%[[PTR]] : memref<?xi32>, %[[IDX]] : memref<?xi32>)
// CHECK-NEXT:      seq_lens(%[[LENS]] : memref<?xi32>)
// CHECK-NEXT:      q_offsets(%[[OFFS]] : memref<?xi32>)
// CHECK-NEXT:      scale(%[[SCALE]] : f32)
// CHECK-NEXT:      mask(#mla.causal)
// CHECK-NEXT:      out(%[[OUT]] : memref<?x16x64xf32>)
// CHECK-NEXT:      lse(%[[LSE]] : memref<?x16xf32>)
// CHECK-NEXT:      head_dim_v = 64
// CHECK-NEXT:      score {
// CHECK-NEXT:      ^bb0(%{{.*}}: i32, %[[H:.*]]: i32, %[[QP:.*]]: i32, %[[KP:.*]]: i32, %[[S:.*]]: f32):
// CHECK-NEXT:        %[[HI:.*]] = arith.index_cast %[[H]] : i32 to index
// CHECK-NEXT:        %[[SLOPE:.*]] = memref.load %[[SLOPES]][%[[HI]]] : memref<16xf32>
// CHECK-NEXT:        %[[D:.*]] = arith.subi %[[KP]], %[[QP]] : i32
// CHECK-NEXT:        %[[DF:.*]] = arith.sitofp %[[D]] : i32 to f32
// CHECK-NEXT:        %[[BIAS:.*]] = arith.mulf %[[DF]], %[[SLOPE]] : f32
// CHECK-NEXT:        %[[NEW:.*]] = arith.addf %[[S]], %[[BIAS]] : f32
// CHECK-NEXT:        mla.yield %[[NEW]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    return
func.func @ragged(%q: memref<?x16x64xf16>, %k: memref<?x?x4x64xf16>, %ptr: memref<?xi32>,
                  %idx: memref<?xi32>, %lens: memref<?xi32>, %offs: memref<?xi32>, %scale: f32,
                  %slopes: memref<16xf32>, %out: memref<?x16x64xf32>, %lse: memref<?x16xf32>) {
  mla.decode
    q(%q : memref<?x16x64xf16>)
    k(%k : memref<?x?x4x64xf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x16x64xf32>)
    lse(%lse : memref<?x16xf32>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %hi = arith.index_cast %h : i32 to index
      %slope = memref.load %slopes[%hi] : memref<16xf32>
      %d = arith.subi %kpos, %qpos : i32
      %df = arith.sitofp %d : i32 to f32
      %bias = arith.mulf %df, %slope : f32
      %new = arith.addf %s, %bias : f32
      mla.yield %new : f32
    }
  return
}

// What can be written and is not lowered yet: values of their own, sparse
// attention, sinks, scales of fp8 keys.

// CHECK-LABEL: func.func @later(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x16x64xbf16>, %[[K:[a-z0-9]+]]: memref<?x64x2x64xf8E4M3FN>,
// CHECK-SAME:    %[[V:[a-z0-9]+]]: memref<?x64x2x32xf8E4M3FN>, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32>, %[[LENS:[a-z0-9]+]]: memref<?xi32>,
// CHECK-SAME:    %[[OFFS:[a-z0-9]+]]: memref<?xi32>, %[[IDX:[a-z0-9]+]]: memref<?x2048xi32>, %[[TOPK:[a-z0-9]+]]: memref<?xi32>,
// CHECK-SAME:    %[[SINK:[a-z0-9]+]]: memref<16xf32>, %[[KS:[a-z0-9]+]]: memref<?x64xf32>, %[[SCALE:[a-z0-9]+]]: f32,
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x16x32xbf16>)
// CHECK-NEXT:    mla.decode
// CHECK-NEXT:      q(%[[Q]] : memref<?x16x64xbf16>)
// CHECK-NEXT:      k(%[[K]] : memref<?x64x2x64xf8E4M3FN>)
// CHECK-NEXT:      v(%[[V]] : memref<?x64x2x32xf8E4M3FN>)
// CHECK-NEXT:      table(%[[TABLE]] : memref<?x?xi32>)
// CHECK-NEXT:      seq_lens(%[[LENS]] : memref<?xi32>)
// CHECK-NEXT:      q_offsets(%[[OFFS]] : memref<?xi32>)
// CHECK-NEXT:      indices(%[[IDX]] : memref<?x2048xi32>)
// CHECK-NEXT:      topk_lens(%[[TOPK]] : memref<?xi32>)
// CHECK-NEXT:      sink(%[[SINK]] : memref<16xf32>)
// CHECK-NEXT:      k_scales(%[[KS]] : memref<?x64xf32>)
// CHECK-NEXT:      scale(%[[SCALE]] : f32)
// CHECK-NEXT:      mask(#mla.none)
// CHECK-NEXT:      out(%[[OUT]] : memref<?x16x32xbf16>)
// CHECK-NEXT:      head_dim_v = 32
// CHECK-NEXT:    return
func.func @later(%q: memref<?x16x64xbf16>, %k: memref<?x64x2x64xf8E4M3FN>,
                 %v: memref<?x64x2x32xf8E4M3FN>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                 %offs: memref<?xi32>, %idx: memref<?x2048xi32>, %topk: memref<?xi32>,
                 %sink: memref<16xf32>, %ks: memref<?x64xf32>, %scale: f32,
                 %out: memref<?x16x32xbf16>) {
  mla.decode
    q(%q : memref<?x16x64xbf16>)
    k(%k : memref<?x64x2x64xf8E4M3FN>)
    v(%v : memref<?x64x2x32xf8E4M3FN>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    indices(%idx : memref<?x2048xi32>)
    topk_lens(%topk : memref<?xi32>)
    sink(%sink : memref<16xf32>)
    k_scales(%ks : memref<?x64xf32>)
    scale(%scale : f32)
    mask(#mla.none)
    out(%out : memref<?x16x32xbf16>)
    head_dim_v = 32
  return
}

// Attributes that are not the op's own are kept.

// CHECK-LABEL: func.func @discardable(
// CHECK:         head_dim_v = 64 {note = "kept"}
// CHECK-NEXT:    return
func.func @discardable(%q: memref<?x?x16x64xf32>, %k: memref<?x?x2x64xf32>, %lens: memref<?xi64>,
                       %scale: f32) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x2x64xf32>)
    seq_lens(%lens : memref<?xi64>)
    scale(%scale : f32)
    out(%q : memref<?x?x16x64xf32>)
    head_dim_v = 64 {note = "kept"}
  return
}
