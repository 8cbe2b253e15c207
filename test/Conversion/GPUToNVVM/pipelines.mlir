// Pipelines as mbarriers: counts, phases, bytes, and what an acquire waits for.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

!map = !mla_gpu.tensor_map<?x64x128xbf16, box = 64x64, swizzle = 128>
!ring = !mla_gpu.smem<2x64x128xbf16, swizzle = 128>
!ring3 = !mla_gpu.smem<3x64x64xbf16, swizzle = 128>
!tile = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!half = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!p = !mla_gpu.pipeline<2, !tile>
!h = !mla_gpu.pipeline<2, !half>
!three = !mla_gpu.pipeline<3, !half>
!turn = !mla_gpu.pipeline<1>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"counts", []>, #mla.entry<"phases", []>, #mla.entry<"bytes", []>, #mla.entry<"chain", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// One arrival of a TMA writer, one a thread of cp.async, one a warp of threads and of readers.
// CHECK-LABEL: llvm.func @counts
// CHECK: %[[TID:.*]] = llvm.inline_asm "mov.u32 $0, %tid.x;"
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[TID]]
// CHECK: scf.if %[[ONE]] {
// CHECK: mbarrier.init.shared::cta.b64 [$0+0], 1;\0Ambarrier.init.shared::cta.b64 [$0+8], 1;
// CHECK-SAME: mbarrier.init.shared::cta.b64 [$0+16], 6;\0Ambarrier.init.shared::cta.b64 [$0+24], 6;
// CHECK-SAME: mbarrier.init.shared::cta.b64 [$1+0], 32;{{.*}} [$1+16], 4;
// CHECK-SAME: mbarrier.init.shared::cta.b64 [$2+0], 4;\0Ambarrier.init.shared::cta.b64 [$2+8], 1;
// CHECK-SAME: fence.mbarrier_init.release.cluster;
// The barriers are made before what the launch has to wait for.
// CHECK: griddepcontrol.wait;
// CHECK-NEXT: griddepcontrol.launch_dependents;
// CHECK-NEXT: bar.sync 0, 224;
func.func @counts() attributes {mla.entry = 0} {
  %ring = mla_gpu.alloc : !ring
  %ring2 = mla_gpu.alloc : !ring
  %a = mla_gpu.pipeline %ring[0:128] writer(tma) from("load") to("math", "more") : !ring
  %b = mla_gpu.pipeline %ring2[0:128] writer(cp_async) from("load") to("math") : !ring
  %c = mla_gpu.pipeline slots(1) writer(threads) from("math") to("load")
  mla_gpu.grid_wait
  mla_gpu.grid_launch_dependents
  mla_gpu.warp_specialize
  role "math" warps(4) {
  }
  role "more" warps(2) {
  }
  role "load" warps(1) {
  }
  return
}

// Slot n is stage n mod 2 and phase n / 2; of 3 stages, by a division.
// CHECK-LABEL: llvm.func @phases(
// CHECK-SAME: %[[N:.*]]: i32)
// CHECK: %[[POOL:.*]] = llvm.ptrtoint
// CHECK: %[[FULL:.*]] = arith.addi %[[POOL]], %c57344_i32
// CHECK: %[[EMPTY:.*]] = arith.addi %[[POOL]], %c57360_i32
// CHECK: %[[FULL3:.*]] = arith.addi %[[POOL]], %c57376_i32
// CHECK: %[[EMPTY3:.*]] = arith.addi %[[POOL]], %c57400_i32
// The writer waits for the phase before, in which a fresh barrier is done.
// CHECK: %[[STAGE:.*]] = arith.andi %[[N]], %c1_i32
// CHECK: %[[ROUND:.*]] = arith.shrui %[[N]], %c1_i32
// CHECK: %[[PHASE:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK: %[[OFFSET:.*]] = arith.shli %[[STAGE]], %c3_i32
// CHECK: %[[BARRIER:.*]] = arith.addi %[[EMPTY]], %[[OFFSET]]
// CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %c1_i32
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra retry;{{.*}} %[[BARRIER]], %[[BEFORE]]
// CHECK: fence.proxy.async.shared::cta;
// CHECK: bar.warp.sync -1;\0A@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b" %[[ARRIVE:.*]], %{{.*}}
// CHECK: %[[ROUND3:.*]] = arith.divui %[[N]], %c3_i32
// CHECK: %[[PAST:.*]] = arith.muli %[[ROUND3]], %c3_i32
// CHECK: %[[STAGE3:.*]] = arith.subi %[[N]], %[[PAST]]
// CHECK: %[[PHASE3:.*]] = arith.andi %[[ROUND3]], %c1_i32
// CHECK: %[[OFFSET3:.*]] = arith.shli %[[STAGE3]], %c3_i32
// CHECK: %[[BARRIER3:.*]] = arith.addi %[[FULL3]], %[[OFFSET3]]
// CHECK: mbarrier.try_wait{{.*}} %[[BARRIER3]], %[[PHASE3]]
// What cp.async wrote is fenced by those who read it.
// CHECK-NEXT: fence.proxy.async.shared::cta;
// CHECK: %[[BACK:.*]] = arith.addi %[[EMPTY3]], %[[OFFSET3]]
// CHECK: mbarrier.arrive.shared::cta.b64 _, {{.*}} %[[BACK]],
// The other role, a round ahead: of the same stage, and the phase after.
// CHECK: %[[ROUND:.*]] = arith.divui %[[N]], %c3_i32
// CHECK: %[[PHASE:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK-NOT: arith.divui
// CHECK: mbarrier.try_wait{{.*}} %{{.*}}, %[[PHASE]]
// CHECK: cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];
// CHECK: %[[BARRIER:.*]] = arith.addi %[[FULL]], %{{.*}}
// CHECK-NEXT: mbarrier.try_wait{{.*}} %[[BARRIER]], %{{.*}}
func.func @phases(%number: i32 {mla.name = "number"}) attributes {mla.entry = 1} {
  %n = arith.index_cast %number : i32 to index
  %c3 = arith.constant 3 : index
  %ahead = arith.addi %n, %c3 : index
  %ring = mla_gpu.alloc : !ring
  %ring3 = mla_gpu.alloc : !ring3
  %a = mla_gpu.pipeline %ring[0:128] writer(threads) from("x") to("y") : !ring
  %b = mla_gpu.pipeline %ring3[0:64] writer(cp_async) from("y") to("x") : !ring3
  mla_gpu.warp_specialize
  role "x" warps(1) {
    %0 = mla_gpu.acquire %a[%n] : !p
    mla_gpu.commit %a[%n] : !p
    %1 = mla_gpu.wait %b[%n] : !three
    mla_gpu.release %b[%n] : !three
  }
  role "y" warps(1) {
    %0 = mla_gpu.acquire %b[%ahead] : !three
    mla_gpu.commit %b[%ahead] : !three
    %1 = mla_gpu.wait %a[%n] : !p
    mla_gpu.release %a[%n] : !p
  }
  return
}

// One thread announces the bytes of copies: with its acquire, for which its whole warp waits, if all of them come; else
// each with its copy, and the commit arrives behind.
// CHECK-LABEL: llvm.func @bytes
// CHECK: @!$0 bra end;\0Aretry:{{.*}}@!done bra retry;\0Aend:\0A@$4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$3], 16384;\0A}
// CHECK-NOT: expect_tx
// CHECK: L2::cache_hint [$1+0], [$2, {column, $5, $6}], [$3], policy;
// CHECK-NOT: mbarrier.arrive
// CHECK: @!$0 bra end;\0Aretry:{{.*}}@!done bra retry;\0Aend:\0A}
// CHECK: scf.if
// CHECK: @!one bra end;\0Ambarrier.expect_tx.relaxed.cta.shared::cta.b64 [$3], 8192;
// CHECK: bar.warp.sync -1;\0A@$1 mbarrier.arrive.shared::cta.b64 _, [$0];
func.func @bytes(%number: i32 {mla.name = "number"}, %more: i1 {mla.name = "more"},
                 %map: !map {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 2], box = 64x64, swizzle = 128>})
    attributes {mla.entry = 2} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = arith.index_cast %number : i32 to index
  %ring = mla_gpu.alloc : !ring
  %ring2 = mla_gpu.alloc : !ring
  %a = mla_gpu.pipeline %ring[0:128] writer(tma) from("x") to("y") : !ring
  %b = mla_gpu.pipeline %ring2[0:128] writer(tma) from("x") to("y") : !ring
  mla_gpu.warp_specialize
  role "x" warps(1) {
    %0 = mla_gpu.acquire %a[%n] : !p
    mla_gpu.tma_load %map[%n, %c0, %c0] to %0 : !map, !tile
    mla_gpu.commit %a[%n] : !p
    %1 = mla_gpu.acquire %b[%n] : !p
    scf.if %more {
      %2 = mla_gpu.view %1[64:128] : !tile
      mla_gpu.tma_load %map[%n, %c0, %c64] to %2 : !map, !half
    }
    mla_gpu.commit %b[%n] : !p
  }
  role "y" warps(1) {
  }
  return
}

// The second takes the place of the first: its slot n follows slot n there, and slot n + 2 of the first follows it.
// CHECK-LABEL: llvm.func @chain
// CHECK: %[[POOL:.*]] = llvm.ptrtoint
// CHECK: %[[EMPTY1:.*]] = arith.addi %[[POOL]], %c32784_i32
// CHECK: %[[EMPTY2:.*]] = arith.addi %[[POOL]], %c32816_i32
// CHECK: %[[ROUND:.*]] = arith.shrui
// CHECK: %[[PHASE:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK: %[[OFFSET:.*]] = arith.shli
// CHECK: %[[LAST:.*]] = arith.addi %[[EMPTY2]], %[[OFFSET]]
// CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %c1_i32
// CHECK: mbarrier.try_wait{{.*}} %[[LAST]], %[[BEFORE]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[EMPTY1]], %[[OFFSET]]
// CHECK: mbarrier.try_wait{{.*}} %[[FIRST]], %[[PHASE]]
func.func @chain(%number: i32 {mla.name = "number"}) attributes {mla.entry = 3} {
  %n = arith.index_cast %number : i32 to index
  %ring = mla_gpu.alloc : !ring
  %a = mla_gpu.pipeline %ring[64:128] writer(threads) from("x") to("y") : !ring
  %b = mla_gpu.pipeline %ring[64:128] writer(threads) from("x") to("y") after(%a : !h) : !ring
  mla_gpu.warp_specialize
  role "x" warps(1) {
    %0 = mla_gpu.acquire %a[%n] : !h
    mla_gpu.commit %a[%n] : !h
    %1 = mla_gpu.acquire %b[%n] : !h
    mla_gpu.commit %b[%n] : !h
  }
  role "y" warps(1) {
  }
  return
}
}
