// Round trips of the attributes, and where the dialect puts them.
//
// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --emit-bytecode | mla-opt | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: mla.kernel = #mla.kernel<
// CHECK-SAME:   arguments = [<"q", memref<?x?x16x64xbf16>>, <"softmax_scale", f32>],
// CHECK-SAME:   entries = [<"decode", [<"q", pointer>, <"q", offset>, <"q", size>, <"q", size, 1>, <"q", stride, 3>, <"softmax_scale", scalar>]>, <"decode_combine", [<"partial_out", pointer>]>],
// CHECK-SAME:   workspace = [<"partial_out", slot, memref<?x16x64xf32>>, <"scratch", worker, memref<?x4096xi8>>],
// CHECK-SAME:   schedule = <host_blocks, block_m = 16, block_n = 64, split = balanced, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>,
// CHECK-SAME:   mask = #mla.causal, kv_heads = 1, group = 16>,
// CHECK-SAME: mla.target = #mla.target<host, cpu = "znver4", features = "-avx512bf16,-gfni", vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}
module attributes {
  mla.kernel = #mla.kernel<
    arguments = [#mla.argument<"q", memref<?x?x16x64xbf16>>, #mla.argument<"softmax_scale", f32>],
    entries = [
      #mla.entry<"decode", [#mla.param<"q", pointer>, #mla.param<"q", offset>, #mla.param<"q", size, 0>,
                            #mla.param<"q", size, 1>, #mla.param<"q", stride, 3>,
                            #mla.param<"softmax_scale", scalar>]>,
      #mla.entry<"decode_combine", [#mla.param<"partial_out", pointer>]>],
    workspace = [#mla.buffer<"partial_out", slot, memref<?x16x64xf32>>,
                 #mla.buffer<"scratch", worker, memref<?x4096xi8>>],
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = balanced,
                             split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>,
    mask = #mla.causal, kv_heads = 1, group = 16>,
  mla.target = #mla.target<host, cpu = "znver4", features = "-avx512bf16,-gfni", vector_bits = 512,
                           vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>} {

  // CHECK-LABEL: func.func private @entry(i32 {mla.name = "cap"})
  // CHECK-SAME:    mla.entry = 1 : i64
  // CHECK-SAME:    mla.schedule = #mla.schedule<some_dataflow, block_m = 1, block_n = 16, split = whole, split_tiles = 1, qk = 1x4, pv = 1x1, kv = direct>
  func.func private @entry(i32 {mla.name = "cap"}) attributes {
    mla.entry = 1 : i64,
    mla.schedule = #mla.schedule<some_dataflow, block_m = 1, block_n = 16, split = whole,
                                 split_tiles = 1, qk = 1x4, pv = 1x1, kv = direct>}

  // Attributes by themselves.

  // CHECK-LABEL: func.func private @others()
  // CHECK-SAME:    aligned = #mla.argument<"out", memref<?x16x64xbf16>, alignment = 16>
  // CHECK-SAME:    argument = #mla.argument<"seq_lens", memref<?xi32>>
  // CHECK-SAME:    buffer = #mla.buffer<"partial_lse", slot, memref<?x16xf32>>
  // CHECK-SAME:    gpu = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
  // CHECK-SAME:    masks = [#mla.none, #mla.causal]
  // CHECK-SAME:    pairs = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 2, alignment = 16, plan = shared>
  // CHECK-SAME:    param = #mla.param<"q", stride, 2>
  // CHECK-SAME:    row_local = #mla.schedule<host_blocks, block_m = 12, block_n = 48, split = row_local, split_tiles = 4, qk = 4x3, pv = 6x2, kv = staged>
  // CHECK-SAME:    target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 49152, l2_bytes = 2097152>
  func.func private @others() attributes {
    aligned = #mla.argument<"out", memref<?x16x64xbf16>, alignment = 16>,
    argument = #mla.argument<"seq_lens", memref<?xi32>>,
    buffer = #mla.buffer<"partial_lse", slot, memref<?x16xf32>>,
    gpu = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
    masks = [#mla.none, #mla.causal],
    pairs = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1,
                          stages = 2, row_blocks = 1, copy = tma, cluster = 2,
                          alignment = 16, plan = shared>,
    param = #mla.param<"q", stride, 2>,
    row_local = #mla.schedule<host_blocks, block_m = 12, block_n = 48, split = row_local,
                              split_tiles = 4, qk = 4x3, pv = 6x2, kv = staged>,
    target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                         vector_registers = 16, l1_bytes = 49152, l2_bytes = 2097152>}
}
