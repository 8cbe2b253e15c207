// Steps of K as a loop: where both operands are in shared memory, the steps are as far apart as the first two, there are four
// of them, and the instructions are narrow.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#o = #mla_gpu.mma<m = rows, instr = [64, 128, 16]>
!tile = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!wide = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!deep = !mla_gpu.tile<64x256xbf16, swizzle = 128>
!s = tensor<64x64xf32, #s>
!o = tensor<64x128xf32, #o>
!b = tensor<64x64xbf16, #s>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"steps", []>, #mla.entry<"blocks", []>, #mla.entry<"wide", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// 16 columns of a step are 2 units of 16 bytes. The first trip overwrites; each commits a group, so four may be in flight behind
// the first product.
// CHECK-LABEL: llvm.func @steps
// CHECK: mov.b32 low_a, $32;\0Amov.b32 low_b, $33;\0Aadd.u32 end_a, low_a, 8;
// CHECK-SAME: steps:\0A.pragma \22nounroll\22;\0Awgmma.fence.sync.aligned;
// CHECK-SAME: mov.b64 a, {low_a, a_high};\0Amov.b64 b, {low_b, b_high};
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{[^;]*}}, a, b, begins, 1, 1, 0, 0;
// CHECK-NOT: wgmma.mma_async
// CHECK-SAME: wgmma.commit_group.sync.aligned;
// CHECK-SAME: add.u32 low_a, low_a, 2;\0Aadd.u32 low_b, low_b, 2;\0Asetp.eq.b32 begins, 0, 0;
// CHECK-SAME: setp.ne.b32 more, low_a, end_a;\0A@more bra steps;\0A}"
// The second adds to registers of its own.
// CHECK: steps:
// CHECK: wgmma.wait_group.sync.aligned 4;
// CHECK: wgmma.wait_group.sync.aligned 0;
func.func @steps() attributes {mla.entry = 0} {
  %a = mla_gpu.alloc : !tile
  %k = mla_gpu.alloc : !tile
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %f = arith.constant dense<1.0> : !s
    %p = arith.truncf %f : !s to !b
    mla_gpu.store_shared %p to %a : !b, !tile
    %0 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
    %1 = mla_gpu.mma %a, %k transposed : !tile, !tile -> !s
    %2 = mla_gpu.mma_wait %0 : !s
    %3 = mla_gpu.mma_wait %1 : !s
  }
  return
}

// Steps are even within 64 columns alone: four trips of four instructions, 64 x 128 bytes apart.
// CHECK-LABEL: llvm.func @blocks
// CHECK: add.u32 end_a, low_a, 2048;
// CHECK-SAME: add.u32 low, low_a, 6;
// CHECK-SAME: add.u32 low_a, low_a, 512;\0Aadd.u32 low_b, low_b, 512;
func.func @blocks() attributes {mla.entry = 1} {
  %a = mla_gpu.alloc : !deep
  %k = mla_gpu.alloc : !deep
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %0 = mla_gpu.mma %a, %k transposed : !deep, !deep -> !s
    %1 = mla_gpu.mma_wait %0 : !s
  }
  return
}

// CHECK-LABEL: llvm.func @wide
// CHECK-NOT: steps:
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16
func.func @wide() attributes {mla.entry = 2} {
  %a = mla_gpu.alloc : !tile
  %v = mla_gpu.alloc : !wide
  mla_gpu.warp_specialize
  role "x" warps(4) {
    %0 = mla_gpu.mma %a, %v : !tile, !wide -> !o
    %1 = mla_gpu.mma_wait %0 : !o
  }
  return
}
}
