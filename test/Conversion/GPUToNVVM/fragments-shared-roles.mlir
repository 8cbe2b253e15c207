// Roles that share a region have a scratch each for maxima over their warps; a view of an optional destination.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s

#s = #mla_gpu.mma<m = keys, instr = [64, 8, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
!row = tensor<8xf32, #row>
!s = tensor<8x64xf32, #s>
!lse = memref<?x4xf32>

module attributes {
  mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
    schedule = #mla.schedule<keys_as_m, block_m = 8, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1,
                             copy = tma>, mask = #mla.none, kv_heads = 1, group = 4>} {
// CHECK: launch = <threads = 288, shared_bytes = 512,
// CHECK-LABEL: llvm.func @f(
func.func @f(%out: memref<?x4xf32> {mla.name = "lse"}, %rows: i32 {mla.name = "rows"})
    attributes {mla.entry = 0 : i64} {
  // CHECK-SAME: [[LSE:%arg[0-9]+]]: !llvm.ptr<1>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  mla_gpu.warp_specialize
  role "load" warps(1) {
  }
  role "left"(%c0), "right"(%c2) warps(4) {
  ^bb0(%first: index):
    %n = arith.index_cast %rows : i32 to index
    %x = arith.constant dense<1.0> : !s
    // Two halves of 4 warps x 8 rows x 4 bytes for each of the two roles, of which the first begins at thread 32.
    // CHECK: nvvm.shfl.sync
    // CHECK: [[WITHIN:%[0-9]+]] = arith.subi {{.*}}, %c32_i32{{.*}}
    // CHECK: [[NUMBER:%[0-9]+]] = arith.divui [[WITHIN]], %c128_i32{{.*}}
    // CHECK: arith.muli [[NUMBER]], %c256_i32
    %m = mla_gpu.row_reduce max %x : !s -> !row
    %view = memref.subview %out[%first, 0] [1, 4] [1, 1] : !lse to memref<1x4xf32, strided<[4, 1], offset: ?>>
    // CHECK: llvm.getelementptr [[LSE]]
    // CHECK: [[ADDRESS:%[0-9]+]] = llvm.ptrtoint [[LSE]]
    // CHECK: [[GIVEN:%[0-9]+]] = arith.cmpi ne, [[ADDRESS]]
    // CHECK: scf.if [[GIVEN]]
    mla_gpu.store_rows %m to optional %view[%c0] count(%n) : !row, memref<1x4xf32, strided<[4, 1], offset: ?>>
  }
  return
}
}
