// mla_gpu.merge: two runs of four pieces (of few rows, three of two) or one of eight are in flight; the partials of warps that share pieces are exchanged once and added in order; the
// result is stored 8 bytes at a time where the memory is aligned.
// RUN: mla-opt %s --mla-gpu-to-nvvm | FileCheck %s
// RUN: sed 's/%out, %lse\[%row\]/%out[%row]/; s/, memref<?x128xf32>$//' %s | mla-opt --mla-gpu-to-nvvm \
// RUN:   | FileCheck %s --check-prefix=NO-LSE
// RUN: sed 's/%out, %lse\[%row\]/& aligned/' %s | mla-opt --mla-gpu-to-nvvm \
// RUN:   | FileCheck %s --check-prefix=ALIGNED --implicit-check-not=': bf16, !llvm.ptr<1>'
// RUN: sed 's/?x64/?x48/g' %s | mla-opt --mla-gpu-to-nvvm | FileCheck %s --check-prefix=FEW-ROWS

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"m", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>,
  mask = #mla.none, kv_heads = 1, group = 128>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @m(%po: memref<?x64x512xf32> {mla.name = "partial_out"}, %pl: memref<?x64xf32> {mla.name = "partial_lse"},
    %out: memref<?x128x512xbf16> {mla.name = "out"}, %lse: memref<?x128xf32> {mla.name = "lse"},
    %args: memref<8xi32> {mla.name = "args"}, %worker: index {mla.name = "worker"}, %workers: index {mla.name = "num_workers"})
    attributes {mla.entry = 0 : i64, mla_gpu.warps = 8 : i64, mla_gpu.ctas_per_worker = 4 : i64} {
  %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c2 = arith.constant 2 : index %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index %c5 = arith.constant 5 : index
  mla_gpu.grid_wait
  %0 = memref.load %args[%c0] : memref<8xi32> %first = arith.index_cast %0 : i32 to index
  %1 = memref.load %args[%c1] : memref<8xi32> %next = arith.index_cast %1 : i32 to index
  %2 = memref.load %args[%c2] : memref<8xi32> %stride = arith.index_cast %2 : i32 to index
  %3 = memref.load %args[%c3] : memref<8xi32> %pieces = arith.index_cast %3 : i32 to index
  %4 = memref.load %args[%c4] : memref<8xi32> %count = arith.index_cast %4 : i32 to index
  %5 = memref.load %args[%c5] : memref<8xi32> %row = arith.index_cast %5 : i32 to index
  mla_gpu.merge %po, %pl slots(%first, %next, %stride) pieces(%pieces) count(%count) part(%worker, %workers)
    to %out, %lse[%row] : memref<?x64x512xf32>, memref<?x64xf32>, memref<?x128x512xbf16>, memref<?x128xf32>
  return
}
}

// CHECK-LABEL: llvm.func @m
// CHECK: griddepcontrol.wait
// CHECK-COUNT-8: @p ld.global.cg.v4.f32
// CHECK-NOT: @p ld.global
// CHECK-COUNT-2: st.global.v2.b32
// CHECK-COUNT-8: @p ld.global.cg.v4.f32
// CHECK-NOT: @p ld.global
// CHECK: st.shared.v4.f32
// CHECK: st.shared.v2.f32
// CHECK: bar.sync 0, 256
// CHECK-COUNT-4: ld.shared.v4.f32
// CHECK-NOT: bar.sync
// CHECK: st.global.v2.b32
// CHECK-COUNT-4: llvm.store {{.*}} : bf16
// CHECK: lg2.approx.ftz.f32
// CHECK: llvm.store {{.*}} : f32
// CHECK: bar.sync 0, 256
// CHECK-NOT: bar.sync
// CHECK: llvm.return

// NO-LSE-NOT: lg2

// ALIGNED-LABEL: llvm.func @m
// ALIGNED-COUNT-3: st.global.v2.b32
// ALIGNED: lg2.approx.ftz.f32

// FEW-ROWS: griddepcontrol.wait
// FEW-ROWS-COUNT-6: @p ld.global.cg.v4.f32
// FEW-ROWS-NOT: @p ld.global
// FEW-ROWS-COUNT-3: st.global.v2.b32
// FEW-ROWS-COUNT-8: @p ld.global.cg.v4.f32
// FEW-ROWS-NOT: @p ld.global
// FEW-ROWS: st.shared.v4.f32
