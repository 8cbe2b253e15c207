// Copies to shared memory: boxes, coordinates and addresses.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: sed '/mla_gpu.gather/s/ {/ aligned {/; s/\[193, 192, 1\]/[192, 192, 1]/' %s \
// RUN:   | mla-opt --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s --check-prefix=PROMISED

!narrow = !mla_gpu.tensor_map<?x64x192xbf16, box = 64x64, swizzle = 128>
!wide = !mla_gpu.tensor_map<?x64x192xbf16, box = 64x192, swizzle = 128>
!low = !mla_gpu.tensor_map<?x32x192xbf16, box = 32x64, swizzle = 128>
!ring = !mla_gpu.smem<2x64x192xbf16, swizzle = 128>
!tile = !mla_gpu.tile<64x192xbf16, swizzle = 128>
!p = !mla_gpu.pipeline<2, !tile>
!pool = memref<?x?x192xbf16, strided<[?, ?, 1]>>
#map = #mla.tensor_map<dims = [0, 1, 2], box = 64x64, swizzle = 128>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"tma", []>, #mla.entry<"gather", []>, #mla.entry<"clear", []>, #mla.entry<"gather_narrow", []>, #mla.entry<"branches", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// Several boxes of one column tile, the last ones of the tile by a view; and a wide box, of which the column tile is a
// dimension behind the row. Descriptors are fetched early. One lane of the role's first warp copies, elected.
// CHECK-LABEL: llvm.func @tma(
// CHECK-SAME: %[[NARROW:[^:]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[WIDE:[^:]*]]: !llvm.ptr
// CHECK-SAME: %[[PAGE:[^:]*]]: i32)
// CHECK: prefetch.tensormap [$1];\0Aprefetch.tensormap [$2];\0A", "r,l,l" %{{.*}}, %[[NARROW]], %[[WIDE]]
// CHECK: %[[TILE:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32 : i32
// CHECK: arrive.expect_tx.shared::cta.b64 _, [$3], 40960;
// CHECK: @!$0 bra end;\0Aelect.sync _|one, -1;\0A@!one bra end;\0Amov.b64 policy, 0x12f0000000000000;
// CHECK-SAME: add.s32 column, $4, 0;\0Acp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [$1+0], [$2, {column, $5, $6}], [$3], policy;
// CHECK-SAME: add.s32 column, $4, 64;\0Acp.async.{{[^ ]*}} [$1+8192], [$2, {column, $5, $6}], [$3], policy;\0Aend:
// CHECK-SAME: "b,r,l,r,r,r,r" %[[FIRST]], %{{.*}}, %[[NARROW]], %{{.*}}, %c64_i32, %c0_i32, %[[PAGE]] :
// CHECK: add.s32 column, $4, 0;\0Acp.async.bulk.tensor.4d.{{.*}} [$1+0], [$2, {0, $5, column, $6}], [$3], policy;\0Aend:\0A}
// CHECK-SAME: %[[WIDE]], %{{.*}}, %c0_i32, %c0_i32, %[[PAGE]] :
func.func @tma(%narrow: !narrow {mla.name = "k", mla.tensor_map = #map}, %wide: !wide {mla.name = "q", mla.tensor_map = #map},
               %page32: i32 {mla.name = "page"}) attributes {mla.entry = 0} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %page = arith.index_cast %page32 : i32 to index
  %ring = mla_gpu.alloc : !ring
  %pipe = mla_gpu.pipeline %ring[0:192] writer(tma) from("load") to("math") : !ring
  mla_gpu.warp_specialize
  role "load" warps(1) {
    %0 = mla_gpu.acquire %pipe[%page] : !p
    %1 = mla_gpu.view %0[64:192] : !tile
    mla_gpu.tma_load %narrow[%page, %c0, %c64] to %1 : !narrow, !mla_gpu.tile<64x128xbf16, swizzle = 128>
    mla_gpu.tma_load %wide[%page, %c0, %c0] to %0 : !wide, !tile
    mla_gpu.commit %pipe[%page] : !p
  }
  role "math" warps(1) {
  }
  return
}

// Eight threads a row; rows that are not there are zeros, and read nothing. Rows that are not aligned to 16 bytes, by
// where they begin or by their strides, are copied in words, or, if they are not aligned to these, by loads and stores.
// Of rows that are promised to be aligned nothing is asked.
// PROMISED-LABEL: llvm.func @gather(
// PROMISED: scf.for
// PROMISED-NOT: scf.if
// PROMISED: cp.async.cg.shared.global
// PROMISED-NOT: cp.async.ca
// PROMISED-NOT: ld.global.b16
// PROMISED: cp.async.mbarrier.arrive.noinc
// CHECK-LABEL: llvm.func @gather(
// CHECK-SAME: %[[POOL:[^:]*]]: !llvm.ptr<1>, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[S0:[^:]*]]: i64, %[[S1:[^:]*]]: i64, %[[LIST:[^:]*]]: !llvm.ptr<1>
// CHECK: %[[FIRST:.*]] = arith.shrui %[[THREAD:.*]], %c3_i32
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %c64_i32 step %c8_i32
// CHECK: %[[ID:.*]] = llvm.load
// CHECK: %[[EXISTS:.*]] = arith.cmpi sge, %[[ID]], %c0_i32
// CHECK: %[[SAFE:.*]] = arith.select %[[EXISTS]], %[[ID]], %c0_i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[SAFE]] : i32 to i64
// CHECK: arith.muli %[[WIDE]], %[[S0]]
// CHECK: %[[AT:.*]] = llvm.ptrtoint %[[POOL]]
// CHECK: %[[BYTES0:.*]] = arith.muli %[[S0]], %c2_i64
// CHECK: %[[OR0:.*]] = arith.ori %[[AT]], %[[BYTES0]]
// CHECK: %[[BYTES1:.*]] = arith.muli %[[S1]], %c2_i64
// CHECK: %[[OR1:.*]] = arith.ori %[[OR0]], %[[BYTES1]]
// CHECK: %[[REST:.*]] = arith.andi %[[OR1]], %c15_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[REST]], %c0_i64
// CHECK: scf.if %[[ALIGNED]] {
// CHECK: %[[BYTES:.*]] = arith.select %[[EXISTS]], %c16_i32, %c0_i32
// CHECK: %[[CHUNK:.*]] = arith.andi %[[THREAD]], %c7_i32
// CHECK: "cp.async.cg.shared.global [$2], [$0+0], 16, $1;\0Acp.async.cg.shared.global [$3], [$0+128], 16, $1;\0Acp.async.cg.shared.global [$4], [$0+256], 16, $1;\0A", "l,r,r,r,r" %{{.*}}, %[[BYTES]],
// CHECK: } else {
// CHECK: %[[WORDS:.*]] = arith.cmpi eq, %{{.*}}, %c0_i64
// CHECK: scf.if %[[WORDS]] {
// CHECK: %[[BYTES:.*]] = arith.select %[[EXISTS]], %c4_i32, %c0_i32
// CHECK: scf.for %{{.*}} to %c192_i32 step %c64_i32
// CHECK: "cp.async.ca.shared.global [$0+0], [$1+0], 4, $2;\0A{{.*}} [$0+12], [$1+12], 4, $2;\0A", "r,l,r" %{{.*}}, %{{.*}}, %[[BYTES]] :
// CHECK: } else {
// CHECK: scf.for %{{.*}} to %c192_i32 step %c64_i32
// CHECK: mov.b32 {half0, half1}, 0;\0A@$2 ld.global.b16 half0, [$1+0];\0A@$2 ld.global.b16 half1, [$1+2];\0A
// CHECK-SAME: mov.b32 word, {half0, half1};\0Ast.shared.b32 [$0+0], word;\0A
// CHECK-SAME: st.shared.b32 [$0+12], word;\0A}", "r,l,b" %{{.*}}, %{{.*}}, %[[EXISTS]]
// CHECK: }
// CHECK-NEXT: "membar.cta;"
// CHECK: cp.async.mbarrier.arrive.noinc
func.func @gather(%pool: !pool {mla.name = "k"}, %list: memref<?xi32> {mla.name = "kv_indices"}) attributes {mla.entry = 1} {
  %c0 = arith.constant 0 : index
  %ring = mla_gpu.alloc : !ring
  %pipe = mla_gpu.pipeline %ring[0:192] writer(cp_async) from("load") to("math") : !ring
  mla_gpu.warp_specialize
  role "load" warps(2) {
    %0 = mla_gpu.acquire %pipe[%c0] : !p
    mla_gpu.gather %pool to %0 {
    ^bb0(%i: index):
      %1 = memref.load %list[%i] : memref<?xi32>
      %2 = arith.index_cast %1 : i32 to index
      mla_gpu.yield %2, %i : index, index
    } : !pool, !tile
    mla_gpu.commit %pipe[%c0] : !p
  }
  role "math" warps(1) {
  }
  return
}

// Strides that are known to be 2-byte aligned only leave one way; that of a dimension of size 1 does not matter.
// CHECK-LABEL: llvm.func @gather_narrow(
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: ld.global.b16
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: llvm.return
func.func @gather_narrow(%pool: memref<?x1x192xbf16, strided<[193, 192, 1]>> {mla.name = "k"}) attributes {mla.entry = 3} {
  %c0 = arith.constant 0 : index
  %ring = mla_gpu.alloc : !ring
  %pipe = mla_gpu.pipeline %ring[0:192] writer(cp_async) from("load") to("math") : !ring
  mla_gpu.warp_specialize
  role "load" warps(2) {
    %0 = mla_gpu.acquire %pipe[%c0] : !p
    mla_gpu.gather %pool to %0 {
    ^bb0(%i: index):
      mla_gpu.yield %i, %c0 : index, index
    } : memref<?x1x192xbf16, strided<[193, 192, 1]>>, !tile
    mla_gpu.commit %pipe[%c0] : !p
  }
  role "math" warps(1) {
  }
  return
}

// Only where rows are past the end, and with all that it takes inside of the branch: row n is 128 n bytes on in each of the
// three column tiles of 64 x 128 bytes.
// CHECK-LABEL: llvm.func @clear(
// CHECK-SAME: %[[KEYS:[^:]*]]: i32)
// CHECK: try_wait
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[KEYS]], %c64_i32
// CHECK-NEXT: scf.if %[[SOME]] {
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[KEYS]], %c0_i32
// CHECK: %[[ROWS:.*]] = arith.muli %[[BEGIN]], %c128_i32
// CHECK: %[[AT:.*]] = arith.addi %[[TILE:.*]], %[[ROWS]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[AT]], %{{.*}}
// CHECK: %[[STOP:.*]] = arith.addi %[[TILE]], %c8192_i32
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[STOP]] step %c2048_i32
// CHECK-NEXT: st.shared.v4.b32 [$0+0], {$1, $1, $1, $1};
// CHECK-NEXT: st.shared.v4.b32 [$0+8192], {$1, $1, $1, $1};
// CHECK-NEXT: st.shared.v4.b32 [$0+16384], {$1, $1, $1, $1};
// CHECK-NOT: st.shared
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 2, 128;
// CHECK-NEXT: }
// And where rows are before an end.
// CHECK: %[[END:.*]] = arith.minsi %[[KEYS]], %c64_i32
// CHECK: %[[SOME2:.*]] = arith.cmpi sgt, %[[END]], %c0_i32
// CHECK-NEXT: scf.if %[[SOME2]] {
// CHECK: %[[BYTES:.*]] = arith.muli %[[END]], %c128_i32
// CHECK: %[[STOP2:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// CHECK: scf.for %{{.*}} to %[[STOP2]] step %c2048_i32
func.func @clear(%keys32: i32 {mla.name = "keys"}) attributes {mla.entry = 2} {
  %c0 = arith.constant 0 : index
  %keys = arith.index_cast %keys32 : i32 to index
  %ring = mla_gpu.alloc : !ring
  %pipe = mla_gpu.pipeline %ring[0:192] writer(tma) from("load") to("math") : !ring
  mla_gpu.warp_specialize
  role "load" warps(1) {
  }
  role "math" warps(4) {
    %0 = mla_gpu.wait %pipe[%c0] : !p
    mla_gpu.clear_rows %0 from %keys : !tile
    mla_gpu.clear_rows %0 from %c0 to %keys : !tile
    mla_gpu.release %pipe[%c0] : !p
  }
  return
}

// Either way copies as many bytes, so that they are announced before. Rows from 32 on of the tile are 32 x 128 bytes on, in
// each of the column tiles, which are 64 x 128 bytes apart.
// CHECK-LABEL: llvm.func @branches(
// CHECK: %[[TILE:.*]] = arith.addi %[[RING:.*]], %c24576_i32 : i32
// CHECK: arrive.expect_tx.shared::cta.b64 _, [$3], 24576;
// CHECK: scf.if
// CHECK-NOT: expect_tx
// CHECK: [$1+0], {{.*}} [$1+8192], {{.*}} [$1+16384],
// CHECK: else
// CHECK: [$1+0], {{.*}} [$1+8192], {{.*}} [$1+16384], {{.*}} %[[TILE]], %arg1,
// CHECK: %[[LOWER:.*]] = arith.addi %[[RING]], %c28672_i32
// CHECK: [$1+0], {{.*}} [$1+8192], {{.*}} [$1+16384], {{.*}} %[[LOWER]], %arg1,
func.func @branches(%narrow: !narrow {mla.name = "k", mla.tensor_map = #map},
                    %low: !low {mla.name = "q", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 2], box = 32x64, swizzle = 128>},
                    %page32: i32 {mla.name = "page"}) attributes {mla.entry = 4} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %page = arith.index_cast %page32 : i32 to index
  %is_first = arith.cmpi eq, %page, %c0 : index
  %ring = mla_gpu.alloc : !ring
  %pipe = mla_gpu.pipeline %ring[0:192] writer(tma) from("load") to("math") : !ring
  mla_gpu.warp_specialize
  role "load" warps(1) {
    %0 = mla_gpu.acquire %pipe[%c1] : !p
    scf.if %is_first {
      mla_gpu.tma_load %narrow[%page, %c0, %c0] to %0 : !narrow, !tile
    } else {
      mla_gpu.tma_load %low[%page, %c0, %c0] to %0 : !low, !tile
      mla_gpu.tma_load %low[%c1, %c0, %c0] to %0 at(32) : !low, !tile
    }
    mla_gpu.commit %pipe[%c1] : !p
  }
  role "math" warps(1) {
  }
  return
}
}
