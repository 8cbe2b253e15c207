// RUN: mla-opt %s --mla-expand-math | FileCheck %s
//
// Nothing that would become a library call is left.
// RUN: mla-opt %s --mla-expand-math | FileCheck %s --check-prefix=GONE --implicit-check-not='math.exp2' \
// RUN:   --implicit-check-not='math.tanh' --implicit-check-not='math.exp ' --implicit-check-not='math.log'
//
// Expanding twice changes nothing.
// RUN: mla-opt %s --mla-expand-math > %t.once
// RUN: mla-opt %t.once --mla-expand-math > %t.twice
// RUN: diff %t.once %t.twice

// GONE: func.func @exp2
// GONE: func.func @others

// 2^x = 2^n p(x - n): clamped, seven coefficients, and 2^n by the exponent's
// bits in two halves, so that subnormal results are right.

// CHECK-LABEL: func.func @exp2(
// CHECK-SAME:    %[[X:.*]]: f32) -> f32 {
// CHECK-DAG:     %[[LOW:.*]] = arith.constant -1.510000e+02 : f32
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant 1.290000e+02 : f32
// CHECK:         %[[IS_LOW:.*]] = arith.cmpf olt, %[[X]], %[[LOW]] : f32
// CHECK:         %[[X1:.*]] = arith.select %[[IS_LOW]], %[[LOW]], %[[X]] : f32
// CHECK:         %[[IS_HIGH:.*]] = arith.cmpf ogt, %[[X1]], %[[HIGH]] : f32
// CHECK:         %[[X2:.*]] = arith.select %[[IS_HIGH]], %[[HIGH]], %[[X1]] : f32
// CHECK:         %[[N:.*]] = math.roundeven %[[X2]] : f32
// CHECK:         %[[F:.*]] = arith.subf %[[X2]], %[[N]] : f32
// CHECK-COUNT-6: math.fma %{{.*}}, %[[F]], %{{.*}} : f32
// CHECK-NOT:     math.fma
// CHECK:         %[[E:.*]] = arith.fptosi %[[N]] : f32 to i32
// CHECK:         %[[HALF:.*]] = arith.shrsi %[[E]], %{{.*}} : i32
// CHECK:         arith.subi %[[E]], %[[HALF]] : i32
// CHECK-COUNT-2: arith.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[R:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    return %[[R]] : f32
func.func @exp2(%x: f32) -> f32 {
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// Vectors stay vectors.

// CHECK-LABEL: func.func @exp2_vector(
// CHECK:         arith.cmpf olt, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-COUNT-6: math.fma %{{.*}} : vector<16xf32>
// CHECK-COUNT-2: arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>
func.func @exp2_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp2 %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// Score code's functions and the logarithm of the LSE.

// CHECK-LABEL: func.func @others(
// CHECK-NOT:     {{math\.(exp|log|tanh|sin|cos|erf|atan|cbrt|expm1|log1p|log2) }}
// CHECK:         return
func.func @others(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  %0 = math.tanh %x : vector<8xf32>
  %1 = math.exp %0 : vector<8xf32>
  %2 = math.log %1 : vector<8xf32>
  %3 = math.log2 %2 : vector<8xf32>
  %4 = math.log1p %3 : vector<8xf32>
  %5 = math.expm1 %4 : vector<8xf32>
  %6 = math.erf %5 : vector<8xf32>
  %7 = math.sin %6 : vector<8xf32>
  %8 = math.cos %7 : vector<8xf32>
  %9 = math.atan %8 : vector<8xf32>
  %10 = math.cbrt %9 : vector<8xf32>
  %s = math.tanh %y : f32
  %t = math.log %s : f32
  return %10, %t : vector<8xf32>, f32
}

// What the CPU has instructions for stays.

// CHECK-LABEL: func.func @native(
// CHECK:         math.sqrt %{{.*}} : vector<8xf32>
// CHECK:         math.fma %{{.*}} : vector<8xf32>
// CHECK:         math.absf %{{.*}} : vector<8xf32>
func.func @native(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sqrt %x : vector<8xf32>
  %1 = math.fma %0, %x, %x : vector<8xf32>
  %2 = math.absf %1 : vector<8xf32>
  return %2 : vector<8xf32>
}
