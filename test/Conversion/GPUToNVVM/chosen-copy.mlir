// Branches that copy to one tile alike, from one of two tensors, become one copy; others stay branches.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s

!k = !mla_gpu.tensor_map<?x1x64x192xbf16, box = 64x64, swizzle = 128>
!q = !mla_gpu.tensor_map<?x?x64x192xbf16, box = 64x64, swizzle = 128>
!low = !mla_gpu.tensor_map<?x?x64x192xbf16, box = 32x64, swizzle = 128>
!tile = !mla_gpu.tile<64x192xbf16, swizzle = 128>
!p = !mla_gpu.pipeline<2, !tile>
#map = #mla.tensor_map<dims = [0, 1, 2, 3], box = 64x64, swizzle = 128>
#low = #mla.tensor_map<dims = [0, 1, 2, 3], box = 32x64, swizzle = 128>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// CHECK-LABEL: llvm.func @f(
// CHECK-SAME: %[[K:[^:]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[Q:[^:]*]]: !llvm.ptr {
// CHECK-SAME: %[[PAGE:[^:]*]]: i32, %[[HEAD:[^:]*]]: i32)
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PAGE]], %{{.*}} : i32
// CHECK-NOT: scf.if
// CHECK: %[[FROM:.*]] = llvm.select %[[FIRST]], %[[HEAD]], %[[PAGE]] : i1, i32
// CHECK: %[[MAP:.*]] = llvm.select %[[FIRST]], %[[Q]], %[[K]] : i1, !llvm.ptr
// The coordinate that both have alike is not chosen.
// CHECK-NOT: scf.if
// CHECK: cp.async.bulk.tensor.4d{{.*}} %[[MAP]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FROM]] :
// Boxes of another height are more copies.
// CHECK: scf.if
// CHECK: cp.async.bulk
// CHECK: else
// CHECK: cp.async.bulk
func.func @f(%k: !k {mla.name = "k", mla.tensor_map = #map}, %q: !q {mla.name = "q", mla.tensor_map = #map},
             %low: !low {mla.name = "low", mla.tensor_map = #low}, %page32: i32 {mla.name = "page"},
             %head32: i32 {mla.name = "head"}) attributes {mla.entry = 0} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %page = arith.index_cast %page32 : i32 to index
  %head = arith.index_cast %head32 : i32 to index
  %ring = mla_gpu.alloc : !mla_gpu.smem<2x64x192xbf16, swizzle = 128>
  %pipe = mla_gpu.pipeline %ring[0:192] writer(tma) from("load") to("math") : !mla_gpu.smem<2x64x192xbf16, swizzle = 128>
  mla_gpu.warp_specialize
  role "load" warps(1) {
    %t = mla_gpu.acquire %pipe[%c0] : !p
    %first = arith.cmpi eq, %page, %c0 : index
    scf.if %first {
      mla_gpu.tma_load %q[%head, %c0, %c0, %c0] to %t : !q, !tile
    } else {
      mla_gpu.tma_load %k[%page, %c0, %c0, %c0] to %t : !k, !tile
    }
    mla_gpu.commit %pipe[%c0] : !p
    %u = mla_gpu.acquire %pipe[%c1] : !p
    scf.if %first {
      mla_gpu.tma_load %q[%head, %c0, %c0, %c0] to %u : !q, !tile
    } else {
      mla_gpu.tma_load %low[%page, %c0, %c0, %c0] to %u : !low, !tile
      mla_gpu.tma_load %low[%page, %c0, %c32, %c0] to %u at(32) : !low, !tile
    }
    mla_gpu.commit %pipe[%c1] : !p
  }
  role "math" warps(1) {
  }
  return
}
}
