// RUN: mla-opt %s --split-input-file --verify-diagnostics --mla-attach-target=chip=sm_90a --mla-select-schedule=shared-plan | FileCheck %s
// RUN: not mla-opt %s --split-input-file --mla-attach-target=cpu=x86-64-v3 --mla-select-schedule=shared-plan 2>&1 | FileCheck %s --check-prefix=HOST

// HOST: error: 'mla.decode' op requires a GPU for a shared plan, but got #mla.schedule<host_blocks

// CHECK-LABEL: @chosen
// CHECK:         schedule = #mla.schedule<keys_as_m, {{.*}}, plan = shared>
func.func @chosen(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
  return
}

// -----

// A schedule that was given is not changed.

func.func @given(%q: memref<?x?x16x576xbf16>, %k: memref<?x64x1x576xbf16>, %table: memref<?x?xi32>,
                 %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{requires a schedule with plan = shared, as the option 'shared-plan' says, but got #mla.schedule<keys_as_m}}
  mla.decode q(%q : memref<?x?x16x576xbf16>) k(%k : memref<?x64x1x576xbf16>) table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>) scale(%scale : f32) out(%out : memref<?x?x16x512xbf16>) head_dim_v = 512
    schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
  return
}
