// One error for each branch of mla.decode's parser and verifier, by constraint.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// (decode_c1) required clauses, once each, and the parser
//===----------------------------------------------------------------------===//

func.func @no_q(%k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c1) requires a clause 'q(...)'}}
  mla.decode
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_k(%q: memref<?x?x16x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c1) requires a clause 'k(...)'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_seq_lens(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                       %table: memref<?x?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c1) requires a clause 'seq_lens(...)'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_scale(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c1) requires a clause 'scale(...)'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_out(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32) {
  // expected-error @+1 {{(decode_c1) requires a clause 'out(...)'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    head_dim_v = 64
  return
}

// -----

func.func @q_twice(%q: memref<?x?x16x64xbf16>) {
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    // expected-error @+1 {{clause 'q' is given twice}}
    q(%q : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @mask_twice() {
  mla.decode
    mask(#mla.causal)
    // expected-error @+1 {{clause 'mask' is given twice}}
    mask(#mla.causal)
    head_dim_v = 64
  return
}

// -----

func.func @csr_twice(%p: memref<?xi32>) {
  mla.decode
    csr(%p : memref<?xi32>, %p : memref<?xi32>)
    // expected-error @+1 {{clause 'csr' is given twice}}
    csr(%p : memref<?xi32>, %p : memref<?xi32>)
    head_dim_v = 64
  return
}

// -----

func.func @unknown_clause(%q: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c1) requires a clause 'k(...)'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    keys(%q : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @csr_one(%p: memref<?xi32>) {
  mla.decode
    // expected-error @+1 {{expected ','}}
    csr(%p : memref<?xi32>)
    head_dim_v = 64
  return
}

// -----

func.func @too_many(%q: memref<?x?x16x64xbf16>) {
  mla.decode
    // expected-error @+1 {{expected ')'}}
    q(%q : memref<?x?x16x64xbf16>, %q : memref<?x?x16x64xbf16>, %q : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @not_a_mask(%q: memref<?x?x16x64xbf16>) {
  mla.decode
    // expected-error @+1 {{invalid kind of attribute specified}}
    mask("causal")
    head_dim_v = 64
  return
}

// -----

func.func @no_head_dim_v(%q: memref<?x?x16x64xbf16>, %k: memref<?x?x2x64xbf16>, %lens: memref<?xi32>,
                         %scale: f32) {
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x?x2x64xbf16>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%q : memref<?x?x16x64xbf16>)
    // expected-error @+1 {{expected 'head_dim_v'}}
    score {}
  return
}

// -----

func.func @head_dim_v_text(%q: memref<?x?x16x64xbf16>, %k: memref<?x?x2x64xbf16>, %lens: memref<?xi32>,
                           %scale: f32) {
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x?x2x64xbf16>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%q : memref<?x?x16x64xbf16>)
    // expected-error @+1 {{expected integer value}}
    head_dim_v = wide
  return
}

// -----

func.func @not_a_schedule(%q: memref<?x?x16x64xbf16>, %k: memref<?x?x2x64xbf16>, %lens: memref<?xi32>,
                          %scale: f32) {
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x?x2x64xbf16>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    out(%q : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    // expected-error @+1 {{invalid kind of attribute specified}}
    schedule = #mla.causal
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c2) ranks and element types
//===----------------------------------------------------------------------===//

func.func @q_rank(%q: memref<?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'q' to have rank 4, but got 'memref<?x16x64xbf16>'}}
  mla.decode
    q(%q : memref<?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rank_ragged(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<?xi32>, %offs: memref<?xi32>,
                         %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'q' to have rank 3, but got 'memref<?x?x16x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rope_rank(%q: memref<?x?x16x64xbf16>, %qr: memref<?x16x8xbf16>,
                       %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'q_rope' to have rank 4, but got 'memref<?x16x8xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'k' to have rank 4, but got 'memref<?x2x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_rope_rank(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                       %k: memref<?x32x2x64xbf16>, %kr: memref<?x2x8xbf16>, %table: memref<?x?xi32>,
                       %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'k_rope' to have rank 4, but got 'memref<?x2x8xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @v_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %v: memref<?x2x64xbf16>,
                  %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                  %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'v' to have rank 4, but got 'memref<?x2x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    v(%v : memref<?x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @table_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?xi32>,
                      %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'table' to have rank 2, but got 'memref<?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @indptr_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %ptr: memref<?x?xi32>,
                       %idx: memref<?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'kv_indptr' to have rank 1, but got 'memref<?x?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    csr(%ptr : memref<?x?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @kv_indices_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                           %ptr: memref<?xi32>, %idx: memref<?x?xi32>, %lens: memref<?xi32>,
                           %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'kv_indices' to have rank 1, but got 'memref<?x?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    csr(%ptr : memref<?xi32>, %idx : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @table_rows_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                           %table: memref<?x?xi32>, %rows: memref<?x?xi32>, %lens: memref<?xi32>,
                           %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'table_rows' to have rank 1, but got 'memref<?x?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    table_rows(%rows : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @seq_lens_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<i32>, %scale: f32,
                         %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'seq_lens' to have rank 1, but got 'memref<i32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<i32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_offsets_rank(%q: memref<?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                          %table: memref<?x?xi32>, %lens: memref<?xi32>, %offs: memref<?x1xi32>,
                          %scale: f32, %out: memref<?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'q_offsets' to have rank 1, but got 'memref<?x1xi32>'}}
  mla.decode
    q(%q : memref<?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    q_offsets(%offs : memref<?x1xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @indices_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %idx: memref<?xi32>,
                        %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'indices' to have rank 2, but got 'memref<?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    indices(%idx : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @topk_lens_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                          %table: memref<?x?xi32>, %lens: memref<?xi32>, %topk: memref<?x?xi32>,
                          %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'topk_lens' to have rank 1, but got 'memref<?x?xi32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    topk_lens(%topk : memref<?x?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @sink_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %sink: memref<1x16xf32>, %scale: f32,
                     %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'sink' to have rank 1, but got 'memref<1x16xf32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    sink(%sink : memref<1x16xf32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_scales_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<?xi32>, %ks: memref<?xf32>,
                         %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'k_scales' to have rank 2, but got 'memref<?xf32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    k_scales(%ks : memref<?xf32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @out_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'out' to have rank 4, but got 'memref<?x16x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @lse_rank(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>,
                    %lse: memref<?x16xf32>) {
  // expected-error @+1 {{(decode_c2) requires 'lse' to have rank 3, but got 'memref<?x16xf32>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    lse(%lse : memref<?x16xf32>)
    head_dim_v = 64
  return
}

// -----

func.func @q_type(%q: memref<?x?x16x64xf64>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{'mla.decode' op operand #0 must be memref of bfloat16 type or 16-bit float or 32-bit float or f8E4M3FN type values, but got 'memref<?x?x16x64xf64>'}}
  mla.decode
    q(%q : memref<?x?x16x64xf64>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @lens_type(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi8>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{must be memref of 32-bit signless integer or 64-bit signless integer values, but got 'memref<?xi8>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi8>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @scale_type(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                      %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: bf16,
                      %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{must be 32-bit float, but got 'bf16'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : bf16)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @num_splits_type(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                           %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %n: index,
                           %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{must be 32-bit signless integer, but got 'index'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    num_splits(%n : index)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @lse_type(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>,
                    %lse: memref<?x?x16xbf16>) {
  // expected-error @+1 {{must be memref of 32-bit float values, but got 'memref<?x?x16xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    lse(%lse : memref<?x?x16xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rope_type(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xf16>,
                       %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'q_rope' to have the element type of its latent part, but got 'f16' and 'bf16'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_rope_type(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                       %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c2) requires 'k_rope' to have the element type of its latent part, but got 'f16' and 'bf16'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c3) head counts and widths
//===----------------------------------------------------------------------===//

func.func @dynamic_heads(%q: memref<?x?x?x64xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                         %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 2 of 'q' to be static and positive, but got 'memref<?x?x?x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x?x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @dynamic_width(%q: memref<?x?x16x?xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                         %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 3 of 'q' to be static and positive, but got 'memref<?x?x16x?xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x?xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_kv_heads(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x0x64xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 2 of 'k' to be static and positive, but got 'memref<?x32x0x64xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x0x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @dynamic_k_width(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x?xbf16>,
                           %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                           %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 3 of 'k' to be static and positive, but got 'memref<?x32x2x?xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x?xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @heads_divide(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x3x64xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires the KV heads of 'k' to divide the heads of 'q', but got 3 and 16}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x3x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @dynamic_rope(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                        %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x?xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 3 of 'k_rope' to be static and positive, but got 'memref<?x32x2x?xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x?xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @no_rope(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                   %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x0xbf16>, %table: memref<?x?xi32>,
                   %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 3 of 'k_rope' to be static and positive, but got 'memref<?x32x2x0xbf16>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x0xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rope_heads(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x8x8xbf16>,
                        %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 2 of 'q_rope' to be 16, but got 8}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x8x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rope_dynamic_heads(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x?x8xbf16>,
                                %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                                %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                                %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 2 of 'q_rope' to be 16, but got a dynamic size}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x?x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_rope_heads(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                        %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x1x8xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c3) requires dimension 2 of 'k_rope' to be 2, but got 1}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x1x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c4) the widths of q and k
//===----------------------------------------------------------------------===//

func.func @widths(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x72xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c4) requires dimension 3 of 'q' to be 72, but got 64}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x72xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @rope_widths(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                       %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x16xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c4) requires dimension 3 of 'q_rope' to be 16, but got 8}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x16xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @only_q_rope(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                       %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                       %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c4) requires q and k to have the same parts, but only 'q' has a rope part}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @only_k_rope(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                       %kr: memref<?x32x2x8xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                       %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c4) requires q and k to have the same parts, but only 'k' has a rope part}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c5) multiples of 8, head_dim_v within k
//===----------------------------------------------------------------------===//

func.func @k_width_8(%q: memref<?x?x16x60xbf16>, %k: memref<?x32x2x60xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x56xbf16>) {
  // expected-error @+1 {{(decode_c5) requires the width of 'k' to be a multiple of 8, but got 60}}
  mla.decode
    q(%q : memref<?x?x16x60xbf16>)
    k(%k : memref<?x32x2x60xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x56xbf16>)
    head_dim_v = 56
  return
}

// -----

func.func @rope_width_8(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x4xbf16>,
                        %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x4xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c5) requires the width of 'k_rope' to be a multiple of 8, but got 4}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x4xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x4xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @head_dim_v_8(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c5) requires the width of 'head_dim_v' to be a multiple of 8, but got 60}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 60
  return
}

// -----

func.func @head_dim_v_0(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c5) requires 0 < head_dim_v <= 64 (the width of k), but got 0}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 0
  return
}

// -----

func.func @head_dim_v_negative(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                               %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                               %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c5) requires 0 < head_dim_v <= 64 (the width of k), but got -8}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = -8
  return
}

// -----

func.func @head_dim_v_wide(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                           %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                           %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c5) requires 0 < head_dim_v <= 64 (the width of k), but got 72}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 72
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c6) values within the latent part
//===----------------------------------------------------------------------===//

func.func @values_in_rope(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                          %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                          %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                          %out: memref<?x?x16x72xbf16>) {
  // expected-error @+1 {{(decode_c6) requires head_dim_v <= 64 (the width of k's first part), but got 72}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x72xbf16>)
    head_dim_v = 72
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c7) one description of the pages
//===----------------------------------------------------------------------===//

func.func @table_and_csr(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                         %table: memref<?x?xi32>, %ptr: memref<?xi32>, %idx: memref<?xi32>,
                         %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c7) requires one of 'table' and 'csr', but got both}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    csr(%ptr : memref<?xi32>, %idx : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @table_rows_alone(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                            %rows: memref<?xi32>, %lens: memref<?xi32>, %scale: f32,
                            %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c7) requires 'table' or 'csr' with 'table_rows'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table_rows(%rows : memref<?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c8) the shapes of out and lse
//===----------------------------------------------------------------------===//

func.func @out_heads(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x8x64xbf16>) {
  // expected-error @+1 {{(decode_c8) requires dimension 2 of 'out' to be 16, but got 8}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x8x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @out_width(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c8) requires dimension 3 of 'out' to be 32, but got 64}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 32
  return
}

// -----

func.func @out_dynamic_width(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                             %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                             %out: memref<?x?x16x?xbf16>) {
  // expected-error @+1 {{(decode_c8) requires dimension 3 of 'out' to be 64, but got a dynamic size}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x?xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @lse_heads(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>,
                     %lse: memref<?x?x2xf32>) {
  // expected-error @+1 {{(decode_c8) requires dimension 2 of 'lse' to be 16, but got 2}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    lse(%lse : memref<?x?x2xf32>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c9) the mask's parameters
//===----------------------------------------------------------------------===//

func.func @mask_params(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %w: i32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c9) requires 0 parameters of mask #mla.causal (), but got 1}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal, %w : i32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @mask_params_type(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                            %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32, %w: f32,
                            %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{must be variadic of 32-bit signless integer, but got 'f32'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal, %w : f32)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c10) the score region
//===----------------------------------------------------------------------===//

func.func @score_few(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that takes (i32, i32, i32, i32, f32): request, head, query position, key position, score; but got ('i32', 'f32')}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %s: f32):
      mla.yield %s : f32
    }
  return
}

// -----

func.func @score_types(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that takes (i32, i32, i32, i32, f32): request, head, query position, key position, score; but got ('index', 'i32', 'i32', 'i32', 'f32')}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: index, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      mla.yield %s : f32
    }
  return
}

// -----

func.func @score_yields_nothing(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                                %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                                %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that ends in mla.yield of one f32, the new score}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      mla.yield
    }
  return
}

// -----

func.func @score_yields_two(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                            %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                            %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that ends in mla.yield of one f32, the new score}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      mla.yield %s, %s : f32, f32
    }
  return
}

// -----

func.func @score_yields_i32(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                            %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                            %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that ends in mla.yield of one f32, the new score}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      mla.yield %b : i32
    }
  return
}

// -----

func.func @score_no_yield(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                          %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                          %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires a region that ends in mla.yield of one f32, the new score}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
    }
  return
}

// -----

func.func @score_store(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                       %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                       %out: memref<?x?x16x64xbf16>, %buf: memref<?xf32>) {
  // expected-error @+1 {{(decode_c10) requires score code of elementwise speculatable ops and memref.load, but got 'memref.store'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %c0 = arith.constant 0 : index
      // expected-note @+1 {{this op}}
      memref.store %s, %buf[%c0] : memref<?xf32>
      mla.yield %s : f32
    }
  return
}

// -----

func.func @score_division(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                          %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                          %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires score code of elementwise speculatable ops and memref.load, but got 'arith.divsi'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      // expected-note @+1 {{this op}}
      %d = arith.divsi %qpos, %kpos : i32
      %x = arith.sitofp %d : i32 to f32
      mla.yield %x : f32
    }
  return
}

// -----

func.func @score_region(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                        %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                        %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires score code of elementwise speculatable ops and memref.load, but got 'scf.if'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %c = arith.cmpi sle, %kpos, %qpos : i32
      // expected-note @+1 {{this op}}
      %x = scf.if %c -> f32 {
        scf.yield %s : f32
      } else {
        scf.yield %s : f32
      }
      mla.yield %x : f32
    }
  return
}

// -----

func.func @score_call(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                      %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                      %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires score code of elementwise speculatable ops and memref.load, but got 'func.call'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      // expected-note @+1 {{this op}}
      %x = func.call @f(%s) : (f32) -> f32
      mla.yield %x : f32
    }
  return
}

// -----

func.func @score_dim(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c10) requires score code of elementwise speculatable ops and memref.load, but got 'memref.dim'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
    score {
    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %s: f32):
      %c0 = arith.constant 0 : index
      // expected-note @+1 {{this op}}
      %x = memref.dim %lens, %c0 : memref<?xi32>
      mla.yield %s : f32
    }
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c11) contiguous rows
//===----------------------------------------------------------------------===//

func.func @q_stride(%q: memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>, %k: memref<?x32x2x64xbf16>,
                    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                    %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'q' to have stride 1, but got 'memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @out_stride(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                      %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                      %out: memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'out' to have stride 1, but got 'memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16, strided<[?, ?, ?, 2]>>)
    head_dim_v = 64
  return
}

// -----

func.func @k_stride(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>,
                    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                    %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'k' to have stride 1, but got 'memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @v_stride(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>,
                    %v: memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>, %table: memref<?x?xi32>,
                    %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'v' to have stride 1, but got 'memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    v(%v : memref<?x32x2x64xbf16, strided<[?, ?, ?, ?]>>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @q_rope_stride(%q: memref<?x?x16x64xbf16>,
                         %qr: memref<?x?x16x8xbf16, strided<[?, ?, ?, 2]>>,
                         %k: memref<?x32x2x64xbf16>, %kr: memref<?x32x2x8xbf16>,
                         %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
                         %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'q_rope' to have stride 1, but got 'memref<?x?x16x8xbf16, strided<[?, ?, ?, 2]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16, strided<[?, ?, ?, 2]>>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

func.func @k_rope_stride(%q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>,
                         %k: memref<?x32x2x64xbf16>,
                         %kr: memref<?x32x2x8xbf16, strided<[?, ?, ?, 2]>>, %table: memref<?x?xi32>,
                         %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c11) requires the last dimension of 'k_rope' to have stride 1, but got 'memref<?x32x2x8xbf16, strided<[?, ?, ?, 2]>>'}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>)
    k(%k : memref<?x32x2x64xbf16>, %kr : memref<?x32x2x8xbf16, strided<[?, ?, ?, 2]>>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c12) page size
//===----------------------------------------------------------------------===//

func.func @page_size(%q: memref<?x?x16x64xbf16>, %k: memref<?x0x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(decode_c12) requires a positive page size, but got 0}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x0x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    head_dim_v = 64
  return
}

// -----

//===----------------------------------------------------------------------===//
// (decode_c13) lse_scale and lse_empty
//===----------------------------------------------------------------------===//

func.func @lse_empty(%q: memref<?x?x16x64xbf16>, %k: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>,
                     %lens: memref<?xi32>, %scale: f32, %out: memref<?x?x16x64xbf16>,
                     %lse: memref<?x?x16xf32>) {
  // expected-error @+1 {{(decode_c13) requires a scale and an empty value of 'lse', but got the scale alone}}
  mla.decode
    q(%q : memref<?x?x16x64xbf16>)
    k(%k : memref<?x32x2x64xbf16>)
    table(%table : memref<?x?xi32>)
    seq_lens(%lens : memref<?xi32>)
    scale(%scale : f32)
    mask(#mla.causal)
    out(%out : memref<?x?x16x64xbf16>)
    lse(%lse : memref<?x?x16xf32>, %scale : f32)
    head_dim_v = 64
  return
}
