// The simplest kernel, at each output.

// RUN: mla-translate %s | FileCheck %s
// RUN: mla-translate %s --chip sm_80 | FileCheck %s --check-prefix=SM80
// RUN: mla-translate %s --emit nvvm-ir | FileCheck %s --check-prefix=IR

// CHECK: .version 8.0
// CHECK: .target sm_90a
// CHECK: .visible .entry add(
// CHECK: .reqntid 128
// CHECK-COUNT-2: ld.global.b32
// CHECK: add.rn.f32
// CHECK: st.global.b32

// SM80: .version 7.0
// SM80: .target sm_80

// IR: target datalayout = "e-
// IR: target triple = "nvptx64-nvidia-cuda"
// IR: define ptx_kernel void @add

// REPORT: kernel add:
// REPORT-NEXT: registers: {{[1-9]}}
// REPORT: local memory: 0 bytes
// REPORT: losses: 0

llvm.func @add(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %i = llvm.zext %t : i32 to i64
  %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %va = llvm.load %pa : !llvm.ptr<1> -> f32
  %vb = llvm.load %pb : !llvm.ptr<1> -> f32
  %sum = llvm.fadd %va, %vb : f32
  llvm.store %sum, %pc : f32, !llvm.ptr<1>
  llvm.return
}
