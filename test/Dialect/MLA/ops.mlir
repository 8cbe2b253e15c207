// Round trips of the tile ops.
//
// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --mlir-print-op-generic | mla-opt | FileCheck %s
// RUN: mla-opt %s --emit-bytecode | mla-opt | FileCheck %s

// CHECK-LABEL: func.func @plan_uniform(
// CHECK-SAME:    %[[LENS:.*]]: memref<?xi32>, %[[N:.*]]: index, %[[WORKERS:.*]]: index, %[[SPLITS:.*]]: i32)
// CHECK-NEXT:    %{{.*}} = mla.plan seq_lens(%[[LENS]] : memref<?xi32>) queries(%[[N]])
// CHECK-SAME:      workers(%[[WORKERS]]) splits(%[[SPLITS]]) mask(#mla.causal)
// CHECK-SAME:      heads = 16 kv_heads = 1 tile = 32 x 64 split = balanced split_tiles = 16{{$}}
func.func @plan_uniform(%lens: memref<?xi32>, %n: index, %workers: index, %splits: i32) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n)
    workers(%workers) splits(%splits) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 32 x 64 split = balanced split_tiles = 16
  return
}

// CHECK-LABEL: func.func @plan_ragged(
// CHECK-SAME:    %[[LENS:.*]]: memref<?xi64>, %[[OFFS:.*]]: memref<?xi64>, %[[WORKERS:.*]]: index)
// CHECK-NEXT:    mla.plan seq_lens(%[[LENS]] : memref<?xi64>) q_offsets(%[[OFFS]] : memref<?xi64>)
// CHECK-SAME:      workers(%[[WORKERS]]) mask(#mla.none)
// CHECK-SAME:      heads = 8 kv_heads = 2 tile = 4 x 16 split = row_local split_tiles = 2{{$}}
// CHECK-NEXT:    mla.plan {{.*}} split = whole split_tiles = 1{{$}}
func.func @plan_ragged(%lens: memref<?xi64>, %offs: memref<?xi64>, %workers: index) {
  %0 = mla.plan seq_lens(%lens : memref<?xi64>) q_offsets(%offs : memref<?xi64>)
    workers(%workers) mask(#mla.none) heads = 8 kv_heads = 2
    tile = 4 x 16 split = row_local split_tiles = 2
  %1 = mla.plan seq_lens(%lens : memref<?xi64>) q_offsets(%offs : memref<?xi64>)
    workers(%workers) mask(#mla.none) heads = 8 kv_heads = 2
    tile = 4 x 16 split = whole split_tiles = 1
  return
}

// CHECK-LABEL: func.func @work_loops(
// CHECK-SAME:    %[[PLAN:.*]]: !mla.plan, %[[W:.*]]: index, %[[BUF:.*]]: memref<?xindex>)
// CHECK-NEXT:    mla.for_work %[[PLAN]] worker(%[[W]]) {
// CHECK-NEXT:    ^bb0(%[[ITEM:.*]]: !mla.item, %[[FIRST:.*]]: index, %[[END:.*]]: index, %[[WHOLE:.*]]: i1):
// CHECK-NEXT:      %[[B:.*]], %[[E:.*]] = mla.full_tiles %[[PLAN]][%[[ITEM]]] from %[[FIRST]] to %[[END]]{{$}}
// CHECK-NEXT:      memref.store %[[B]], %[[BUF]][%[[E]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    mla.for_split %[[PLAN]] worker(%[[W]]) {
// CHECK-NEXT:    ^bb0(%[[ITEM2:.*]]: !mla.item, %[[PIECES:.*]]: index):
// CHECK-NEXT:      memref.store %[[PIECES]], %[[BUF]][%[[W]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @work_loops(%plan: !mla.plan, %w: index, %buf: memref<?xindex>) {
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %b, %e = mla.full_tiles %plan[%item] from %first to %end
    memref.store %b, %buf[%e] : memref<?xindex>
    mla.yield
  }
  // The terminator may be left out.
  mla.for_split %plan worker(%w) {
  ^bb0(%item: !mla.item, %pieces: index):
    memref.store %pieces, %buf[%w] : memref<?xindex>
  }
  return
}

// CHECK-LABEL: func.func @load_q(
// CHECK-SAME:    %[[ITEM:.*]]: !mla.item, %[[Q:.*]]: memref<?x?x16x512xbf16>, %[[QR:.*]]: memref<?x?x16x64xbf16>, %[[QF:.*]]: memref<?x16x576xf16>)
// CHECK-NEXT:    mla.load_q %[[ITEM]] from(%[[Q]] : memref<?x?x16x512xbf16>) : tensor<16x512xbf16>
// CHECK-NEXT:    mla.load_q %[[ITEM]] from(%[[Q]] : memref<?x?x16x512xbf16>, %[[QR]] : memref<?x?x16x64xbf16>) : tensor<16x576xbf16>
// CHECK-NEXT:    mla.load_q %[[ITEM]] from(%[[QF]] : memref<?x16x576xf16>) : tensor<16x576xf16>
func.func @load_q(%item: !mla.item, %q: memref<?x?x16x512xbf16>, %qr: memref<?x?x16x64xbf16>,
                  %qf: memref<?x16x576xf16>) {
  %0 = mla.load_q %item from(%q : memref<?x?x16x512xbf16>) : tensor<16x512xbf16>
  %1 = mla.load_q %item from(%q : memref<?x?x16x512xbf16>, %qr : memref<?x?x16x64xbf16>) : tensor<16x576xbf16>
  %2 = mla.load_q %item from(%qf : memref<?x16x576xf16>) : tensor<16x576xf16>
  return
}

// CHECK-LABEL: func.func @load_kv(
// CHECK-SAME:    %[[ITEM:[a-z0-9]+]]: !mla.item, %[[T:[a-z0-9]+]]: index, %[[K:[a-z0-9]+]]: memref<?x64x1x512xbf16>, %[[KR:[a-z0-9]+]]: memref<?x64x1x64xbf16>,
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32>, %[[PTR:[a-z0-9]+]]: memref<?xi32>, %[[IDX:[a-z0-9]+]]: memref<?xi32>, %[[ROWS:[a-z0-9]+]]: memref<?xi32>)
// CHECK-NEXT:    mla.load_kv %[[ITEM]][%[[T]]] from(%[[K]] : memref<?x64x1x512xbf16>) : <64x512xbf16, v = 512>
// CHECK-NEXT:    mla.load_kv %[[ITEM]][%[[T]]] from(%[[K]] : memref<?x64x1x512xbf16>, %[[KR]] : memref<?x64x1x64xbf16>)
// CHECK-SAME:      table(%[[TABLE]] : memref<?x?xi32>) table_rows(%[[ROWS]] : memref<?xi32>) : <64x576xbf16, v = 512>
// CHECK-NEXT:    mla.load_kv %[[ITEM]][%[[T]]] from(%[[K]] : memref<?x64x1x512xbf16>)
// CHECK-SAME:      csr(%[[PTR]] : memref<?xi32>, %[[IDX]] : memref<?xi32>) : <32x512xbf16, v = 256>
func.func @load_kv(%item: !mla.item, %t: index, %k: memref<?x64x1x512xbf16>,
                   %kr: memref<?x64x1x64xbf16>, %table: memref<?x?xi32>, %ptr: memref<?xi32>,
                   %idx: memref<?xi32>, %rows: memref<?xi32>) {
  %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>) : !mla.kv_tile<64x512xbf16, v = 512>
  %1 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>, %kr : memref<?x64x1x64xbf16>)
    table(%table : memref<?x?xi32>) table_rows(%rows : memref<?xi32>) : !mla.kv_tile<64x576xbf16, v = 512>
  %2 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>) : !mla.kv_tile<32x512xbf16, v = 256>
  return
}

// One tile's compute, as mla-tile makes it.

// CHECK-LABEL: func.func @tile(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<16x576xbf16>, %[[KT:[a-z0-9]+]]: !mla.kv_tile<64x576xbf16, v = 512>,
// CHECK-SAME:    %[[PLAN:[a-z0-9]+]]: !mla.plan, %[[ITEM:[a-z0-9]+]]: !mla.item, %[[T:[a-z0-9]+]]: index, %[[SCALE:[a-z0-9]+]]: f32)
// CHECK-NEXT:    %[[O:.*]], %[[M:.*]], %[[L:.*]] = mla.init : tensor<16x512xf32>, tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:    %[[S:.*]] = mla.qk %[[Q]], %[[KT]] : tensor<16x576xbf16>, <64x576xbf16, v = 512> -> tensor<16x64xf32>
// CHECK-NEXT:    %[[S1:.*]] = mla.score %[[S]] at %[[ITEM]][%[[T]]] {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: f32):
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[X]], %[[SCALE]] : f32
// CHECK-NEXT:      mla.yield %[[Y]] : f32
// CHECK-NEXT:    } : tensor<16x64xf32>
// CHECK-NEXT:    %[[S2:.*]] = mla.mask %[[S1]] by %[[PLAN]] at %[[ITEM]][%[[T]]] : tensor<16x64xf32>
// CHECK-NEXT:    %[[P:.*]], %[[A:.*]], %[[M1:.*]], %[[L1:.*]] = mla.softmax_step %[[S2]], %[[M]], %[[L]] : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x64xbf16>
// CHECK-NEXT:    %[[O1:.*]] = mla.pv %[[P]], %[[KT]], %[[O]] rescale(%[[A]]) : tensor<16x64xbf16>, <64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
// CHECK-NEXT:    %{{.*}}, %{{.*}} = mla.finalize %[[O1]], %[[M1]], %[[L1]] : tensor<16x512xf32>, tensor<16xf32>
func.func @tile(%q: tensor<16x576xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>, %plan: !mla.plan,
                %item: !mla.item, %t: index, %scale: f32) {
  %o, %m, %l = mla.init : tensor<16x512xf32>, tensor<16xf32>, tensor<16xf32>
  %s = mla.qk %q, %kt : tensor<16x576xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
  %s1 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    %y = arith.mulf %x, %scale : f32
    mla.yield %y : f32
  } : tensor<16x64xf32>
  %s2 = mla.mask %s1 by %plan at %item[%t] : tensor<16x64xf32>
  %p, %a, %m1, %l1 = mla.softmax_step %s2, %m, %l : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x64xbf16>
  %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<16x64xbf16>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
  %out, %lse = mla.finalize %o1, %m1, %l1 : tensor<16x512xf32>, tensor<16xf32>
  return
}

// CHECK-LABEL: func.func @stores(
// CHECK-SAME:    %[[O:[a-z0-9]+]]: tensor<16x512xf32>, %[[L:[a-z0-9]+]]: tensor<16xf32>, %[[ITEM:[a-z0-9]+]]: !mla.item, %[[N:[a-z0-9]+]]: index,
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x512xbf16>, %[[LSE:[a-z0-9]+]]: memref<?x?x16xf32>, %[[PO:[a-z0-9]+]]: memref<?x16x512xf32>, %[[PL:[a-z0-9]+]]: memref<?x16xf32>)
// CHECK-NEXT:    mla.store %[[O]], %[[L]] at %[[ITEM]] to(%[[OUT]] : memref<?x?x16x512xbf16>) : tensor<16x512xf32>, tensor<16xf32>
// CHECK-NEXT:    mla.store %[[O]], %[[L]] at %[[ITEM]] to(%[[OUT]] : memref<?x?x16x512xbf16>, %[[LSE]] : memref<?x?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
// CHECK-NEXT:    mla.store_partial %[[O]], %[[L]] at %[[ITEM]] to(%[[PO]], %[[PL]] : memref<?x16x512xf32>, memref<?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
// CHECK-NEXT:    %{{.*}}, %{{.*}} = mla.combine %[[ITEM]] pieces(%[[N]]) from(%[[PO]], %[[PL]] : memref<?x16x512xf32>, memref<?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
func.func @stores(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item, %n: index,
                  %out: memref<?x?x16x512xbf16>, %lse: memref<?x?x16xf32>,
                  %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>) : tensor<16x512xf32>, tensor<16xf32>
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>, %lse : memref<?x?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
  mla.store_partial %o, %l at %item to(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
  %r, %rl = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
  return
}
