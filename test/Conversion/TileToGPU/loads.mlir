// RUN: mla-opt %s --split-input-file --mla-problem-to-tile='chip=sm_90a split=whole' --mla-tile-to-gpu --inline | FileCheck %s

// Pages of several tiles, behind CSR and an indirection; latent and rope by a map each.

// CHECK-LABEL: func.func @pages(
// CHECK-SAME:    %[[INDPTR:[a-z0-9]+]]: memref<?xi32> {mla.name = "kv_indptr"}, %[[INDICES:[a-z0-9]+]]: memref<?xi32> {mla.name = "kv_indices"}, %[[ROWS:[a-z0-9]+]]: memref<?xi32> {mla.name = "table_rows"}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{.*}} {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 64x512, swizzle = 128>}
// CHECK-SAME:    %[[ROPE:[a-z0-9]+]]: !{{.*}} {mla.name = "k_rope", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 64x64, swizzle = 128>}
// CHECK:         role "load" warps(1)
// CHECK:           %[[ROW:.*]] = memref.load %[[ROWS]]
// CHECK:           %[[R:.*]] = arith.index_cast %[[ROW]]
// CHECK:           memref.load %[[INDPTR]][%[[R]]]
// CHECK:           scf.for
// CHECK:             arith.divui %[[TILE:.*]], %c2
// CHECK:             arith.remui %[[TILE]], %c2
// CHECK:             %[[INNER:.*]] = arith.muli %{{.*}}, %c64
// CHECK:             memref.load %[[INDICES]]
// CHECK:             %[[PAGE:.*]] = arith.index_cast
// CHECK:             %[[DST:.*]] = mla_gpu.acquire
// CHECK:             %[[LATENT:.*]] = mla_gpu.view %[[DST]][0:512]
// CHECK:             mla_gpu.tma_load %[[K]][%[[PAGE]], %[[HEAD:.*]], %[[INNER]], %c0] to %[[LATENT]]
// CHECK:             %[[REST:.*]] = mla_gpu.view %[[DST]][512:576]
// CHECK:             mla_gpu.tma_load %[[ROPE]][%[[PAGE]], %[[HEAD]], %[[INNER]], %c0] to %[[REST]]
// CHECK:         role "load_q"
// CHECK-COUNT-2:   mla_gpu.gather
func.func @pages(%q: memref<?x?x16x512xf16>, %qr: memref<?x?x16x64xf16>, %k: memref<?x128x2x512xf16>,
                 %kr: memref<?x128x2x64xf16>, %ptr: memref<?xi32>, %idx: memref<?xi32>, %rows: memref<?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xf16>) {
  mla.decode
    q(%q : memref<?x?x16x512xf16>, %qr : memref<?x?x16x64xf16>)
    k(%k : memref<?x128x2x512xf16>, %kr : memref<?x128x2x64xf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    table_rows(%rows : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x512xf16>)
    head_dim_v = 512
  return
}

// -----

// A tile of several pages: a box of each, of one column tile. A page without a key that a row sees is not looked up: a page
// that has one is, and page -1, of which zeros arrive, is copied.

// CHECK-LABEL: func.func @small_pages(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{.*}} {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 32x64, swizzle = 128>}
// CHECK:         mla_gpu.pipeline %{{.*}} writer(tma) from("load") to("math")
// CHECK:         mla_gpu.clear_rows
// CHECK:         role "load" warps(1)
// CHECK:           mla_gpu.work_item
// CHECK:           scf.for %[[J:.*]] = %c0 to
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        %[[TILE:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK:             %[[PAGE0:.*]] = arith.muli %[[TILE]], %c2
// CHECK:             %[[PAGE1:.*]] = arith.addi %[[PAGE0]], %c1
// CHECK:             %[[LAST:.*]] = arith.divui %{{.*}}, %c32
// CHECK:             %[[LEAST0:.*]] = arith.minsi %[[PAGE0]], %[[LAST]]
// CHECK:             %[[FIRST:.*]] = arith.divui %{{.*}}, %c32
// CHECK:             %[[SEEN0:.*]] = arith.maxsi %[[LEAST0]], %[[FIRST]]
// CHECK:             %[[LEAST1:.*]] = arith.minsi %[[PAGE1]], %[[LAST]]
// CHECK:             %[[SEEN1:.*]] = arith.maxsi %[[LEAST1]], %[[FIRST]]
// CHECK:             memref.load %[[TABLE]][%[[REQUEST:.*]], %[[SEEN0]]]
// CHECK:             %[[NUMBER0:.*]] = arith.index_cast
// CHECK:             memref.load %[[TABLE]][%[[REQUEST]], %[[SEEN1]]]
// CHECK:             %[[NUMBER1:.*]] = arith.index_cast
// CHECK:             %[[IS0:.*]] = arith.cmpi eq, %[[PAGE0]], %[[SEEN0]]
// CHECK:             %[[OUTER0:.*]] = arith.select %[[IS0]], %[[NUMBER0]], %c-1
// CHECK:             %[[IS1:.*]] = arith.cmpi eq, %[[PAGE1]], %[[SEEN1]]
// CHECK:             %[[OUTER1:.*]] = arith.select %[[IS1]], %[[NUMBER1]], %c-1
// CHECK:             %[[DST:.*]] = mla_gpu.acquire
// CHECK-NEXT:        mla_gpu.tma_load %[[K]][%[[OUTER0]], %[[HEAD:.*]], %c0, %c0] to %[[DST]] :
// CHECK-NEXT:        mla_gpu.tma_load %[[K]][%[[OUTER1]], %[[HEAD]], %c0, %c0] to %[[DST]] at(32) :
// CHECK-NEXT:        mla_gpu.commit
func.func @small_pages(%q: memref<?x?x8x576xbf16>, %k: memref<?x32x1x576xbf16>, %table: memref<?x?xi32>, %window: i32,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x8x512xf32>) {
  mla.decode
    q(%q : memref<?x?x8x576xbf16>)
    k(%k : memref<?x32x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.sliding_window, %window : i32)
    out(%out : memref<?x?x8x512xf32>)
    head_dim_v = 512
  return
}

// -----

// Pages that neither divide a tile nor are whole ones: 48 keys are boxes of 16. "right" also brings the rope columns. A
// piece without keys looks nothing up.

// CHECK-LABEL: func.func @uneven_pages(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{.*}} {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 16x64, swizzle = 128>}
// CHECK:         role "left"
// CHECK:           arith.divui %{{.*}}, %c3
// CHECK:           arith.remui %{{.*}}, %c3
// CHECK:           %[[NUMBERS:.*]]:4 = scf.if
// CHECK-COUNT-4:     memref.load %[[TABLE]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %c-1, %c-1, %c-1, %c-1
// CHECK:           mla_gpu.acquire
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %[[COLUMN:[a-z0-9]+]]] to %[[HALF:.*]] :
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %[[COLUMN]]] to %[[HALF]] at(16)
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %[[COLUMN]]] to %[[HALF]] at(32)
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %[[COLUMN]]] to %[[HALF]] at(48)
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %c512] to %[[REST:.*]] :
// CHECK:           mla_gpu.tma_load %[[K]][%{{[^]]*}}, %c512] to %[[REST]] at(16)
func.func @uneven_pages(%q: memref<?x?x64x576xbf16>, %k: memref<?x48x1x576xbf16>, %table: memref<?x?xi32>,
                        %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x64x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x64x576xbf16>)
    k(%k : memref<?x48x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x64x512xbf16>)
    head_dim_v = 512
  return
}

// -----

// Pages of any size, row by row: keys outside of what rows see are zeros, and are not looked up. Nothing is left to clear.

// CHECK-LABEL: func.func @odd_pages(
// CHECK-SAME:    %[[K:[a-z0-9]+]]: memref<?x?x1x576xbf16> {mla.name = "k"}, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32> {mla.name = "table"}
// CHECK-NOT:     tensor_map
// CHECK:         mla_gpu.pipeline %{{.*}} writer(cp_async) from("load") to("math")
// CHECK-NOT:     mla_gpu.clear_rows
// CHECK:         role "load" warps(3)
// CHECK:             mla_gpu.acquire
// CHECK:             %[[SIZE:.*]] = memref.dim %[[K]], %c1
// CHECK:             mla_gpu.gather %[[K]] to
// CHECK:             ^bb0(%[[I:.*]]: index):
// CHECK:               %[[WANTED:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK:               arith.minsi %[[WANTED]],
// CHECK:               %[[KEY:.*]] = arith.maxsi
// CHECK:               %[[EXISTS:.*]] = arith.cmpi eq, %[[KEY]], %[[WANTED]]
// CHECK:               arith.divui %[[KEY]], %[[SIZE]]
// CHECK:               memref.load %[[TABLE]]
// CHECK:               %[[PAGE:.*]] = arith.index_cast
// CHECK:               %[[ROW:.*]] = arith.remui %[[KEY]], %[[SIZE]]
// CHECK:               %[[FIRST:.*]] = arith.select %[[EXISTS]], %[[PAGE]], %c-1
// CHECK:               mla_gpu.yield %[[FIRST]], %[[ROW]],
func.func @odd_pages(%q: memref<?x?x8x576xbf16>, %k: memref<?x?x1x576xbf16>, %table: memref<?x?xi32>, %window: i32,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x8x512xf32>) {
  mla.decode
    q(%q : memref<?x?x8x576xbf16>)
    k(%k : memref<?x?x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.sliding_window, %window : i32)
    out(%out : memref<?x?x8x512xf32>)
    head_dim_v = 512
  return
}

// -----

// Dense keys: requests take the place of pages, and the end of a request may lie within a box. Ragged queries.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x4x192xbf16> {mla.name = "q"}
// CHECK-SAME:    %[[OFFSETS:[a-z0-9]+]]: memref<?xi32> {mla.name = "q_offsets"}
// CHECK-SAME:    %[[MAP:[a-z0-9]+]]: !{{.*}} {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 2, 1, 3], box = 64x192, swizzle = 128>}
// CHECK:         role "load" warps(1)
// CHECK:           scf.for
// CHECK-NEXT:        %[[REQUEST:request[_0-9]*]], {{.*}} = mla_gpu.work_item
// CHECK:             scf.for
// CHECK:               %[[KEY:.*]] = arith.muli %{{.*}}, %c64
// CHECK:             mla_gpu.tma_load %[[MAP]][%[[REQUEST]], %{{.*}}, %[[KEY]], %c0]
// CHECK:         role "load_q"
// CHECK:           %[[BASE32:.*]] = memref.load %[[OFFSETS]]
// CHECK:           %[[BASE:.*]] = arith.index_cast %[[BASE32]]
// CHECK:           mla_gpu.gather %[[Q]]
// CHECK:             %[[QUERY:.*]] = arith.addi %[[BASE]],
// CHECK:             %[[FIRST:.*]] = arith.select %{{.*}}, %[[QUERY]], %c-1
// CHECK:             mla_gpu.yield %[[FIRST]], %{{.*}} : index, index
func.func @dense(%q: memref<?x4x192xbf16>, %k: memref<?x?x4x192xbf16>, %lens: memref<?xi64>, %offs: memref<?xi32>,
                 %scale: f32, %out: memref<?x4x128xbf16>) {
  mla.decode
    q(%q : memref<?x4x192xbf16>)
    k(%k : memref<?x?x4x192xbf16>)
    seq_lens(%lens : memref<?xi64>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x4x128xbf16>)
    head_dim_v = 128
  return
}
