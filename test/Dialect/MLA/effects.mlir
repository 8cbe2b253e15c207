// The ops' memory effects, by what cleaning up may merge and remove.
//
// RUN: mla-opt %s --canonicalize --cse | FileCheck %s

// Pure ops that nothing uses go; loads that nothing uses too.

// CHECK-LABEL: func.func @unused(
// CHECK-NEXT:    return
func.func @unused(%q: tensor<16x576xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                  %plan: !mla.plan, %item: !mla.item, %t: index, %mem: memref<?x?x16x576xbf16>,
                  %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
  %o, %m, %l = mla.init : tensor<16x512xf32>, tensor<16xf32>, tensor<16xf32>
  %s = mla.qk %q, %kt : tensor<16x576xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
  %s1 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    mla.yield %x : f32
  } : tensor<16x64xf32>
  %s2 = mla.mask %s1 by %plan at %item[%t] : tensor<16x64xf32>
  %p, %a, %m1, %l1 = mla.softmax_step %s2, %m, %l : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x64xf32>
  %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<16x64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
  %out, %lse = mla.finalize %o1, %m1, %l1 : tensor<16x512xf32>, tensor<16xf32>
  %b, %e = mla.full_tiles %plan[%item] from %t to %t
  %ql = mla.load_q %item from(%mem : memref<?x?x16x576xbf16>) : tensor<16x576xbf16>
  %c, %cl = mla.combine %item pieces(%t) from(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>) : tensor<16x512xf32>, tensor<16xf32>
  return
}

// What writes stays, and parts equal loads.

// CHECK-LABEL: func.func @writes(
// CHECK:         %[[A:.*]], %[[AL:.*]] = mla.combine
// CHECK-NEXT:    mla.store_partial %[[A]], %[[AL]]
// CHECK-NEXT:    %[[B:.*]], %[[BL:.*]] = mla.combine
// CHECK-NEXT:    mla.store %[[B]], %[[BL]]
// CHECK-NEXT:    mla.decode
// CHECK:         return
func.func @writes(%item: !mla.item, %n: index, %po: memref<?x16x64xf32>, %pl: memref<?x16xf32>,
                  %out: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                  %scale: f32) {
  %a, %al = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x64xf32>, memref<?x16xf32>) : tensor<16x64xf32>, tensor<16xf32>
  mla.store_partial %a, %al at %item to(%po, %pl : memref<?x16x64xf32>, memref<?x16xf32>) : tensor<16x64xf32>, tensor<16xf32>
  %b, %bl = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x64xf32>, memref<?x16xf32>) : tensor<16x64xf32>, tensor<16xf32>
  mla.store %b, %bl at %item to(%out : memref<?x?x16x64xf32>) : tensor<16x64xf32>, tensor<16xf32>
  mla.decode
    q(%out : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
  return
}

// Without a write between them, equal loads are one.

// CHECK-LABEL: func.func @reads(
// CHECK-NEXT:    %[[A:.*]] = mla.load_q
// CHECK-NEXT:    return %[[A]], %[[A]]
func.func @reads(%item: !mla.item, %q: memref<?x16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %a = mla.load_q %item from(%q : memref<?x16x64xf32>) : tensor<16x64xf32>
  %b = mla.load_q %item from(%q : memref<?x16x64xf32>) : tensor<16x64xf32>
  return %a, %b : tensor<16x64xf32>, tensor<16x64xf32>
}
