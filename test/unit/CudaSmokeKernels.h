//===- CudaSmokeKernels.h ---------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Kernels of the smoke test, in PTX by hand.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TEST_UNIT_CUDASMOKEKERNELS_H
#define MLA_JIT_TEST_UNIT_CUDASMOKEKERNELS_H

inline constexpr const char *kSmokePTX = R"(
.version 8.0
.target sm_90a
.address_size 64

.extern .shared .align 1024 .b8 pool[];
.extern .shared .align 16 .b8 rest[];

// c[i] = a[i] + b[i] for i < n
.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c,
                           .param .u32 n)
{
  .reg .pred %p;
  .reg .f32 %f<3>;
  .reg .b32 %r<6>;
  .reg .b64 %d<5>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.s32 %p, %r4, %r5;
  @%p bra done;
  mul.wide.s32 %d4, %r4, 4;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [b];
  ld.param.u64 %d3, [c];
  add.s64 %d1, %d1, %d4;
  add.s64 %d2, %d2, %d4;
  add.s64 %d3, %d3, %d4;
  ld.global.f32 %f1, [%d1];
  ld.global.f32 %f2, [%d2];
  add.f32 %f1, %f1, %f2;
  st.global.f32 [%d3], %f1;
done:
  ret;
}

// Writes and reads the last word of `bytes` of dynamic shared memory.
.visible .entry touch_shared(.param .u64 out, .param .u32 bytes)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  mov.u32 %r1, pool;
  ld.param.u32 %r2, [bytes];
  add.s32 %r1, %r1, %r2;
  st.volatile.shared.u32 [%r1 + -4], %r2;
  ld.volatile.shared.u32 %r3, [%r1 + -4];
  ld.param.u64 %d1, [out];
  st.global.u32 [%d1], %r3;
  ret;
}

// The same beside 16 bytes of static shared memory.
.visible .entry touch_beside(.param .u64 out, .param .u32 bytes)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<2>;
  .shared .align 16 .b8 fixed[16];
  mov.u32 %r1, rest;
  mov.u32 %r4, fixed;
  ld.param.u32 %r2, [bytes];
  add.s32 %r1, %r1, %r2;
  st.volatile.shared.u32 [%r1 + -4], %r2;
  st.volatile.shared.u32 [%r4 + 12], %r4;
  ld.volatile.shared.u32 %r3, [%r1 + -4];
  ld.param.u64 %d1, [out];
  st.global.u32 [%d1], %r3;
  ret;
}

// The address of the pool beside 16 bytes of static shared memory.
.visible .entry locate_beside(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<2>;
  .shared .align 16 .b8 fixed[16];
  mov.u32 %r1, pool;
  mov.u32 %r2, fixed;
  st.volatile.shared.u32 [%r2], %r1;
  ld.param.u64 %d1, [out];
  st.global.u32 [%d1], %r1;
  ret;
}

// Copies the box at (column, 0, page) to shared memory by TMA and from there,
// as it lies, to out: 8192 bytes, one warp. Its barrier is behind them, as a
// static one would move the pool to an address that TMA cannot take.
.visible .entry copy_box(.param .align 64 .b8 map[128], .param .u64 out,
                         .param .u32 column, .param .u32 page)
{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, pool;
  add.s32 %r3, %r2, 8192;
  setp.ne.s32 %p, %r1, 0;
  @%p bra started;
  mbarrier.init.shared.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 8192;
  mov.b64 %d1, map;
  cvta.param.u64 %d1, %d1;
  ld.param.u32 %r4, [column];
  ld.param.u32 %r5, [page];
  mov.u32 %r6, 0;
  cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [%r2], [%d1, {%r4, %r6, %r5}], [%r3];
started:
  bar.sync 0;
poll:
  mbarrier.try_wait.parity.shared.b64 %p, [%r3], 0;
  @!%p bra poll;
  ld.param.u64 %d2, [out];
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d2, %d2, %d3;
  shl.b32 %r7, %r1, 2;
  add.s32 %r2, %r2, %r7;
  mov.u32 %r8, 0;
words:
  ld.shared.u32 %r9, [%r2];
  st.global.u32 [%d2], %r9;
  add.s32 %r2, %r2, 128;
  add.s64 %d2, %d2, 128;
  add.s32 %r8, %r8, 1;
  setp.lt.s32 %p, %r8, 64;
  @%p bra words;
  ret;
}

.visible .entry write_to_null()
{
  .reg .b64 %d<2>;
  mov.u64 %d1, 0;
  st.global.u64 [%d1], %d1;
  ret;
}
)";

#endif // MLA_JIT_TEST_UNIT_CUDASMOKEKERNELS_H
