// Barriers and fences among the threads of a role, from the order of its ops.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
!tile = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!wide = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!pipe = !mla_gpu.pipeline<2, !tile, !tile>
!s = tensor<64x64xf32, #s>
!b = tensor<64x64xbf16, #s>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"once", []>, #mla.entry<"loop", []>, #mla.entry<"columns", []>, #mla.entry<"branch", []>, #mla.entry<"running", []>, #mla.entry<"slots", []>, #mla.entry<"before", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// An MMA reads what other threads stored: fence and barrier. It is waited for, and the next store needs a barrier.
// CHECK-LABEL: llvm.func @once
// CHECK-NOT: bar.sync 1
// CHECK: stmatrix
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: wgmma.wait_group
// CHECK: bar.sync 1, 128;
// CHECK: stmatrix
// CHECK-NOT: bar.sync
// CHECK: llvm.return
func.func @once() attributes {mla.entry = 0} {
  %a = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    mla_gpu.store_shared %p to %a : !b, !tile
    %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
    %1 = mla_gpu.mma_wait %0 : !s
    mla_gpu.store_shared %p to %a : !b, !tile
  }
  return
}

// The first store of an iteration follows the MMA of the one before.
// CHECK-LABEL: llvm.func @loop
// CHECK: scf.for
// CHECK: bar.sync 1, 128;
// CHECK: stmatrix
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: wgmma.wait_group
// CHECK-NOT: {{bar.sync|fence}}
// CHECK: llvm.return
func.func @loop(%n: i32 {mla.name = "n"}) attributes {mla.entry = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i32 to index
  %a = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    scf.for %i = %c0 to %end step %c1 {
      mla_gpu.store_shared %p to %a : !b, !tile
      %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
      %1 = mla_gpu.mma_wait %0 : !s
    }
  }
  return
}

// Other columns are no conflict; the same ones are.
// CHECK-LABEL: llvm.func @columns
// CHECK: stmatrix
// CHECK-NOT: bar.sync
// CHECK: stmatrix
// CHECK: bar.sync 1, 128;
// CHECK: ldmatrix
// CHECK: llvm.return
func.func @columns(%x: memref<?x64xbf16> {mla.name = "x"}) attributes {mla.entry = 2} {
  %c0 = arith.constant 0 : index
  %a = mla_gpu.alloc : !wide
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    %left = mla_gpu.view %a[0:64] : !wide
    %right = mla_gpu.view %a[64:128] : !wide
    mla_gpu.store_shared %p to %left : !b, !tile
    mla_gpu.store_shared %p to %right : !b, !tile
    %0 = mla_gpu.load_shared %left : !tile -> !b
    mla_gpu.store_rows %0 to %x[%c0, %c0] count(%c0) : !b, memref<?x64xbf16>
  }
  return
}

// A barrier on one path does not do for the other.
// CHECK-LABEL: llvm.func @branch
// CHECK: stmatrix
// CHECK: scf.if
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: wgmma.wait_group
// CHECK: }
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: wgmma.wait_group
func.func @branch(%c: i1 {mla.name = "c"}) attributes {mla.entry = 3} {
  %a = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    mla_gpu.store_shared %p to %a : !b, !tile
    scf.if %c {
      %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
      %1 = mla_gpu.mma_wait %0 : !s
    }
    %2 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
    %3 = mla_gpu.mma_wait %2 : !s
  }
  return
}

// A barrier between an MMA and its wait says nothing of what the MMA still reads.
// CHECK-LABEL: llvm.func @running
// CHECK: wgmma.mma_async
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: bar.sync 1, 128;
// CHECK: stmatrix
func.func @running() attributes {mla.entry = 4} {
  %a = mla_gpu.alloc : !tile
  %b = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
    mla_gpu.store_shared %p to %b : !b, !tile
    %1 = mla_gpu.mma %b, %k transposed : !tile, !tile -> !s
    %2 = mla_gpu.mma_wait %1 : !s
    mla_gpu.store_shared %p to %a : !b, !tile
  }
  return
}

// What was stored before a loop that only reads it is in order before the loop.
// CHECK-LABEL: llvm.func @before
// CHECK: stmatrix
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 1, 128;
// CHECK: scf.for
// CHECK-NOT: bar.sync
// CHECK: llvm.return
func.func @before(%n: i32 {mla.name = "n"}) attributes {mla.entry = 6} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i32 to index
  %a = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    mla_gpu.store_shared %p to %a : !b, !tile
    scf.for %i = %c0 to %end step %c1 {
      %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
      %1 = mla_gpu.mma_wait %0 : !s
    }
  }
  return
}

// Slots of pipelines are in order by their hand-over; their tiles are different places.
// CHECK-LABEL: llvm.func @slots
// CHECK: scf.for
// CHECK-NOT: bar.sync
// CHECK: stmatrix
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NOT: bar.sync
// CHECK: wgmma.wait_group
// CHECK-NOT: bar.sync
// CHECK: llvm.return
func.func @slots(%n: i32 {mla.name = "n"}) attributes {mla.entry = 5} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i32 to index
  %ring = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16, swizzle = 128>
  %more = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16, swizzle = 128>
  %pipe = mla_gpu.pipeline %ring[0:64], %more[0:64] writer(threads) from("x") to("x")
    : !mla_gpu.smem<2x64x64xbf16, swizzle = 128>, !mla_gpu.smem<2x64x64xbf16, swizzle = 128>
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    scf.for %i = %c0 to %end step %c1 {
      %a:2 = mla_gpu.acquire %pipe[%i] : !pipe
      mla_gpu.store_shared %p to %a#0 : !b, !tile
      mla_gpu.store_shared %p to %a#1 : !b, !tile
      mla_gpu.commit %pipe[%i] : !pipe
      %b:2 = mla_gpu.wait %pipe[%i] : !pipe
      %0 = mla_gpu.mma %b#0, %b#1 transposed : !tile, !tile -> !s
      %1 = mla_gpu.mma_wait %0 : !s
      mla_gpu.release %pipe[%i] : !pipe
    }
  }
  return
}
}
