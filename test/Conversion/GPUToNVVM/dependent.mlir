// Which entries may begin before the kernel ahead has ended: the first one if it waits before it touches memory, a later
// one if it waits.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm -split-input-file | FileCheck %s

#schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                          row_blocks = 1, copy = tma>
#target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
// CHECK: <"waits", {{.*}} dependent = true>>, <"later", {{.*}} dependent = true>>
module attributes {mla.target = #target, mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"waits", []>, #mla.entry<"later", []>],
  workspace = [], schedule = #schedule, mask = #mla.none, kv_heads = 1, group = 16>} {
func.func @waits(%list: memref<?xi32> {mla.name = "list"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %c0 = arith.constant 0 : index
  %size = memref.dim %list, %c0 : memref<?xi32>
  %staging = memref.alloca() : memref<4xi32, 3>
  mla_gpu.grid_wait
  %0 = memref.load %list[%size] : memref<?xi32>
  memref.store %0, %staging[%c0] : memref<4xi32, 3>
  return
}
func.func @later(%list: memref<?xi32> {mla.name = "list"}) attributes {mla.entry = 1, mla_gpu.warps = 1} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %list[%c0] : memref<?xi32>
  mla_gpu.grid_wait
  memref.store %0, %list[%c0] : memref<?xi32>
  return
}
}

// -----

#schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                          row_blocks = 1, copy = tma>
#target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
// A read within a branch, before the wait.
// CHECK: <"reads", {{.*}} dependent = false>>
module attributes {mla.target = #target, mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"reads", []>],
  workspace = [], schedule = #schedule, mask = #mla.none, kv_heads = 1, group = 16>} {
func.func @reads(%list: memref<?xi32> {mla.name = "list"}, %flag: i1 {mla.name = "flag"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %c0 = arith.constant 0 : index
  scf.if %flag {
    %0 = memref.load %list[%c0] : memref<?xi32>
    memref.store %0, %list[%c0] : memref<?xi32>
  }
  mla_gpu.grid_wait
  return
}
}
