// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --split-input-file --verify-diagnostics

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
// expected-error @below {{requires 'mla.target' to be cuda, chip sm_90a, but got #mla.target<cuda, chip = "sm_80"}}
module attributes {mla.target = #mla.target<cuda, chip = "sm_80", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
// expected-error @below {{requires 'mla.target' to be cuda, chip sm_90a, but got none}}
module attributes {mla.kernel = #kernel} {
func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
}

// -----

// expected-error @below {{requires 'mla.kernel', which names the entries}}
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>} {
func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
// expected-error @below {{requires a function with 'mla.entry' for the entry "f"}}
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @g() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires 1 to 32 warps, by 'mla_gpu.warps' or roles, but got 0}}
func.func @f() attributes {mla.entry = 0} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires 1 to 32 warps, by 'mla_gpu.warps' or roles, but got 33}}
func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 33} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires 8208 bytes of shared memory, but the target has 4096 a CTA}}
func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %0 = mla_gpu.alloc : !mla_gpu.smem<1x64x64xbf16, swizzle = 128>
  %1 = mla_gpu.pipeline %0[0:64] writer(tma) from("a") to("b") : !mla_gpu.smem<1x64x64xbf16, swizzle = 128>
  mla_gpu.warp_specialize
  role "a" warps(1) {
  }
  role "b" warps(1) {
  }
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires 'mla.name' on argument 0}}
func.func @f(%x: f32) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires a memref, a tensor map, an integer or a float as argument 'n', but got 'index'}}
func.func @f(%n: index {mla.name = "n"}, %x: memref<?xf32> {mla.name = "x"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %0 = memref.load %x[%n] : memref<?xf32>
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
// expected-error @below {{requires 'mla.tensor_map' on argument 'k'}}
func.func @f(%k: !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128> {mla.name = "k"}) attributes {mla.entry = 0} {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16, swizzle = 128>
  mla_gpu.warp_specialize
  role "a" warps(1) {
    mla_gpu.tma_load %k[%c0, %c0] to %0
      : !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
  }
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @f(%x: memref<?xf32> {mla.name = "x"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<?xf32>
  // expected-error @below {{'math.erf' op requires an approximation on a GPU, but has none for 'f32'}}
  %1 = math.erf %0 : f32
  memref.store %1, %x[%c0] : memref<?xf32>
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @f(%k: !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>
    {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 1], box = 64x64, swizzle = 128>}) attributes {mla.entry = 0} {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16, swizzle = 128>
  mla_gpu.warp_specialize
  role "a" warps(1) {
    // expected-error @below {{requires a tile of a slot of a pipeline with writer(tma), which the copy arrives on}}
    mla_gpu.tma_load %k[%c0, %c0] to %0
      : !mla_gpu.tensor_map<?x64xbf16, box = 64x64, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
  }
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @f(%c: i1 {mla.name = "c"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %0 = mla_gpu.alloc : !mla_gpu.tile<16xf32>
  // expected-error @below {{requires scalars and tensors as results, but got '!mla_gpu.tile<16xf32>'}}
  %1 = scf.if %c -> (!mla_gpu.tile<16xf32>) {
    scf.yield %0 : !mla_gpu.tile<16xf32>
  } else {
    scf.yield %0 : !mla_gpu.tile<16xf32>
  }
  return
}
}

// -----

#kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"f", []>], workspace = [],
  schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                           row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>
module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 4096, l2_bytes = 62914560>, mla.kernel = #kernel} {
func.func @f(%x: memref<?xf32> {mla.name = "x"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  // expected-error @below {{requires an index of 32 bits, but got 4294967296}}
  %c = arith.constant 4294967296 : index
  %0 = memref.load %x[%c] : memref<?xf32>
  return
}
}

// -----

func.func @f() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
// expected-error @+1 {{requires to be the only entry with 'mla.entry' = 0}}
func.func @g() attributes {mla.entry = 0, mla_gpu.warps = 1} {
  return
}
