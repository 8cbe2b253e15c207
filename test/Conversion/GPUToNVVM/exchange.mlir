// Halves of a matrix between the CTAs of a cluster.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

#o = #mla_gpu.mma<m = keys, instr = [64, 8, 16]>
#row = #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 8, 16]>>
!scratch = !mla_gpu.tile<8x192xbf16, swizzle = 128>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"pair", []>], workspace = [],
    schedule = #mla.schedule<keys_as_m, block_m = 8, block_n = 64, split = balanced, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma, cluster = 2>, mask = #mla.none, kv_heads = 1, group = 8>} {

// CHECK: launch = <threads = 128, {{.*}}, dependent = false, cluster = 2>

// A barrier for an arrival of each warp, and one of each thread of the other CTA. All threads arrive at the cluster's
// barrier once these are made, and wait for it before the roles.
// CHECK-LABEL: llvm.func @pair
// CHECK: %[[READY:.*]] = arith.addi %{{.*}}, %c3072_i32
// CHECK: %[[FULL:.*]] = arith.addi %{{.*}}, %c3080_i32
// CHECK: scf.if
// CHECK-NEXT: mbarrier.init.shared::cta.b64 [$0], 4;\0Ambarrier.init.shared::cta.b64 [$0+8], 128;\0Afence.mbarrier_init.release.cluster;
// CHECK: "barrier.cluster.arrive.release;"
// CHECK: "barrier.cluster.wait.acquire;"
// CHECK-NEXT: bar.sync 0, 128;

// The CTA with number 1 keeps the second half: 4 of a thread's 8 registers.
// CHECK: %[[RANK:.*]] = llvm.inline_asm "mov.u32 $0, %cluster_ctarank;"
// CHECK: %[[SECOND:.*]] = arith.cmpi ne, %[[RANK]], %c0_i32
// CHECK: %[[OTHER:.*]] = arith.xori %[[RANK]], %c1_i32
// CHECK: %[[THERE:.*]] = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %[[READY]], %[[OTHER]]
// CHECK: "bar.warp.sync -1;\0A@$1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r,b" %[[THERE]],
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [$0], 0;{{.*}} "r" %[[READY]]
// CHECK: %[[SCRATCH:.*]] = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %{{.*}}, %[[OTHER]]
// CHECK: %[[MATRIX:.*]] = arith.addi %[[SCRATCH]],
// CHECK: "st.shared::cluster.v4.f32 [$0+0], {$1, $2, $3, $4};", "r,f,f,f,f" %[[MATRIX]],
// CHECK: %[[ROWS:.*]] = arith.addi %[[SCRATCH]],
// CHECK: "st.shared::cluster.v2.f32 [$0+2048], {$1, $2};", "r,f,f" %[[ROWS]],
// CHECK: %[[ARRIVED:.*]] = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %[[FULL]], %[[OTHER]]
// CHECK: "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r" %[[ARRIVED]]
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [$0], 0;{{.*}} "r" %[[FULL]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xf32>
func.func @pair(%out: memref<?x128xf32> {mla.name = "out"}) attributes {mla.entry = 0, mla_gpu.cluster = 2} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %scratch = mla_gpu.alloc : !scratch
  mla_gpu.warp_specialize
  role "math" warps(4) {
    %k = mla_gpu.iota dim(1) : tensor<8x128xi32, #o>
    %o = arith.sitofp %k : tensor<8x128xi32, #o> to tensor<8x128xf32, #o>
    %lse = mla_gpu.row_reduce max %o : tensor<8x128xf32, #o> -> tensor<8xf32, #row>
    %mine, %theirs, %their_lse, %column = mla_gpu.exchange %o, %lse through %scratch
      : tensor<8x128xf32, #o>, tensor<8xf32, #row>, !scratch
    %sum = arith.addf %mine, %theirs : tensor<8x64xf32, #o>
    %w = mla_gpu.broadcast %their_lse : tensor<8xf32, #row> -> tensor<8x64xf32, #o>
    %x = arith.mulf %sum, %w : tensor<8x64xf32, #o>
    mla_gpu.store_rows %x to %out[%c0, %column] count(%c8) : tensor<8x64xf32, #o>, memref<?x128xf32>
  }
  return
}
}
