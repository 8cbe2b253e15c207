// Memory of a CTA's own is part of its dynamic shared memory.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: sed 's/8xi32, 3>/8xi32>/' %s | not mla-opt --mla-convert-gpu-to-nvvm 2>&1 | FileCheck %s --check-prefix=SPACE

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"m", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// CHECK: shared_bytes = 64,
// CHECK: %[[OWN:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<3>
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[OWN]][%{{.*}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
// CHECK: llvm.store %{{.*}}, %[[AT]] : i32, !llvm.ptr<3>
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// SPACE: error: 'memref.alloca' op requires a static shape in memory space 3, but got 'memref<2x8xi32>'
func.func @m(%out: memref<?xi32> {mla.name = "out"}, %cta: index {mla.name = "worker"})
    attributes {mla.entry = 0, mla_gpu.warps = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %own = memref.alloca() : memref<2x8xi32, 3>
  %id = arith.index_cast %cta : index to i32
  memref.store %id, %own[%c1, %cta] : memref<2x8xi32, 3>
  %again = memref.load %own[%cta, %c0] : memref<2x8xi32, 3>
  memref.store %again, %out[%cta] : memref<?xi32>
  return
}
}
