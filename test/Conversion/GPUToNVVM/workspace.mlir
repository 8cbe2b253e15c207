// Tensors in a launch's workspace are known to be aligned; others are not.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s

#kernel = #mla.kernel<arguments = [<"sums", memref<2xi32>>], entries = [#mla.entry<"m", []>],
  workspace = [<"work_list", piece, memref<?x8xi32>>],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>,
  mask = #mla.none, kv_heads = 1, group = 128>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>, mla.kernel = #kernel} {
// CHECK: llvm.func @m(%{{[a-z0-9]+}}: !llvm.ptr<1>, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 256 : i64}, %{{[a-z0-9]+}}: i64)
func.func @m(%sums: memref<2xi32> {mla.name = "sums"}, %list: memref<?x8xi32> {mla.name = "work_list"})
    attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = memref.load %list[%c0, %c0] : memref<?x8xi32>
  memref.store %x, %sums[%c0] : memref<2xi32>
  return
}
}
