// CTAs of the merge that fit beside one of the main entry: of 32 rows one, by registers; and with 64 registers a thread.
// RUN: mla-opt %s --mla-problem-to-tile=chip=sm_90a --mla-tile-to-gpu --mla-gpu-to-nvvm | FileCheck %s

// CHECK:      <"decode_combine", [{{.*}}], launch = <threads = 256, {{.*}}, ctas_per_worker = 1, dependent = true>
// CHECK:      llvm.func @decode_combine(
// CHECK-SAME:   nvvm.minctasm = 4 : i32
func.func @decode(%q: memref<?x?x32x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x32x512xbf16>) {
  mla.decode q(%q : memref<?x?x32x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x32x512xbf16>) head_dim_v = 512
  return
}
