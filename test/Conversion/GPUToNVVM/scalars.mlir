// Parameters, launches, control flow, scalars and memrefs.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

#s = #mla_gpu.mma<m = rows, instr = [64, 16, 16]>
#map = #mla.tensor_map<dims = [0, 1, 2], box = 64x64, swizzle = 128>
!k = !mla_gpu.tensor_map<?x64x64xbf16, box = 8x64, swizzle = 128>
!t8 = !mla_gpu.tile<8x64xbf16, swizzle = 128>
!t = !mla_gpu.tile<64x16xbf16, swizzle = 32>
!t16 = !mla_gpu.tile<16x16xbf16, swizzle = 32>
!s = tensor<64x16xf32, #s>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"parameters", []>, #mla.entry<"uniform", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// In the order of the entries: what is dynamic of each argument that is used.
// CHECK: mla.kernel = #mla.kernel<arguments = [], entries = [<"parameters", [
// CHECK-SAME: <"k", tensor_map of <dims = [0, 1, 2], box = 64x64, swizzle = 128>>,
// CHECK-SAME: <"q", pointer>, <"q", size>, <"q", stride>, <"q", stride, 1>,
// CHECK-SAME: <"table", pointer>, <"table", size>, <"table", size, 1>,
// CHECK-SAME: <"flag", scalar>, <"scale", scalar>],
// CHECK-SAME: launch = <threads = 64, shared_bytes = 1072, ctas_per_worker = 2, dependent = true>>, <"uniform",
// CHECK-SAME: launch = <threads = 160, shared_bytes = 2560, ctas_per_worker = 1, dependent = false>>]
// CHECK-LABEL: llvm.func @parameters(
// CHECK-SAME: !llvm.ptr {{{.*}}}, %[[Q:[^:]*]]: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[S0:[^:]*]]: i64, %[[S1:[^:]*]]: i64,
// CHECK-SAME: %[[TABLE:[^:]*]]: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[T1:[^:]*]]: i64, %[[FLAG:[^:]*]]: i1, %[[SCALE:[^:]*]]: f32)
// CHECK: %[[CTA:.*]] = llvm.inline_asm "mov.u32 $0, %ctaid.x;"
// CHECK: %[[CTAS:.*]] = llvm.inline_asm "mov.u32 $0, %nctaid.x;"
// Strides of a contiguous memref are products of its sizes.
// CHECK: %[[ROW:.*]] = arith.extsi %[[CTA]] : i32 to i64
// CHECK: %[[AT:.*]] = arith.muli %[[ROW]], %[[T1]] : i64
// CHECK: %[[COLUMN:.*]] = arith.extsi %[[CTAS]] : i32 to i64
// CHECK: %[[SUM:.*]] = arith.addi %[[AT]], %[[COLUMN]] : i64
// CHECK: %[[ID:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// A dynamic offset is folded into the pointer, a size that was 64 bits is an index of 32.
// CHECK: %[[OFFSET:.*]] = arith.extsi %[[ID]]
// CHECK: arith.muli %[[OFFSET]], %[[S0]]
// CHECK: %[[VIEW:.*]] = llvm.getelementptr %[[Q]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: %[[SIZE:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: llvm.store %{{.*}}, %{{.*}} : bf16, !llvm.ptr<1>
func.func @parameters(%unused: f32 {mla.name = "unused"}, %k: !k {mla.name = "k", mla.tensor_map = #map},
                      %q: memref<?x8x64xbf16, strided<[?, ?, 1]>> {mla.name = "q"}, %table: memref<?x?xi32> {mla.name = "table"},
                      %flag: i1 {mla.name = "flag"}, %scale: f32 {mla.name = "scale"}, %cta: index {mla.name = "worker"},
                      %ctas: index {mla.name = "num_workers"})
    attributes {mla.entry = 0, mla_gpu.ctas_per_worker = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %vector = mla_gpu.alloc : !mla_gpu.smem<1x8xf32>
  %tile = mla_gpu.alloc : !mla_gpu.smem<1x8x64xbf16, swizzle = 128>
  %pipe = mla_gpu.pipeline %tile[0:64] writer(tma) from("a") to("b") : !mla_gpu.smem<1x8x64xbf16, swizzle = 128>
  mla_gpu.grid_wait
  %id = memref.load %table[%cta, %ctas] : memref<?x?xi32>
  %first = arith.index_cast %id : i32 to index
  %part = memref.subview %q[%first, 0, 0] [1, 8, 64] [1, 1, 1] : memref<?x8x64xbf16, strided<[?, ?, 1]>>
    to memref<8x64xbf16, strided<[?, 1], offset: ?>>
  %size = memref.dim %table, %c0 : memref<?x?xi32>
  mla_gpu.warp_specialize
  role "a" warps(1) {
    scf.if %flag {
      %x = arith.truncf %scale : f32 to bf16
      memref.store %x, %part[%size, %c1] : memref<8x64xbf16, strided<[?, 1], offset: ?>>
      %t = mla_gpu.acquire %pipe[%c0] : !mla_gpu.pipeline<1, !t8>
      mla_gpu.tma_load %k[%c0, %c0, %c0] to %t : !k, !t8
      mla_gpu.commit %pipe[%c0] : !mla_gpu.pipeline<1, !t8>
    }
  }
  role "b" warps(1) {
  }
  return
}

// Integers that a role with MMAs loads are the same in all lanes, and known to be. Tensors go around loops as registers.
// CHECK-LABEL: llvm.func @uniform
// CHECK: scf.if
// CHECK: %[[LOADED:.*]] = llvm.load
// CHECK: %[[END:.*]] = llvm.inline_asm has_side_effects "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r" %[[LOADED]]
// CHECK: %[[LOOP:.*]]:9 = scf.for %{{.*}} = %c0_i32 to %[[END]] step %c1_i32 iter_args(
// CHECK-SAME: -> (f32, f32, f32, f32, f32, f32, f32, f32, i32) : i32 {
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32, f32, f32, f32, f32, f32, i32
// CHECK: } else {
// CHECK: llvm.load
// CHECK-NOT: shfl
// CHECK: llvm.return
func.func @uniform(%x: memref<?xi32> {mla.name = "x"}, %y: memref<?x16xf32> {mla.name = "y"}) attributes {mla.entry = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = mla_gpu.alloc : !t
  %b = mla_gpu.alloc : !t16
  mla_gpu.warp_specialize
  role "math" warps(4) {
    %product = mla_gpu.mma %a, %b transposed : !t, !t16 -> !s
    %zero = mla_gpu.mma_wait %product : !s
    %n = memref.load %x[%c0] : memref<?xi32>
    %end = arith.index_cast %n : i32 to index
    %sum, %count = scf.for %i = %c0 to %end step %c1 iter_args(%s = %zero, %k = %c0) -> (!s, index) {
      %k1 = arith.addi %k, %end : index
      %s1 = arith.addf %s, %s : !s
      scf.yield %s1, %k1 : !s, index
    }
    mla_gpu.store_rows %sum to %y[%count, %c0] count(%c1) : !s, memref<?x16xf32>
  }
  role "plain" warps(1) {
    %n = memref.load %x[%c1] : memref<?xi32>
    memref.store %n, %x[%c0] : memref<?xi32>
  }
  return
}
}
