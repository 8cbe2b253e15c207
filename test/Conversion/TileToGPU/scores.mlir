// RUN: mla-opt %s --split-input-file --mla-problem-to-tile='chip=sm_90a split=whole' --mla-tile-to-gpu | FileCheck %s

// User code runs on every tile, once; the mask comes behind it. Positions are by element, and only what the code asks for.
// Keys and rows that do not exist repeat ones that do, as the code reads tables by them.

// CHECK-LABEL: func.func @bias(
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: memref<?x?xf32> {mla.name = "arg4"}, %[[SCALE:[a-z0-9]+]]: f32 {mla.name = "softmax_scale"}
// CHECK:         role "math"
// CHECK:           mla_gpu.wait
// CHECK:           %[[RAW:.*]] = mla_gpu.mma_wait
// Where rows stand is found here, and not kept from tile to tile.
// CHECK:           arith.remui {{.*}} : tensor<16xi32,
// CHECK:           %[[HEADS:.*]] = mla_gpu.broadcast {{.*}} -> tensor<16x64xi32,
// CHECK:           %[[SCORES:.*]] = mla_gpu.map %[[RAW]], %[[HEADS]], %[[NUMBERS:.*]] {
// CHECK-NEXT:      ^bb0(%[[X:.*]]: f32, %[[H:.*]]: i32, %[[J:.*]]: i32):
// CHECK:             %[[K:.*]] = arith.addi %{{.*}}, %[[J]] : i32
// CHECK:             arith.minsi %[[K]],
// CHECK:             %[[KEY:.*]] = arith.maxsi
// CHECK:             %[[Y:.*]] = arith.mulf %[[X]], %[[SCALE]]
// CHECK:             arith.index_cast %[[H]]
// CHECK:             arith.index_cast %[[KEY]]
// CHECK:             %[[B:.*]] = memref.load %[[BIAS]]
// CHECK:             %[[Z:.*]] = arith.addf %[[Y]], %[[B]]
// CHECK:             arith.mulf %[[Z]], %cst
// CHECK:           %[[MASKED:.*]] = scf.if
// CHECK:             mla_gpu.map %[[SCORES]], %[[NUMBERS]] {
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[SCORES]]
// CHECK:           mla_gpu.row_reduce max %[[MASKED]]
// CHECK-NOT:       math.fma %[[MASKED]]
// CHECK:           arith.subf %[[MASKED]],
func.func @bias(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                %lens: memref<?xi32>, %bias: memref<?x?xf32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x512xbf16>)
    head_dim_v = 512
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %hi = arith.index_cast %h : i32 to index
      %ki = arith.index_cast %kpos : i32 to index
      %x = memref.load %bias[%hi, %ki] : memref<?x?xf32>
      %y = arith.addf %s, %x : f32
      mla.yield %y : f32
    }
  return
}

// -----

// A constant is the code's own, wherever the loops have it.

// CHECK-LABEL: func.func @constant(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?xf32> {mla.name = "arg4"}
// CHECK:         mla_gpu.map
// CHECK:           memref.load %[[TABLE]][%c0{{(_[0-9]+)?}}]
func.func @constant(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %factor: memref<?xf32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x576xbf16>)
    k(%k : memref<?x64x1x576xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x512xbf16>)
    head_dim_v = 512
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %zero = arith.constant 0 : index
      %x = memref.load %factor[%zero] : memref<?xf32>
      %y = arith.mulf %s, %x : f32
      mla.yield %y : f32
    }
  return
}
