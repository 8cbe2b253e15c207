// One error for each branch of the types' parsers and verifiers.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{requires stages x rows x columns or stages x length, but got 4 dimensions}}
func.func private @smem_rank(!mla_gpu.smem<2x2x64x64xbf16>)

// -----

// expected-error @+1 {{requires rows x columns or a length, but got 3 dimensions}}
func.func private @tile_rank(!mla_gpu.tile<2x64x64xbf16>)

// -----

// expected-error @+1 {{requires positive sizes}}
func.func private @smem_sizes(!mla_gpu.smem<2x0x64xbf16>)

// -----

// expected-error @+1 {{requires columns for a swizzle}}
func.func private @smem_swizzle_of_vector(!mla_gpu.smem<2x64xbf16, swizzle = 128>)

// -----

// expected-error @+1 {{requires elements of 1, 2, 4 or 8 bytes, but got 'index'}}
func.func private @smem_elements(!mla_gpu.smem<2x64x64xindex>)

// -----

// expected-error @+1 {{requires a swizzle of 32, 64 or 128, but got 16}}
func.func private @smem_swizzle(!mla_gpu.smem<2x64x64xbf16, swizzle = 16>)

// -----

// expected-error @+1 {{requires whole swizzles of 128 bytes, but got 72 columns of 'bf16'}}
func.func private @smem_columns(!mla_gpu.smem<2x64x72xbf16, swizzle = 128>)

// -----

// expected-error @+1 {{requires a positive number of stages, but got 0}}
func.func private @pipeline_stages(!mla_gpu.pipeline<0>)

// -----

// expected-error @+1 {{requires slots of tiles, but got 'i32'}}
func.func private @pipeline_tiles(!mla_gpu.pipeline<2, i32>)

// -----

// expected-error @+1 {{requires a tensor with an #mla_gpu.mma layout, but got 'tensor<64x64xf32>'}}
func.func private @inflight(!mla_gpu.inflight<tensor<64x64xf32>>)

// -----

// expected-error @+1 {{requires a box of rows x columns, but got 1 dimensions}}
func.func private @map_box(!mla_gpu.tensor_map<?x576xbf16, box = 64, swizzle = 128>)

// -----

// expected-error @+1 {{requires 2 to 4 dimensions, but got 1}}
func.func private @map_rank(!mla_gpu.tensor_map<576xbf16, box = 64x64, swizzle = 128>)

// -----

// expected-error @+1 {{requires a box of 1 to 256 rows, but got 257}}
func.func private @map_rows(!mla_gpu.tensor_map<?x576xbf16, box = 257x64, swizzle = 128>)

// -----

// expected-error @+1 {{requires whole swizzles of 128 bytes, but got 32 columns of 'bf16'}}
func.func private @map_swizzle(!mla_gpu.tensor_map<?x576xbf16, box = 64x32, swizzle = 128>)

// -----

// expected-error @+1 {{requires boxes that divide a static number of columns, but got 128 of 576}}
func.func private @map_columns(!mla_gpu.tensor_map<?x576xbf16, box = 64x128, swizzle = 128>)

// -----

// expected-error @+1 {{requires boxes of whole 16 bytes, but got 4 columns of 'bf16'}}
func.func private @map_bytes(!mla_gpu.tensor_map<?x576xbf16, box = 64x4>)

// -----

// expected-error @+1 {{requires a box of at most 256 columns or swizzles, but got 288}}
func.func private @map_wide(!mla_gpu.tensor_map<?x576xbf16, box = 64x288>)
