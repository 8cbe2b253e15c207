// RUN: mla-opt %s --mla-scalars-to-llvm | FileCheck %s --implicit-check-not=arith.divsi

// One op for one op; operands and types stay.
// CHECK-LABEL: llvm.func @lowered(
// CHECK-SAME:    %[[X:.*]]: i32, %[[Y:.*]]: i32, %[[F:.*]]: f32, %[[P:.*]]: !llvm.ptr
llvm.func @lowered(%x: i32, %y: i32, %f: f32, %p: !llvm.ptr) -> f32 {
  // CHECK: %[[C:.*]] = llvm.mlir.constant(3 : i32) : i32
  %c = arith.constant 3 : i32
  // CHECK: %[[SHIFTED:.*]] = llvm.ashr %[[X]], %[[C]] : i32
  %shifted = arith.shrsi %x, %c : i32
  // CHECK: %[[DIVIDED:.*]] = llvm.sdiv %[[SHIFTED]], %[[Y]] : i32
  %divided = arith.divsi %shifted, %y : i32
  // CHECK: %[[LEAST:.*]] = llvm.intr.umin(%[[DIVIDED]], %[[Y]]) : (i32, i32) -> i32
  %least = arith.minui %divided, %y : i32
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[LEAST]] : i32 to i64
  %wide = arith.extui %least : i32 to i64
  // CHECK: %[[ABOVE:.*]] = llvm.icmp "ugt" %[[WIDE]], %[[WIDE]] : i64
  %above = arith.cmpi ugt, %wide, %wide : i64
  // CHECK: %[[SUM:.*]] = llvm.fadd %[[F]], %[[F]] : f32
  %sum = arith.addf %f, %f : f32
  // CHECK: %[[LESS:.*]] = llvm.fcmp "ult" %[[SUM]], %[[F]] : f32
  %less = arith.cmpf ult, %sum, %f : f32
  // CHECK: %[[BOTH:.*]] = llvm.and %[[ABOVE]], %[[LESS]] : i1
  %both = arith.andi %above, %less : i1
  // CHECK: llvm.select %[[BOTH]], %[[P]], %[[P]] : i1, !llvm.ptr
  %selected = arith.select %both, %p, %p : !llvm.ptr
  // CHECK: llvm.cond_br %[[BOTH]], ^[[NEXT:.*]](%[[SUM]] : f32), ^[[LAST:.*]]
  cf.cond_br %both, ^next(%sum : f32), ^last
// CHECK: ^[[NEXT]](%[[AGAIN:.*]]: f32):
^next(%again: f32):
  // CHECK: llvm.br ^[[NEXT]](%[[AGAIN]] : f32)
  cf.br ^next(%again : f32)
// CHECK: ^[[LAST]]:
^last:
  llvm.return %f : f32
}

// What says more than its operands, or is of types that LLVM has not, is left to
// the dialect conversion.
// CHECK-LABEL: llvm.func @left(
llvm.func @left(%x: i32, %f: f32, %c: i1) {
  // CHECK: arith.addi %{{.*}} overflow<nsw> : i32
  %a = arith.addi %x, %x overflow<nsw> : i32
  // CHECK: arith.mulf %{{.*}} fastmath<contract> : f32
  %b = arith.mulf %f, %f fastmath<contract> : f32
  // CHECK: arith.shrui %{{.*}} exact : i32
  %d = arith.shrui %x, %x exact : i32
  // CHECK: arith.index_cast
  %i = arith.index_cast %x : i32 to index
  // CHECK: arith.addi %{{.*}} : index
  %j = arith.addi %i, %i : index
  // CHECK: cf.cond_br %{{.*}} weights([1, 2])
  cf.cond_br %c weights([1, 2]), ^end, ^end
^end:
  llvm.return
}
