// Lists of the kernel's description may be empty: a function without arguments,
// a kernel without workspace.
//
// RUN: mla-opt %s | mla-opt | FileCheck %s

// CHECK: mla.kernel = #mla.kernel<
// CHECK-SAME: arguments = [], entries = [<"decode", []>], workspace = [],
// CHECK-SAME: schedule = <host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>, mask = #mla.causal, kv_heads = 1, group = 16>
module attributes {
  mla.kernel = #mla.kernel<
    arguments = [], entries = [#mla.entry<"decode", []>], workspace = [],
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole,
                             split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>,
    mask = #mla.causal, kv_heads = 1, group = 16>} {
}
