// One function for each layout of q and of the keys. What the tiles of all have
// in common is checked in full in the first.
//
// RUN: mla-opt %s --mla-tile | FileCheck %s
//
// Tiling twice changes nothing.
// RUN: mla-opt %s --mla-tile --mla-tile | FileCheck %s

#blocks = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>

// Whole tensors, pages by a table. Arguments get the names that the runtime
// binds them by, the two of the work loop are added.

// CHECK-LABEL: func.func @paged(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x16x576xbf16> {mla.name = "q"},
// CHECK-SAME:    %[[K:[a-z0-9]+]]: memref<?x64x1x576xbf16> {mla.name = "k"},
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"},
// CHECK-SAME:    %[[LENS:[a-z0-9]+]]: memref<?xi32> {mla.name = "seq_lens"},
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: f32 {mla.name = "softmax_scale"},
// CHECK-SAME:    %[[SPLITS:[a-z0-9]+]]: i32 {mla.name = "num_splits"},
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x512xbf16> {mla.name = "out"},
// CHECK-SAME:    %[[LSE:[a-z0-9]+]]: memref<?x?x16xf32> {mla.name = "lse"},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: index {mla.name = "worker"},
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index {mla.name = "num_workers"})
// CHECK-SAME:    mla.entry = 0 : i64
// CHECK-SAME:    mla.schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
// CHECK-NEXT:    %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[SQ:.*]] = memref.dim %[[Q]], %[[C1]]
//
// Nothing is split here, whatever the schedule says.
// CHECK-NEXT:    %[[PLAN:.*]] = mla.plan seq_lens(%[[LENS]] : memref<?xi32>) queries(%[[SQ]]) workers(%[[N]]) splits(%[[SPLITS]])
// CHECK-SAME:      mask(#mla.causal) heads = 16 kv_heads = 1 tile = 16 x 64 split = whole split_tiles = 8
// CHECK-NEXT:    mla.for_work %[[PLAN]] worker(%[[W]]) {
// CHECK-NEXT:    ^bb0(%[[ITEM:.*]]: !mla.item, %[[FIRST:.*]]: index, %[[END:.*]]: index, %{{.*}}: i1):
// CHECK-NEXT:      %[[QT:.*]] = mla.load_q %[[ITEM]] from(%[[Q]] : memref<?x?x16x576xbf16>) : tensor<16x576xbf16>
// CHECK-NEXT:      %[[O0:.*]], %[[M0:.*]], %[[L0:.*]] = mla.init : tensor<16x512xf32>, tensor<16xf32>, tensor<16xf32>
// CHECK:           %[[R:.*]]:3 = scf.for %[[T:.*]] = %[[FIRST]] to %[[END]] step %{{.*}} iter_args(%[[O:.*]] = %[[O0]], %[[M:.*]] = %[[M0]], %[[L:.*]] = %[[L0]])
// CHECK-NEXT:        %[[KT:.*]] = mla.load_kv %[[ITEM]][%[[T]]] from(%[[K]] : memref<?x64x1x576xbf16>) table(%[[TABLE]] : memref<?x?xi32>) : <64x576xbf16, v = 512>
// CHECK-NEXT:        %[[S:.*]] = mla.qk %[[QT]], %[[KT]] :
// CHECK-NEXT:        %[[S1:.*]] = mla.score %[[S]] at %[[ITEM]][%[[T]]] {
// CHECK-NEXT:        ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: f32):
// CHECK-NEXT:          %[[Y:.*]] = arith.mulf %[[X]], %[[SCALE]] : f32
// CHECK-NEXT:          mla.yield %[[Y]] : f32
// CHECK-NEXT:        } : tensor<16x64xf32>
// CHECK-NEXT:        %[[S2:.*]] = mla.mask %[[S1]] by %[[PLAN]] at %[[ITEM]][%[[T]]] : tensor<16x64xf32>
// CHECK-NEXT:        %[[P:.*]], %[[A:.*]], %[[M1:.*]], %[[L1:.*]] = mla.softmax_step %[[S2]], %[[M]], %[[L]] :
// CHECK-NEXT:        %[[O1:.*]] = mla.pv %[[P]], %[[KT]], %[[O]] rescale(%[[A]]) :
// CHECK-NEXT:        scf.yield %[[O1]], %[[M1]], %[[L1]] :
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[OT:.*]], %[[LT:.*]] = mla.finalize %[[R]]#0, %[[R]]#1, %[[R]]#2 :
// CHECK-NEXT:      mla.store %[[OT]], %[[LT]] at %[[ITEM]] to(%[[OUT]] : memref<?x?x16x512xbf16>, %[[LSE]] : memref<?x?x16xf32>)
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @paged(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %splits: i32, %out: memref<?x?x16x512xbf16>,
                 %lse: memref<?x?x16xf32>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    num_splits(%splits : i32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x512xbf16>)
    lse(%lse : memref<?x?x16xf32>)
    head_dim_v = 512
    schedule = #blocks
  return
}

// Latent and rope parts of both, CSR pages, ragged queries.

// CHECK-LABEL: func.func @ragged_csr(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x128x512xf16> {mla.name = "q"}, %[[QR:[a-z0-9]+]]: memref<?x128x64xf16> {mla.name = "q_rope"},
// CHECK-SAME:    %[[K:[a-z0-9]+]]: memref<?x?x1x512xf16> {mla.name = "k"}, %[[KR:[a-z0-9]+]]: memref<?x?x1x64xf16> {mla.name = "k_rope"},
// CHECK-SAME:    %[[PTR:[a-z0-9]+]]: memref<?xi32> {mla.name = "kv_indptr"}, %[[IDX:[a-z0-9]+]]: memref<?xi32> {mla.name = "kv_indices"},
// CHECK-SAME:    %[[LENS:[a-z0-9]+]]: memref<?xi32> {mla.name = "seq_lens"}, %[[OFFS:[a-z0-9]+]]: memref<?xi32> {mla.name = "q_offsets"},
// CHECK-NOT:     memref.dim
// CHECK:         mla.plan seq_lens(%[[LENS]] : memref<?xi32>) q_offsets(%[[OFFS]] : memref<?xi32>) workers(%{{.*}}) mask(#mla.causal) heads = 128 kv_heads = 1
// CHECK:         mla.load_q %{{.*}} from(%[[Q]] : memref<?x128x512xf16>, %[[QR]] : memref<?x128x64xf16>) : tensor<16x576xf16>
// CHECK:         mla.load_kv %{{.*}} from(%[[K]] : memref<?x?x1x512xf16>, %[[KR]] : memref<?x?x1x64xf16>)
// CHECK-SAME:      csr(%[[PTR]] : memref<?xi32>, %[[IDX]] : memref<?xi32>) : <64x576xf16, v = 512>
func.func @ragged_csr(%q: memref<?x128x512xf16>, %qr: memref<?x128x64xf16>, %k: memref<?x?x1x512xf16>,
                      %kr: memref<?x?x1x64xf16>, %ptr: memref<?xi32>, %idx: memref<?xi32>,
                      %lens: memref<?xi32>, %offs: memref<?xi32>, %scale: f32,
                      %out: memref<?x128x512xf16>) {
  mla.decode
    q(%q : memref<?x128x512xf16>, %qr : memref<?x128x64xf16>)
    k(%k : memref<?x?x1x512xf16>, %kr : memref<?x?x1x64xf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x128x512xf16>)
    head_dim_v = 512
    schedule = #blocks
  return
}

// Dense keys, grouped heads, values narrower than keys, no LSE.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x16x64xf32> {mla.name = "q"}, %[[K:[a-z0-9]+]]: memref<?x?x4x64xf32> {mla.name = "k"},
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x?x16x32xf32> {mla.name = "out"}
// CHECK:         mla.plan {{.*}} mask(#mla.none) heads = 16 kv_heads = 4 tile = 16 x 64
// CHECK:         mla.init : tensor<16x32xf32>,
// CHECK:         mla.load_kv %{{.*}}[%{{.*}}] from(%[[K]] : memref<?x?x4x64xf32>) : <64x64xf32, v = 32>
// CHECK:         mla.store %{{.*}}, %{{.*}} at %{{.*}} to(%[[OUT]] : memref<?x?x16x32xf32>) : tensor<16x32xf32>, tensor<16xf32>
func.func @dense(%q: memref<?x?x16x64xf32>, %k: memref<?x?x4x64xf32>, %lens: memref<?xi64>,
                 %scale: f32, %out: memref<?x?x16x32xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x4x64xf32>)
    seq_lens(%lens : memref<?xi64>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x32xf32>)
    head_dim_v = 32
    schedule = #blocks
  return
}

// Rows of the table through an indirection.

// CHECK-LABEL: func.func @table_rows(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}, %[[ROWS:[a-z0-9]+]]: memref<?xi64> {mla.name = "table_rows"},
// CHECK:         mla.load_kv %{{.*}} table(%[[TABLE]] : memref<?x?xi32>) table_rows(%[[ROWS]] : memref<?xi64>)
func.func @table_rows(%q: memref<?x?x16x64xf32>, %k: memref<?x32x1x64xf32>, %table: memref<?x?xi32>,
                      %rows: memref<?xi64>, %lens: memref<?xi32>, %scale: f32,
                      %out: memref<?x?x16x64xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x32x1x64xf32>)
    table(%table : memref<?x?xi32>)
    table_rows(%rows : memref<?xi64>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #blocks
  return
}

// User code follows the scale. Its values from outside are arguments too: by the
// name that the author gave, or by their number.

// CHECK-LABEL: func.func @score(
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: f32 {mla.name = "softmax_scale"}, %[[CAP:[a-z0-9]+]]: f32 {mla.name = "cap"},
// CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: memref<16xf32> {mla.name = "arg5"},
// CHECK:         mla.score %{{.*}} {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %[[H:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: f32):
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[X]], %[[SCALE]] : f32
// CHECK-NEXT:      %[[SMALL:.*]] = arith.divf %[[SCALED]], %[[CAP]] : f32
// CHECK-NEXT:      %[[TANH:.*]] = math.tanh %[[SMALL]] : f32
// CHECK-NEXT:      %[[CAPPED:.*]] = arith.mulf %[[TANH]], %[[CAP]] : f32
// CHECK-NEXT:      %[[HI:.*]] = arith.index_cast %[[H]] : i32 to index
// CHECK-NEXT:      %[[SLOPE:.*]] = memref.load %[[SLOPES]][%[[HI]]] : memref<16xf32>
// CHECK-NEXT:      %[[NEW:.*]] = arith.addf %[[CAPPED]], %[[SLOPE]] : f32
// CHECK-NEXT:      mla.yield %[[NEW]] : f32
func.func @score(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                 %scale: f32, %cap: f32 {mla.name = "cap"}, %slopes: memref<16xf32>,
                 %out: memref<?x?x16x64xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #blocks
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %small = arith.divf %s, %cap : f32
      %tanh = math.tanh %small : f32
      %capped = arith.mulf %tanh, %cap : f32
      %hi = arith.index_cast %h : i32 to index
      %slope = memref.load %slopes[%hi] : memref<16xf32>
      %new = arith.addf %capped, %slope : f32
      mla.yield %new : f32
    }
  return
}

// Score code that yields what it got, or something from outside.

// CHECK-LABEL: func.func @score_trivial(
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: f32 {mla.name = "softmax_scale"}
// CHECK:         ^bb0({{.*}}, %[[X:[a-z0-9]+]]: f32):
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[X]], %[[SCALE]] : f32
// CHECK-NEXT:      mla.yield %[[SCALED]] : f32
func.func @score_trivial(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                         %scale: f32, %out: memref<?x?x16x64xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #blocks
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      mla.yield %s : f32
    }
  return
}

// What is not an argument is compiled in: here the scale.

// CHECK-LABEL: func.func @constant_scale(
// CHECK-NOT:     softmax_scale
// CHECK:         %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK:         mla.score
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]] : f32
func.func @constant_scale(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                          %out: memref<?x?x16x64xf32>) {
  %scale = arith.constant 0.125 : f32
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #blocks
  return
}

// A function without a problem is not touched.

// CHECK-LABEL: func.func @other(
// CHECK-SAME:    %{{.*}}: f32) -> f32 {
// CHECK-NEXT:    return
func.func @other(%x: f32) -> f32 {
  return %x : f32
}
