// RUN: mla-opt %s --mla-specialize-tiles | FileCheck %s
//
// Specialising twice changes nothing.
// RUN: mla-opt %s --mla-specialize-tiles > %t.once
// RUN: mla-opt %s --mla-specialize-tiles --mla-specialize-tiles > %t.twice
// RUN: diff %t.once %t.twice

// CHECK-LABEL: func.func @decode(
// CHECK:         ^bb0(%[[ITEM:.*]]: !mla.item, %[[FIRST:.*]]: index, %[[END:.*]]: index, %{{.*}}: i1):
// CHECK:           %[[O0:.*]], %[[M0:.*]], %[[L0:.*]] = mla.init
// CHECK:           %[[FB:.*]], %[[FE:.*]] = mla.full_tiles %[[PLAN:.*]][%[[ITEM]]] from %[[FIRST]] to %[[END]]
//
// First the tiles that need no mask.
// CHECK-NEXT:      %[[FULL:.*]]:3 = scf.for %[[T:.*]] = %[[FB]] to %[[FE]] step %{{.*}} iter_args(%[[O:.*]] = %[[O0]], %[[M:.*]] = %[[M0]], %[[L:.*]] = %[[L0]])
// CHECK-NEXT:        %[[KT:.*]] = mla.load_kv %[[ITEM]][%[[T]]]
// CHECK-NEXT:        %[[S:.*]] = mla.qk %{{.*}}, %[[KT]]
// CHECK-NEXT:        %[[S1:.*]] = mla.score %[[S]] at %[[ITEM]][%[[T]]]
// CHECK-NOT:         mla.mask
// CHECK:             mla.softmax_step %[[S1]], %[[M]], %[[L]]
// CHECK-NEXT:        mla.pv
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
//
// Then those before them and behind them, in one loop with the mask.
// CHECK:           %[[HEAD:.*]] = arith.subi %[[FB]], %[[FIRST]] : index
// CHECK-NEXT:      %[[TAIL:.*]] = arith.subi %[[END]], %[[FE]] : index
// CHECK-NEXT:      %[[COUNT:.*]] = arith.addi %[[HEAD]], %[[TAIL]] : index
// CHECK-NEXT:      %[[ALL:.*]]:3 = scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}} iter_args(%[[O:.*]] = %[[FULL]]#0, %[[M:.*]] = %[[FULL]]#1, %[[L:.*]] = %[[FULL]]#2)
// CHECK-NEXT:        %[[IN_HEAD:.*]] = arith.cmpi ult, %[[I]], %[[HEAD]] : index
// CHECK-NEXT:        %[[BEFORE:.*]] = arith.addi %[[FIRST]], %[[I]] : index
// CHECK-NEXT:        %[[PAST:.*]] = arith.subi %[[I]], %[[HEAD]] : index
// CHECK-NEXT:        %[[BEHIND:.*]] = arith.addi %[[FE]], %[[PAST]] : index
// CHECK-NEXT:        %[[T:.*]] = arith.select %[[IN_HEAD]], %[[BEFORE]], %[[BEHIND]] : index
// CHECK-NEXT:        mla.load_kv %[[ITEM]][%[[T]]]
// CHECK:             %[[S1:.*]] = mla.score %{{.*}} at %[[ITEM]][%[[T]]]
// CHECK:             %[[S2:.*]] = mla.mask %[[S1]] by %[[PLAN]] at %[[ITEM]][%[[T]]]
// CHECK-NEXT:        mla.softmax_step %[[S2]], %[[M]], %[[L]]
// CHECK-NOT:       scf.for
// CHECK:           mla.finalize %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @decode(%plan: !mla.plan, %w: index, %scale: f32, %q: memref<?x?x16x64xf32>,
                  %k: memref<?x?x1x64xf32>, %out: memref<?x?x16x64xf32>) {
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %qt = mla.load_q %item from(%q : memref<?x?x16x64xf32>) : tensor<16x64xf32>
    %o0, %m0, %l0 = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    %c1 = arith.constant 1 : index
    %r:3 = scf.for %t = %first to %end step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) {
      %kt = mla.load_kv %item[%t] from(%k : memref<?x?x1x64xf32>) : !mla.kv_tile<64x64xf32, v = 64>
      %s = mla.qk %qt, %kt : tensor<16x64xf32>, !mla.kv_tile<64x64xf32, v = 64> -> tensor<16x64xf32>
      %s1 = mla.score %s at %item[%t] {
      ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
        %y = arith.mulf %x, %scale : f32
        mla.yield %y : f32
      } : tensor<16x64xf32>
      %s2 = mla.mask %s1 by %plan at %item[%t] : tensor<16x64xf32>
      %p, %a, %m1, %l1 = mla.softmax_step %s2, %m, %l : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x64xf32>
      %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<16x64xf32>, !mla.kv_tile<64x64xf32, v = 64>, tensor<16x64xf32>, tensor<16xf32>
      scf.yield %o1, %m1, %l1 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    }
    %ot, %lt = mla.finalize %r#0, %r#1, %r#2 : tensor<16x64xf32>, tensor<16xf32>
    mla.store %ot, %lt at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  }
  return
}

// Loops that are not over the piece's tiles, or have no mask, stay as they are.

// CHECK-LABEL: func.func @others(
// CHECK-NOT:     mla.full_tiles
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
func.func @others(%plan: !mla.plan, %w: index, %n: index, %s: tensor<16x64xf32>) {
  %c1 = arith.constant 1 : index
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    %0 = scf.for %t = %first to %n step %c1 iter_args(%x = %s) -> (tensor<16x64xf32>) {
      %y = mla.mask %x by %plan at %item[%t] : tensor<16x64xf32>
      scf.yield %y : tensor<16x64xf32>
    }
    %1 = scf.for %t = %first to %end step %c1 iter_args(%x = %s) -> (tensor<16x64xf32>) {
      %y = mla.score %x at %item[%t] {
      ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %z: f32):
        mla.yield %z : f32
      } : tensor<16x64xf32>
      scf.yield %y : tensor<16x64xf32>
    }
  }
  return
}
