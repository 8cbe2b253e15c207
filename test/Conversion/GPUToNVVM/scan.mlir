// mla_gpu.scan: with a second region, prefixes by shuffles and one exchange a chunk, and a barrier behind it; without, totals
// by redux alone. Two halves of the exchange are used in turns.
// RUN: mla-opt %s --mla-gpu-to-nvvm | FileCheck %s

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"m", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>,
  mask = #mla.none, kv_heads = 1, group = 128>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @m(%lens: memref<?xi32> {mla.name = "seq_lens"}, %starts: memref<?x4xi32> {mla.name = "starts"}, %sums: memref<2xi32> {mla.name = "sums"})
    attributes {mla.entry = 0 : i64, mla_gpu.warps = 6 : i64} {
  %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c2 = arith.constant 2 : index %c3 = arith.constant 3 : index
  %n = memref.dim %lens, %c0 : memref<?xi32>
  %total, %longest = mla_gpu.scan %n ["sum", "max"] {
  ^bb0(%i: index):
    %len = memref.load %lens[%i] : memref<?xi32>
    %l = arith.index_cast %len : i32 to index
    mla_gpu.yield %l, %l : index, index
  } then {
  ^bb0(%i: index, %before: index, %longest_before: index, %len: index, %same: index):
    %b = arith.index_cast %before : index to i32
    %lb = arith.index_cast %longest_before : index to i32
    %o = arith.index_cast %len : index to i32
    memref.store %b, %starts[%i, %c0] : memref<?x4xi32>
    memref.store %lb, %starts[%i, %c1] : memref<?x4xi32>
    memref.store %o, %starts[%i, %c2] : memref<?x4xi32>
    mla_gpu.yield
  } : index, index
  %all = mla_gpu.scan %n ["sum"] {
  ^bb0(%i: index):
    %len = memref.load %lens[%i] : memref<?xi32>
    %l = arith.index_cast %len : i32 to index
    mla_gpu.yield %l : index
  } : index
  %t = arith.addi %total, %all : index
  %t1 = arith.index_cast %t : index to i32
  %m1 = arith.index_cast %longest : index to i32
  memref.store %t1, %sums[%c0] : memref<2xi32>
  memref.store %m1, %sums[%c1] : memref<2xi32>
  return
}
}

// CHECK-LABEL: llvm.func @m
// CHECK: ^[[CHUNK:bb[0-9]+]](
// CHECK: llvm.load
// CHECK-COUNT-5: shfl.sync.up.b32 other|exists, $1, {{[0-9]+}}, 0, -1;\0Amov.b32 $0, $1;\0A@exists add.s32 $0, $1, other
// CHECK: @$2 st.shared.b32
// CHECK-COUNT-5: shfl.sync.up.b32 other|exists, $1, {{[0-9]+}}, 0, -1;\0Amov.b32 $0, $1;\0A@exists max.s32 $0, $1, other
// CHECK: @$2 st.shared.b32
// CHECK: bar.sync 0, 192
// CHECK: mov.b32 $0, 0;\0A@$2 ld.shared.b32
// CHECK-COUNT-2: redux.sync.add.s32
// CHECK: ld.shared.b32
// CHECK-COUNT-2: redux.sync.max.s32
// What comes before the first lane of a maximum is not its own.
// CHECK: shfl.sync.up.b32 $0, $1, 1, 0, -1
// CHECK-COUNT-3: llvm.store
// CHECK: llvm.xor
// CHECK: llvm.br ^[[CHUNK]](
// CHECK: bar.sync 0, 192
// CHECK: ^[[TOTALS:bb[0-9]+]](
// CHECK-NOT: shfl.sync.up
// CHECK: redux.sync.add.s32
// CHECK: bar.sync 0, 192
// CHECK: redux.sync.add.s32
// CHECK: llvm.br ^[[TOTALS]](
// CHECK-NOT: bar.sync
// CHECK: llvm.return
