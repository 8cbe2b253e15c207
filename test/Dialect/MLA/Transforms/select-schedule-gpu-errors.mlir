// RUN: mla-opt %s --split-input-file --verify-diagnostics --mla-attach-target=chip=sm_90a --mla-select-schedule

func.func @f32(%q: memref<?x?x16x576xf32>, %k: memref<?x64x1x576xf32>, %table: memref<?x?xi32>,
               %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xf32>) {
  // expected-error @+1 {{has no schedule for target 'cuda': q and k of bf16 or f16 are required on a GPU, but got f32}}
  mla.decode q(%q : memref<?x?x16x576xf32>) k(%k : memref<?x64x1x576xf32>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xf32>) head_dim_v = 512
  return
}

// -----

func.func @mixed(%q: memref<?x?x16x576xf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{q and k of one element type are required on a GPU, but got f16 and bf16}}
  mla.decode q(%q : memref<?x?x16x576xf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

func.func @wide(%q: memref<?x?x16x640xbf16>, %k: memref<?x64x1x640xbf16>, %table: memref<?x?xi32>,
                %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{parts of q and k of multiples of 16, up to 576 together, are required on a GPU, but got 640}}
  mla.decode q(%q : memref<?x?x16x640xbf16>) k(%k : memref<?x64x1x640xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

func.func @odd_v(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x96xbf16>) {
  // expected-error @+1 {{head_dim_v that is a multiple of 64 up to 512 is required on a GPU, but got 96}}
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x96xbf16>) head_dim_v = 96
  return
}

// -----

func.func @odd_parts(%q: memref<?x?x16x72xbf16>, %qr: memref<?x?x16x8xbf16>, %k: memref<?x64x1x72xbf16>, %kr: memref<?x64x1x8xbf16>,
                     %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{are required on a GPU, but got 72 + 8}}
  mla.decode q(%q : memref<?x?x16x72xbf16>, %qr : memref<?x?x16x8xbf16>) k(%k : memref<?x64x1x72xbf16>, %kr : memref<?x64x1x8xbf16>)
    table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x64xbf16>) head_dim_v = 64
  return
}

// -----

// Schedules that were given.

func.func @latent(%q: memref<?x?x64x320xbf16>, %qr: memref<?x?x64x64xbf16>, %k: memref<?x64x1x320xbf16>, %kr: memref<?x64x1x64xbf16>,
                  %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x64x256xbf16>) {
  // expected-error @+1 {{a latent part as wide as V, 256, is required with rows as M, but got 320}}
  mla.decode q(%q : memref<?x?x64x320xbf16>, %qr : memref<?x?x64x64xbf16>) k(%k : memref<?x64x1x320xbf16>, %kr : memref<?x64x1x64xbf16>)
    table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x64x256xbf16>) head_dim_v = 256
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>
  return
}

// -----

func.func @block_m(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{has a schedule that cannot be lowered: block_m = 8, 16 or 32 is required with keys as M, but got 24}}
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 24, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
  return
}

// -----

func.func @row_blocks_of_pairs(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                               %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{row_blocks = 1 is required with clusters, but got 2}}
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 2, copy = tma, cluster = 2>
  return
}

// -----

func.func @room_of_pairs(%q: memref<?x?x16x512xbf16>, %k: memref<?x64x1x512xbf16>, %table: memref<?x?xi32>,
                         %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{cluster = 1 is required where the queries' place does not hold half of the rows' output, but got 2}}
  mla.decode q(%q : memref<?x?x16x512xbf16>) k(%k : memref<?x64x1x512xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 2>
  return
}

// -----

func.func @pairs_of_many_rows(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                              %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  // expected-error @+1 {{cluster = 1 is required with rows as M, but got 2}}
  mla.decode q(%q : memref<?x?x128x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 1, copy = tma, cluster = 2>
  return
}

// -----

func.func @stages(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{2 stages fit the shared memory at the most, but got 3}}
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>
  return
}

// -----

func.func @no_tma(%q: memref<?x?x128x576xbf16>, %k: memref<?x24x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  // expected-error @+1 {{copy = tma cannot be done: pages of a static multiple of 16 keys are required, but k is memref<?x24x1x576xbf16>}}
  mla.decode q(%q : memref<?x?x128x576xbf16>) k(%k : memref<?x24x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>
  return
}

// -----

func.func @no_query_box(%q: memref<?x?x100x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                        %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x100x512xbf16>) {
  // expected-error @+1 {{copy = tma cannot be done: multiples of 8 query heads to a KV head are required, but got 100}}
  mla.decode q(%q : memref<?x?x100x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x100x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>
  return
}

// -----

func.func @no_query_stride(%q: memref<?x?x128x576xbf16, strided<[?, ?, 577, 1]>>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                           %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  // expected-error @+1 {{copy = tma cannot be done: strides of multiples of 16 bytes are required, but q is memref<?x?x128x576xbf16, strided<[?, ?, 577, 1]>>}}
  mla.decode q(%q : memref<?x?x128x576xbf16, strided<[?, ?, 577, 1]>>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma>
  return
}
