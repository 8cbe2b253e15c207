// RUN: mla-opt %s --split-input-file --mla-attach-target=chip=sm_90a --mla-select-schedule | FileCheck %s
// RUN: mla-opt %s --split-input-file --mla-attach-target=chip=sm_90a --mla-select-schedule=queries=2 | FileCheck %s --check-prefix=TWO
// RUN: mla-opt %s --split-input-file --mla-attach-target=chip=sm_90a --mla-select-schedule='queries=4 split=row_local' | FileCheck %s --check-prefix=FOUR
// RUN: mla-opt %s --split-input-file --mla-attach-target=chip=sm_90a --mla-select-schedule=aligned-strides | FileCheck %s --check-prefix=ALIGNED
// RUN: not mla-opt %s --split-input-file --mla-attach-target=chip=sm_90a --mla-select-schedule=queries=0 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: option 'queries' requires at least 1, but got 0

// The lowest tile that holds all rows, as long as few are enough; then blocks of 64 rows, side by side while there are few.

// CHECK-LABEL: @heads16
// CHECK:         schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 2>
// ALIGNED-LABEL: @heads16
// ALIGNED:       schedule = #mla.schedule<keys_as_m, {{.*}} copy = tma, cluster = 2, alignment = 16>
// TWO-LABEL:   @heads16
// TWO:           schedule = #mla.schedule<keys_as_m, block_m = 32,
// FOUR-LABEL:  @heads16
// FOUR:          schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = row_local, split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>
func.func @heads16(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// CHECK-LABEL: @heads128
// CHECK:         schedule = #mla.schedule<rows_as_m, block_m = 64, {{.*}} row_blocks = 2, copy = tma>
// TWO-LABEL:   @heads128
// TWO:           schedule = #mla.schedule<rows_as_m, {{.*}} row_blocks = 2,
func.func @heads128(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  mla.decode q(%q : memref<?x?x128x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x512xbf16>) head_dim_v = 512
  return
}

// -----

// Three and five row blocks.

// CHECK-LABEL: @heads160
// CHECK:         schedule = #mla.schedule<rows_as_m, {{.*}} row_blocks = 3,
// TWO-LABEL:   @heads160
// TWO:           schedule = #mla.schedule<rows_as_m, {{.*}} row_blocks = 1,
func.func @heads160(%q: memref<?x?x160x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x160x512xbf16>) {
  mla.decode q(%q : memref<?x?x160x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x160x512xbf16>) head_dim_v = 512
  return
}

// -----

// Few rows of each of several KV heads; narrow keys leave room for more stages.

// CHECK-LABEL: @narrow
// CHECK:         schedule = #mla.schedule<keys_as_m, block_m = 8, {{.*}} stages = 4, row_blocks = 1, copy = tma, cluster = 2>
func.func @narrow(%q: memref<?x?x8x192xf16>, %k: memref<?x?x2x192xf16>, %lens: memref<?xi32>, %scale: f32,
                  %out: memref<?x?x8x128xf16>) {
  mla.decode q(%q : memref<?x?x8x192xf16>) k(%k : memref<?x?x2x192xf16>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x8x128xf16>) head_dim_v = 128
  return
}

// -----

// What lies beside the keys takes a stage: rope columns of Q, or P where there are fewer of them than P has.

// CHECK-LABEL: @wide_rope
// CHECK:         schedule = #mla.schedule<rows_as_m, {{.*}} stages = 2,
func.func @wide_rope(%q: memref<?x?x128x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x256xbf16>) {
  mla.decode q(%q : memref<?x?x128x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x256xbf16>) head_dim_v = 256
  return
}

// -----

// CHECK-LABEL: @narrow_rope
// CHECK:         schedule = #mla.schedule<rows_as_m, {{.*}} stages = 2,
func.func @narrow_rope(%q: memref<?x?x128x560xbf16>, %k: memref<?x64x1x560xbf16>, %table: memref<?x?xi32>,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x128x512xbf16>) {
  mla.decode q(%q : memref<?x?x128x560xbf16>) k(%k : memref<?x64x1x560xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x128x512xbf16>) head_dim_v = 512
  return
}

// -----

// Rows as M would need V to be the latent part.

// CHECK-LABEL: @v_within_latent
// CHECK:         schedule = #mla.schedule<keys_as_m,
func.func @v_within_latent(%q: memref<?x?x64x512xbf16>, %qr: memref<?x?x64x64xbf16>, %k: memref<?x64x1x512xbf16>,
                           %kr: memref<?x64x1x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                           %out: memref<?x?x64x256xbf16>) {
  mla.decode q(%q : memref<?x?x64x512xbf16>, %qr : memref<?x?x64x64xbf16>) k(%k : memref<?x64x1x512xbf16>, %kr : memref<?x64x1x64xbf16>)
    table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x64x256xbf16>) head_dim_v = 256
  return
}

// -----

// Boxes of the keys of a tile that a page has. Few rows, which memory bounds, take 16 keys row by row, as boxes of
// 2 KB cannot be issued in time; many rows are bound by the tensor cores, and copies row by row would be in their way.

// CHECK-LABEL: @pages_of_32
// CHECK:         schedule = #mla.schedule<keys_as_m, {{.*}} copy = tma, cluster = 2>
func.func @pages_of_32(%q: memref<?x?x16x576xbf16>, %k: memref<?x32x1x576xbf16>, %table: memref<?x?xi32>,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x32x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// CHECK-LABEL: @pages_of_16
// CHECK:         schedule = #mla.schedule<keys_as_m, block_m = 16, {{.*}} copy = gather, cluster = 2>
func.func @pages_of_16(%q: memref<?x?x16x576xbf16>, %k: memref<?x16x1x576xbf16>, %table: memref<?x?xi32>,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x16x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// 48 = 3 x 16: a page's keys are in two tiles, by 16.

// CHECK-LABEL: @pages_of_48
// CHECK:         schedule = #mla.schedule<keys_as_m, block_m = 16, {{.*}} copy = gather, cluster = 2>
func.func @pages_of_48(%q: memref<?x?x16x576xbf16>, %k: memref<?x48x1x576xbf16>, %table: memref<?x?xi32>,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x48x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// CHECK-LABEL: @heads64_pages_of_16
// CHECK:         schedule = #mla.schedule<rows_as_m, {{.*}} copy = tma>
func.func @heads64_pages_of_16(%q: memref<?x?x64x576xbf16>, %k: memref<?x16x1x576xbf16>, %table: memref<?x?xi32>,
                               %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x64x512xbf16>) {
  mla.decode q(%q : memref<?x?x64x576xbf16>) k(%k : memref<?x16x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x64x512xbf16>) head_dim_v = 512
  return
}

// -----

// Row by row: pages of other sizes, and strides that are not known.

// ALIGNED-LABEL: @odd_pages
// ALIGNED:       schedule = #mla.schedule<keys_as_m, {{.*}} copy = gather, cluster = 2, alignment = 16>
// CHECK-LABEL: @odd_pages
// CHECK:         schedule = #mla.schedule<keys_as_m, {{.*}} copy = gather, cluster = 2>
func.func @odd_pages(%q: memref<?x?x16x576xbf16>, %k: memref<?x24x1x576xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x24x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// ALIGNED-LABEL: @strides
// ALIGNED:       schedule = #mla.schedule<keys_as_m, {{.*}} copy = tma, cluster = 2, alignment = 16>
// CHECK-LABEL: @strides
// CHECK:         schedule = #mla.schedule<keys_as_m, {{.*}} copy = gather, cluster = 2>
!k = memref<?x64x1x576xbf16, strided<[?, 576, 576, 1]>>
func.func @strides(%q: memref<?x?x16x576xbf16>, %k: !k, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : !k) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}
