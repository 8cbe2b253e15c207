// In a role that counts its registers, a map that goes on with another's result takes integers from outside of it, and those of
// rows, as values of its own: what both compute of them alike is computed twice, and not kept for each element in between. The
// first takes them as they are. Constants stay.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s

#s = #mla_gpu.mma<m = rows, instr = [64, 8, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
!s = tensor<64x8xf32, #s>
!i = tensor<64x8xi32, #s>

module attributes {
  mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1,
                             copy = tma>, mask = #mla.none, kv_heads = 1, group = 4>} {
// CHECK-LABEL: llvm.func @f(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[FIRST:[^:]*]]: i32, %[[ROW:[^:]*]]: i32)
func.func @f(%out: memref<?x8xf32> {mla.name = "out"}, %first: i32 {mla.name = "first"}, %position: i32 {mla.name = "row"})
    attributes {mla.entry = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c7 = arith.constant 7 : i32
  mla_gpu.warp_specialize
  role "math" warps(4) registers(184) {
    %x = arith.constant dense<1.0> : !s
    %key = mla_gpu.iota dim(1) : !i
    %row = mla_gpu.broadcast %position : i32 -> tensor<64xi32, #row>
    %rows = mla_gpu.broadcast %row : tensor<64xi32, #row> -> !i
    // CHECK-NOT: "mov.b32 $0, $1;", {{.*}} %[[FIRST]] :
    // CHECK-COUNT-4: arith.addi %[[FIRST]],
    %y = mla_gpu.map %x, %rows, %key {
    ^bb0(%e: f32, %r: i32, %k: i32):
      %a = arith.addi %first, %k : i32
      %b = arith.addi %a, %c7 : i32
      %d = arith.cmpi sle, %b, %r : i32
      %z = arith.select %d, %e, %e : f32
      mla_gpu.yield %z : f32
    } : !s, !i, !i -> !s
    // CHECK: %[[AGAIN:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", {{.*}} %[[FIRST]] :
    // CHECK: %[[MY_ROW:.*]] = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", {{.*}} %[[ROW]] :
    // CHECK-NOT: "mov.b32 $0, $1;"
    // CHECK-COUNT-4: arith.addi %[[AGAIN]],
    %w = mla_gpu.map %y, %rows, %key {
    ^bb0(%e: f32, %r: i32, %k: i32):
      %a = arith.addi %first, %k : i32
      %b = arith.addi %a, %r : i32
      %f = arith.sitofp %b : i32 to f32
      %z = arith.addf %e, %f : f32
      mla_gpu.yield %z : f32
    } : !s, !i, !i -> !s
    mla_gpu.store_rows %w to %out[%c0, %c0] count(%c64) : !s, memref<?x8xf32>
  }
  return
}
}
