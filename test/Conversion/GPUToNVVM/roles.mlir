// Roles as branches on the warp's number, and what each has of its own.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

!vec = !mla_gpu.smem<2x16xf32>
!p = !mla_gpu.pipeline<2, !mla_gpu.tile<16xf32>>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"roles", []>, #mla.entry<"shared", []>, #mla.entry<"scratch", []>, #mla.entry<"counter", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// CHECK: "scratch", [{{.*}}], launch = <threads = 64, shared_bytes = 8192,

// 384 threads start with 168 registers each.
// CHECK-LABEL: llvm.func @roles
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384>
// CHECK: %[[TID:.*]] = llvm.inline_asm "mov.u32 $0, %tid.x;"
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[TID]], %c5_i32
// CHECK: %[[WARP:.*]] = llvm.inline_asm has_side_effects "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r" %[[SHIFTED]]
// CHECK: bar.sync 0, 384;
// CHECK: %[[A:.*]] = arith.cmpi ult, %[[WARP]], %c4_i32
// CHECK: scf.if %[[A]] {
// CHECK-NEXT: setmaxnreg.inc.sync.aligned.u32 184;
// CHECK: } else {
// CHECK: %[[B:.*]] = arith.cmpi ult, %[[WARP]], %c8_i32
// CHECK: scf.if %[[B]] {
// CHECK-NOT: setmaxnreg
// CHECK: } else {
// CHECK: setmaxnreg.dec.sync.aligned.u32 152;
// After the roles, all threads meet.
// CHECK: bar.sync 0, 384;
// CHECK-NEXT: griddepcontrol.launch_dependents;
// CHECK: llvm.return
func.func @roles(%x: memref<?xi32> {mla.name = "x"}) attributes {mla.entry = 0} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  mla_gpu.warp_specialize
  role "a" warps(4) registers(184) {
    memref.store %one, %x[%c0] : memref<?xi32>
  }
  role "b" warps(4) registers(168) {
    memref.store %one, %x[%c0] : memref<?xi32>
  }
  role "c" warps(4) registers(152) {
    memref.store %one, %x[%c0] : memref<?xi32>
  }
  mla_gpu.grid_launch_dependents
  return
}

// One copy of the code for two roles: each has its pipeline, its scalar and its threads.
// CHECK-LABEL: llvm.func @shared
// CHECK: %[[TID:.*]] = llvm.inline_asm "mov.u32 $0, %tid.x;"
// CHECK: %[[WARP:.*]] = llvm.inline_asm has_side_effects "shfl
// CHECK: %[[POOL:.*]] = llvm.ptrtoint
// CHECK: %[[FULL1:.*]] = arith.addi %[[POOL]], %c256_i32
// CHECK: %[[FULL2:.*]] = arith.addi %[[POOL]], %c288_i32
// CHECK: } else {
// CHECK: %[[MINE:.*]] = arith.subi %[[WARP]], %c1_i32
// CHECK: %[[ROLE:.*]] = arith.divui %[[MINE]], %c2_i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[ROLE]], %c0_i32
// CHECK: %[[FULL:.*]] = arith.select %[[FIRST]], %[[FULL1]], %[[FULL2]]
// CHECK: %[[SCALAR:.*]] = arith.select %[[FIRST]], %c7_i32, %c8_i32
// CHECK: %[[BARRIER:.*]] = arith.addi %[[FULL]], %{{.*}}
// CHECK: mbarrier.try_wait{{.*}} %[[BARRIER]],
// CHECK: llvm.store %[[SCALAR]]
func.func @shared(%number: i32 {mla.name = "number"}, %x: memref<?xi32> {mla.name = "x"}) attributes {mla.entry = 1} {
  %n = arith.index_cast %number : i32 to index
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %v1 = mla_gpu.alloc : !vec
  %v2 = mla_gpu.alloc : !vec
  %p1 = mla_gpu.pipeline %v1[0:0] writer(threads) from("w") to("l") : !vec
  %p2 = mla_gpu.pipeline %v2[0:0] writer(threads) from("w") to("r") : !vec
  mla_gpu.warp_specialize
  role "w" warps(1) {
    memref.store %c7, %x[%n] : memref<?xi32>
  }
  role "l"(%p1, %c7), "r"(%p2, %c8) warps(2) {
  ^bb0(%p: !p, %s: i32):
    %t = mla_gpu.wait %p[%n] : !p
    memref.store %s, %x[%n] : memref<?xi32>
    mla_gpu.release %p[%n] : !p
  }
  return
}

// What a scan exchanges lies where the roles' tiles will, and is fenced before copies may write there.
// CHECK-LABEL: llvm.func @scratch
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: bar.sync 0, 64;
func.func @scratch(%number: i32 {mla.name = "number"}, %x: memref<?xi32> {mla.name = "x"}) attributes {mla.entry = 2} {
  %n = arith.index_cast %number : i32 to index
  %c7 = arith.constant 7 : i32
  %v = mla_gpu.alloc : !mla_gpu.smem<1x64x64xbf16, swizzle = 128>
  %sum = mla_gpu.scan %n ["sum"] {
  ^bb0(%i: index):
    mla_gpu.yield %i : index
  } : index
  mla_gpu.warp_specialize
  role "a" warps(2) {
    memref.store %c7, %x[%sum] : memref<?xi32>
  }
  return
}

// A role that counts its registers has an opaque counter: no address is carried for itself. Others have not.
// CHECK-LABEL: llvm.func @counter
// CHECK: setmaxnreg.dec
// CHECK: scf.for %[[I:.*]] = %c0_i32
// CHECK-NEXT: %[[OPAQUE:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %[[I]]
// CHECK: arith.extsi %[[OPAQUE]]
func.func @counter(%number: i32 {mla.name = "number"}, %x: memref<?xi32> {mla.name = "x"}) attributes {mla.entry = 3} {
  %n = arith.index_cast %number : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  mla_gpu.warp_specialize
  role "a" warps(4) registers(152) {
    scf.for %i = %c0 to %n step %c1 {
      memref.store %one, %x[%i] : memref<?xi32>
    }
  }
  role "b" warps(8) registers(168) {
  }
  return
}
}
