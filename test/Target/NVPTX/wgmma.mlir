// A warp-specialised kernel in the form that the lowering is to arrive at: one
// thread keeps a slot of shared memory full by TMA, a warpgroup multiplies what is
// in it. The tensor map is a parameter by value, which is not copied to local
// memory.

// RUN: mla-translate %s | FileCheck %s
// RUN: not mla-translate %s --chip sm_90 2>&1 | FileCheck %s --check-prefix=SUFFIX
// RUN: not mla-translate %s --chip sm_100a 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not mla-translate %s --supported-ptx 78 2>&1 | FileCheck %s --check-prefix=OLD

// SUFFIX: error: stage 'translate': wgmma requires sm_90a, but the chip is sm_90
// OTHER: error: stage 'translate': wgmma requires sm_90a, but the chip is sm_100a
// OLD: error: sm_90a requires PTX 8.0, but what reads it supports up to PTX 7.8

// CHECK: .version 8.0
// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024 .b8 smem[];
// CHECK: .visible .entry decode(
// CHECK-NEXT: .param .align 64 .b8 decode_param_0[128],
// CHECK: .reqntid 256
// CHECK-NEXT: .minnctapersm 1
// CHECK-NOT: .local
// CHECK: cvta.param.u64 [[MAP:%rd[0-9]+]],
// CHECK-COUNT-2: mbarrier.init
// CHECK-NEXT: fence.mbarrier_init.release.cluster
// CHECK: bar.sync 0;
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: mbarrier.try_wait.parity.shared.b64 [[FREE:%p[0-9]+]],
// CHECK-NEXT: not.pred [[TAKEN:%p[0-9]+]], [[FREE]];
// CHECK-NEXT: @[[TAKEN]] bra
// CHECK: mbarrier.arrive.expect_tx
// CHECK: cp.async.bulk.tensor.2d{{.*}}, {{\[}}[[MAP]], {
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: mbarrier.try_wait
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK-NEXT: wgmma.wait_group.sync.aligned 0;
// CHECK-NEXT: mbarrier.arrive
// CHECK-NOT: setmaxnreg
// CHECK-NOT: wgmma

// REPORT: kernel decode:
// REPORT: static shared memory: 0 bytes
// REPORT: spill stores: 0 bytes
// REPORT: spill loads: 0 bytes
// REPORT: local memory: 0 bytes
// REPORT: losses: 0

// SASS: sass HGMMA: 2
// SASS: sass UTMALDG: 1
// SASS: sass USETMAXREG: 2

!acc = !llvm.struct<(f32, f32, f32, f32)>

llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

llvm.func @decode(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                  %out: !llvm.ptr<1>, %tiles: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256>, nvvm.minctasm = 1 : i32} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c128 = llvm.mlir.constant(128 : i32) : i32
  %bytes = llvm.mlir.constant(16384 : i32) : i32
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %full = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %empty = llvm.getelementptr inbounds %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tile = llvm.getelementptr inbounds %full[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tile7 = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %first, ^init, ^start
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c128 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  llvm.br ^start
^start:
  nvvm.barrier0
  %isProducer = llvm.icmp "ult" %tid, %c128 : i32
  llvm.cond_br %isProducer, ^producer, ^consumer

// One thread keeps the slot full.
^producer:
  nvvm.setmaxregister decrease 40
  llvm.cond_br %first, ^fill(%c0 : i32), ^done
^fill(%i: i32):
  %more = llvm.icmp "slt" %i, %tiles : i32
  llvm.cond_br %more, ^acquire, ^done
^acquire:
  %phase = llvm.and %i, %c1 : i32
  %free = llvm.xor %phase, %c1 : i32
  llvm.br ^acquireWait
^acquireWait:
  %isFree = nvvm.mbarrier.try_wait %empty, %free : !llvm.ptr<3>, i32 -> i1
  llvm.cond_br %isFree, ^load, ^acquireWait
^load:
  %state = nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 -> i64
  nvvm.cp.async.bulk.tensor.shared.cluster.global %tile7, %map, %full, box[%c0, %i] : !llvm.ptr<7>, !llvm.ptr
  %iNext = llvm.add %i, %c1 : i32
  llvm.br ^fill(%iNext : i32)

// The others multiply what is in it.
^consumer:
  nvvm.setmaxregister increase 232
  %a0 = llvm.mlir.undef : !acc
  %a1 = llvm.insertvalue %zero, %a0[0] : !acc
  %a2 = llvm.insertvalue %zero, %a1[1] : !acc
  %a3 = llvm.insertvalue %zero, %a2[2] : !acc
  %a4 = llvm.insertvalue %zero, %a3[3] : !acc
  %addr = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %units = llvm.lshr %addr, %c4 : i32
  %units64 = llvm.zext %units : i32 to i64
  %strides = llvm.mlir.constant(4611686293305294848 : i64) : i64
  %desc = llvm.or %units64, %strides : i64
  llvm.br ^use(%c0, %a4 : i32, !acc)
^use(%j: i32, %acc: !acc):
  %again = llvm.icmp "slt" %j, %tiles : i32
  llvm.cond_br %again, ^wait, ^store
^wait:
  %parity = llvm.and %j, %c1 : i32
  llvm.br ^waitLoop
^waitLoop:
  %isFull = nvvm.mbarrier.try_wait %full, %parity : !llvm.ptr<3>, i32 -> i1
  llvm.cond_br %isFull, ^multiply, ^waitLoop
^multiply:
  nvvm.wgmma.fence.aligned
  %r0 = nvvm.wgmma.mma_async %desc, %desc, %acc, <m = 64, n = 8, k = 16>,
      D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !acc -> !acc
  %o1 = llvm.mlir.constant(2 : i64) : i64
  %d1 = llvm.add %desc, %o1 : i64
  %r1 = nvvm.wgmma.mma_async %d1, %d1, %r0, <m = 64, n = 8, k = 16>,
      D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !acc -> !acc
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %arrived = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
  %jNext = llvm.add %j, %c1 : i32
  llvm.br ^use(%jNext, %r1 : i32, !acc)
^store:
  %e0 = llvm.extractvalue %acc[0] : !acc
  %p0 = llvm.getelementptr %out[%tid, 0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
  llvm.store %e0, %p0 : f32, !llvm.ptr<1>
  %e1 = llvm.extractvalue %acc[1] : !acc
  %p1 = llvm.getelementptr %out[%tid, 1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
  llvm.store %e1, %p1 : f32, !llvm.ptr<1>
  %e2 = llvm.extractvalue %acc[2] : !acc
  %p2 = llvm.getelementptr %out[%tid, 2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
  llvm.store %e2, %p2 : f32, !llvm.ptr<1>
  %e3 = llvm.extractvalue %acc[3] : !acc
  %p3 = llvm.getelementptr %out[%tid, 3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
  llvm.store %e3, %p3 : f32, !llvm.ptr<1>
  llvm.br ^done
^done:
  llvm.return
}
