// What fragments cannot do on this target is an error that says so.
// RUN: mla-opt %s --split-input-file --mla-convert-gpu-to-nvvm --verify-diagnostics

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [], schedule = #mla.schedule<rows_as_m,
  block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.none,
  kv_heads = 1, group = 1>
#h200 = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
module attributes {mla.target = #h200, mla.kernel = #kernel} {
func.func @f() attributes {mla.entry = 0 : i64, mla_gpu.warps = 8 : i64} {
  // Constants are for all threads.
  %none = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  // expected-error @+1 {{requires a role of 4 warps for fragments, but got one of 8}}
  %0 = mla_gpu.iota dim(0) : tensor<64x64xi32, #s>
  return
}
}

// -----

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [], schedule = #mla.schedule<rows_as_m,
  block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.none,
  kv_heads = 1, group = 1>
#h200 = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
module attributes {mla.target = #h200, mla.kernel = #kernel} {
func.func @f(%x: f32 {mla.name = "x"}) attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %0 = mla_gpu.broadcast %x : f32 -> tensor<64x64xf32, #s>
  %1 = arith.truncf %0 : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
  // expected-error @+1 {{requires elements of 32 bits: 16-bit tensors are rounded, extended, stored and multiplied only}}
  %2 = arith.addf %1, %1 : tensor<64x64xbf16, #s>
  return
}
}

// -----

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [], schedule = #mla.schedule<rows_as_m,
  block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.none,
  kv_heads = 1, group = 1>
#h200 = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
module attributes {mla.target = #h200, mla.kernel = #kernel} {
func.func @f() attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %q = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16>
  // expected-error @+1 {{requires tiles with a swizzle, but got '!mla_gpu.tile<64x64xbf16>'}}
  %0 = mla_gpu.mma %q, %q transposed : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #s>
  return
}
}

// -----

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#o = #mla_gpu.mma<m = rows, instr = [64, 32, 16]>
#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [], schedule = #mla.schedule<rows_as_m,
  block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.none,
  kv_heads = 1, group = 1>
#h200 = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
module attributes {mla.target = #h200, mla.kernel = #kernel} {
func.func @f() attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %q = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16, swizzle = 128>
  // expected-error @+1 {{requires whole swizzles along N of shared memory, but got '!mla_gpu.tile<64x64xbf16, swizzle = 128>'}}
  %0 = mla_gpu.mma %q, %q : !mla_gpu.tile<64x64xbf16, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
    -> tensor<64x64xf32, #o>
  return
}
}

// -----

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#t = #mla_gpu.mma<m = keys, instr = [64, 64, 16]>
#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [], schedule = #mla.schedule<rows_as_m,
  block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>, mask = #mla.none,
  kv_heads = 1, group = 1>
#h200 = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>
module attributes {mla.target = #h200, mla.kernel = #kernel} {
func.func @f(%x: f32 {mla.name = "x"}) attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %0 = mla_gpu.broadcast %x : f32 -> tensor<64x64xf32, #s>
  // expected-error @+1 {{requires layouts that put elements in the same threads, but got}}
  %1 = mla_gpu.convert_layout %0 : tensor<64x64xf32, #s> -> tensor<64x64xf32, #t>
  return
}
}
