// What can be written and is not lowered yet, each with its reason.
//
// RUN: mla-opt %s --mla-tile --split-input-file --verify-diagnostics

func.func @v(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>, %v: memref<?x32x1x64xbf16>,
             %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
             %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op clause v (values that are not a view of k) is not lowered yet}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    v(%v : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @indices(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %idx: memref<?x64xi32>, %scale: f32,
                   %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op clause indices (sparse attention) is not lowered yet}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    indices(%idx : memref<?x64xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @topk_lens(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>,
                     %table: memref<?x?xi32>, %lens: memref<?xi32>, %topk: memref<?xi32>,
                     %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op clause topk_lens (sparse attention) is not lowered yet}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    topk_lens(%topk : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @sink(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>, %table: memref<?x?xi32>,
                %lens: memref<?xi32>, %sink: memref<16xf32>, %scale: f32,
                %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op clause sink is not lowered yet}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    sink(%sink : memref<16xf32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @k_scales(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %ks: memref<?x32xf32>, %scale: f32,
                    %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op clause k_scales is not lowered yet}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    k_scales(%ks : memref<?x32xf32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @fp8_q(%q: memref<?x?x16x64xf8E4M3FN>, %k: memref<?x32x1x64xbf16>,
                 %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                 %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op 'q' of f8E4M3FN is not lowered yet: bf16, f16 and f32 are}}
  mla.decode
    q(%q : memref<?x?x16x64xf8E4M3FN>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @fp8_k(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xf8E4M3FN>,
                 %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                 %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op 'k' of f8E4M3FN is not lowered yet: bf16, f16 and f32 are}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xf8E4M3FN>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @fp8_out(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x1x64xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xf8E4M3FN>) {
  // expected-error @+1 {{'mla.decode' op 'out' of f8E4M3FN is not lowered yet: bf16, f16 and f32 are}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x1x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf8E4M3FN>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

// Problems of the function, not of the feature.

func.func @no_schedule(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                       %scale: f32, %out: memref<?x?x16x64xf32>) {
  // expected-error @+1 {{'mla.decode' op requires a schedule (see mla-select-schedule), but got none}}
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
  return
}

// -----

func.func @two(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
               %scale: f32, %out: memref<?x?x16x64xf32>) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  // expected-error @+1 {{'mla.decode' op requires to be the only mla.decode of a function of one block}}
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

func.func @blocks(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                  %scale: f32, %out: memref<?x?x16x64xf32>) {
  // expected-error @+1 {{'mla.decode' op requires to be the only mla.decode of a function of one block}}
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @+1 {{requires arguments of different names, but arguments 0 and 5 are both 'q'}}
func.func @names(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                 %scale: f32, %out: memref<?x?x16x64xf32>, %other: f32 {mla.name = "q"}) {
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}

// -----

// The runtime sizes the workspace by the split count that it passes.

func.func @constant_splits(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                           %scale: f32, %out: memref<?x?x16x64xf32>) {
  // expected-note @+1 {{this one is not}}
  %splits = arith.constant 7 : i32
  // expected-error @+1 {{requires every operand but 'scale' to be an argument of the function}}
  mla.decode
    q(%q : memref<?x?x16x64xf32>)
    k(%k : memref<?x?x1x64xf32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    num_splits(%splits : i32)
    out(%out : memref<?x?x16x64xf32>)
    head_dim_v = 64
    schedule = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 8, qk = 8x2, pv = 8x2, kv = direct>
  return
}
