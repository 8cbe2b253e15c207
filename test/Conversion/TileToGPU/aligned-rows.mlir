// RUN: mla-opt %s --split-input-file --mla-problem-to-tile='chip=sm_90a aligned-strides' --mla-tile-to-gpu | FileCheck %s
// RUN: mla-opt %s --split-input-file --mla-problem-to-tile=chip=sm_90a --mla-tile-to-gpu | FileCheck %s --check-prefix=FREE --implicit-check-not=aligned --implicit-check-not=alignment

// What is promised of q, k and out is asked of launches, and not of the kernel; partial results are the kernel's own.

// CHECK: arguments = [<"q", {{[^"]*}}, alignment = 16>, <"k", {{[^"]*}}, alignment = 16>, <"seq_lens", memref<?xi32>>, <"softmax_scale", f32>, <"out", {{[^"]*}}, alignment = 16>, <"lse", memref<?x?x16xf32>>,
// CHECK-LABEL: func.func @keys_as_m(
// CHECK:         mla_gpu.store_rows {{.*}}) aligned : tensor<16x512xbf16
// CHECK:         mla_gpu.store_rows %{{.*}} to optional %{{[^:]*}}) : tensor<16xf32
// CHECK:         mla_gpu.store_rows %{{[^:]*}}) : tensor<16x512xf32
// CHECK:         mla_gpu.gather {{.*}} aligned {
// CHECK-LABEL: func.func @keys_as_m_combine(
// CHECK:         mla_gpu.merge {{.*}} aligned :
// FREE-LABEL:  func.func @keys_as_m(
// FREE:          mla_gpu.gather
// FREE-LABEL:  func.func @keys_as_m_combine(
!q = memref<?x?x16x576xbf16, strided<[?, ?, ?, 1]>>
!k = memref<?x?x1x576xbf16, strided<[?, ?, ?, 1]>>
!out = memref<?x?x16x512xbf16, strided<[?, ?, ?, 1]>>
func.func @keys_as_m(%q: !q, %k: !k, %lens: memref<?xi32>, %scale: f32, %out: !out, %lse: memref<?x?x16xf32>) {
  mla.decode q(%q : !q) k(%k : !k) seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : !out)
    lse(%lse : memref<?x?x16xf32>) head_dim_v = 512
  return
}

// -----

// A stride that is known to be no multiple of 16 bytes is not promised to be one.

// CHECK: arguments = [<"q", {{[^"]*}}, alignment = 16>, <"k", {{[^"]*}}, alignment = 16>, <"seq_lens", memref<?xi32>>, <"softmax_scale", f32>, <"out", memref<?x?x128x512xbf16, strided<[?, ?, 514, 1]>>>,
// CHECK-LABEL: func.func @rows_as_m(
// CHECK-NOT:     aligned
// CHECK-LABEL: func.func @rows_as_m_combine(
// CHECK-NOT:     aligned
// FREE-LABEL:  func.func @rows_as_m(
!q = memref<?x?x128x576xbf16, strided<[?, ?, ?, 1]>>
!k = memref<?x?x1x576xbf16, strided<[?, ?, ?, 1]>>
!out = memref<?x?x128x512xbf16, strided<[?, ?, 514, 1]>>
func.func @rows_as_m(%q: !q, %k: !k, %lens: memref<?xi32>, %scale: f32, %out: !out) {
  mla.decode q(%q : !q) k(%k : !k) seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : !out) head_dim_v = 512
  return
}
