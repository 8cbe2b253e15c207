// One error for each branch of the tile ops' verifiers, by constraint.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// mla.plan
//===----------------------------------------------------------------------===//

func.func @plan_no_queries(%lens: memref<?xi32>, %workers: index) {
  // expected-error @+1 {{'mla.plan' op (plan_c1) requires exactly one of 'queries' and 'q_offsets'}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_both(%lens: memref<?xi32>, %n: index, %offs: memref<?xi32>, %workers: index) {
  // expected-error @+1 {{(plan_c1) requires exactly one of 'queries' and 'q_offsets'}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) q_offsets(%offs : memref<?xi32>)
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_lens_rank(%lens: memref<?x?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c2) requires 'seq_lens' to have rank 1, but got 'memref<?x?xi32>'}}
  %plan = mla.plan seq_lens(%lens : memref<?x?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_offsets_rank(%lens: memref<?xi32>, %offs: memref<i32>, %workers: index) {
  // expected-error @+1 {{(plan_c2) requires 'q_offsets' to have rank 1, but got 'memref<i32>'}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) q_offsets(%offs : memref<i32>)
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_heads(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires heads to be a positive multiple of kv_heads, but got 16 and 3}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 3
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_no_heads(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires heads to be a positive multiple of kv_heads, but got 0 and 1}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 0 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_no_kv_heads(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires heads to be a positive multiple of kv_heads, but got 16 and 0}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 0
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_rows(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires positive tile rows, but got 0}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 0 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_keys(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires positive tile keys, but got -64}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x -64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_split_tiles(%lens: memref<?xi32>, %n: index, %workers: index) {
  // expected-error @+1 {{(plan_c3) requires positive split_tiles, but got 0}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.causal) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 0
  return
}

// -----

func.func @plan_mask(%lens: memref<?xi32>, %n: index, %workers: index, %p: i32) {
  // expected-error @+1 {{(plan_c4) requires 0 parameters of mask #mla.none (), but got 1}}
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) 
    workers(%workers) mask(#mla.none, %p) heads = 16 kv_heads = 1
    tile = 16 x 64 split = balanced split_tiles = 16
  return
}

// -----

func.func @plan_split(%lens: memref<?xi32>, %n: index, %workers: index) {
  %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n)
    workers(%workers) mask(#mla.none) heads = 1 kv_heads = 1 tile = 1 x 16
    // expected-error @+2 {{expected one of [whole, balanced, row_local]}}
    // expected-error @+1 {{invalid value for property split}}
    split = half split_tiles = 16
  return
}

// -----

//===----------------------------------------------------------------------===//
// mla.for_work, mla.for_split, mla.yield
//===----------------------------------------------------------------------===//

func.func @for_work_few(%plan: !mla.plan, %w: index) {
  // expected-error @+1 {{(for_work_c1) requires a region that takes (!mla.item, index, index, i1), but got ('!mla.item', 'index', 'index')}}
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index):
    mla.yield
  }
  return
}

// -----

func.func @for_work_types(%plan: !mla.plan, %w: index) {
  // expected-error @+1 {{(for_work_c1) requires a region that takes (!mla.item, index, index, i1), but got ('!mla.item', 'index', 'i32', 'i1')}}
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: i32, %whole: i1):
    mla.yield
  }
  return
}

// -----

func.func @for_work_none(%plan: !mla.plan, %w: index) {
  // expected-error @+1 {{(for_work_c1) requires a region that takes (!mla.item, index, index, i1), but got ()}}
  mla.for_work %plan worker(%w) {
  }
  return
}

// -----

func.func @for_split_few(%plan: !mla.plan, %w: index) {
  // expected-error @+1 {{(for_split_c1) requires a region that takes (!mla.item, index), but got ('!mla.item')}}
  mla.for_split %plan worker(%w) {
  ^bb0(%item: !mla.item):
    mla.yield
  }
  return
}

// -----

func.func @for_split_types(%plan: !mla.plan, %w: index) {
  // expected-error @+1 {{(for_split_c1) requires a region that takes (!mla.item, index), but got ('!mla.item', 'i32')}}
  mla.for_split %plan worker(%w) {
  ^bb0(%item: !mla.item, %pieces: i32):
    mla.yield
  }
  return
}

// -----

func.func @yield_parent(%x: f32) {
  // expected-error @+1 {{'mla.yield' op expects parent op to be one of 'mla.decode, mla.score, mla.for_work, mla.for_split'}}
  mla.yield %x : f32
}

// -----

//===----------------------------------------------------------------------===//
// mla.load_q, mla.load_kv
//===----------------------------------------------------------------------===//

func.func @load_q_rank(%item: !mla.item, %q: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(load_q_c1) requires a result of rank 2, but got 'tensor<64xbf16>'}}
  %0 = mla.load_q %item from(%q : memref<?x?x16x64xbf16>) : tensor<64xbf16>
  return
}

// -----

func.func @load_q_width(%item: !mla.item, %q: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(load_q_c1) requires a result of 64 columns of 'bf16', but got 'tensor<16x72xbf16>'}}
  %0 = mla.load_q %item from(%q : memref<?x?x16x64xbf16>) : tensor<16x72xbf16>
  return
}

// -----

func.func @load_q_parts(%item: !mla.item, %q: memref<?x?x16x64xbf16>, %qr: memref<?x?x16x8xbf16>) {
  // expected-error @+1 {{(load_q_c1) requires a result of 72 columns of 'bf16', but got 'tensor<16x64xbf16>'}}
  %0 = mla.load_q %item from(%q : memref<?x?x16x64xbf16>, %qr : memref<?x?x16x8xbf16>) : tensor<16x64xbf16>
  return
}

// -----

func.func @load_q_type(%item: !mla.item, %q: memref<?x?x16x64xbf16>) {
  // expected-error @+1 {{(load_q_c1) requires a result of 64 columns of 'bf16', but got 'tensor<16x64xf32>'}}
  %0 = mla.load_q %item from(%q : memref<?x?x16x64xbf16>) : tensor<16x64xf32>
  return
}

// -----

func.func @load_kv_width(%item: !mla.item, %t: index, %k: memref<?x64x1x512xbf16>) {
  // expected-error @+1 {{(load_kv_c1) requires a tile of width 512 of 'bf16', but got '!mla.kv_tile<64x576xbf16, v = 512>'}}
  %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>) : !mla.kv_tile<64x576xbf16, v = 512>
  return
}

// -----

func.func @load_kv_parts(%item: !mla.item, %t: index, %k: memref<?x64x1x512xbf16>,
                         %kr: memref<?x64x1x64xbf16>) {
  // expected-error @+1 {{(load_kv_c1) requires a tile of width 576 of 'bf16', but got '!mla.kv_tile<64x512xbf16, v = 512>'}}
  %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>, %kr : memref<?x64x1x64xbf16>) : !mla.kv_tile<64x512xbf16, v = 512>
  return
}

// -----

func.func @load_kv_type(%item: !mla.item, %t: index, %k: memref<?x64x1x512xbf16>) {
  // expected-error @+1 {{(load_kv_c1) requires a tile of width 512 of 'bf16', but got '!mla.kv_tile<64x512xf16, v = 512>'}}
  %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>) : !mla.kv_tile<64x512xf16, v = 512>
  return
}

// -----

func.func @load_kv_both(%item: !mla.item, %t: index, %k: memref<?x64x1x512xbf16>,
                        %table: memref<?x?xi32>, %p: memref<?xi32>) {
  // expected-error @+1 {{(load_kv_c2) requires one of 'table' and 'csr', but got both}}
  %0 = mla.load_kv %item[%t] from(%k : memref<?x64x1x512xbf16>)
    table(%table : memref<?x?xi32>) csr(%p : memref<?xi32>, %p : memref<?xi32>) : !mla.kv_tile<64x512xbf16, v = 512>
  return
}

// -----

//===----------------------------------------------------------------------===//
// mla.init, mla.qk, mla.score, mla.mask
//===----------------------------------------------------------------------===//

func.func @init_rank() {
  // expected-error @+1 {{(init_c1) requires O of rank 2, but got 'tensor<16xf32>'}}
  %o, %m, %l = mla.init : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @init_max() {
  // expected-error @+1 {{(init_c1) requires row maximum of shape 16, but got 'tensor<8xf32>'}}
  %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<8xf32>, tensor<16xf32>
  return
}

// -----

func.func @init_sum() {
  // expected-error @+1 {{(init_c1) requires row sum of shape 16, but got 'tensor<16x1xf32>'}}
  %o, %m, %l = mla.init : tensor<16x64xf32>, tensor<16xf32>, tensor<16x1xf32>
  return
}

// -----

func.func @init_type() {
  // expected-error @+1 {{'mla.init' op result #0 must be statically shaped tensor of 32-bit float values, but got 'tensor<16x64xbf16>'}}
  %o, %m, %l = mla.init : tensor<16x64xbf16>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @init_dynamic() {
  // expected-error @+1 {{'mla.init' op result #0 must be statically shaped tensor of 32-bit float values, but got 'tensor<?x64xf32>'}}
  %o, %m, %l = mla.init : tensor<?x64xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @qk_width(%q: tensor<16x512xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
  // expected-error @+1 {{(qk_c1) requires q of shape 16x576, but got 'tensor<16x512xbf16>'}}
  %s = mla.qk %q, %kt : tensor<16x512xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
  return
}

// -----

func.func @qk_rank(%q: tensor<16xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
  // expected-error @+1 {{(qk_c1) requires q of rank 2, but got 'tensor<16xbf16>'}}
  %s = mla.qk %q, %kt : tensor<16xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
  return
}

// -----

func.func @qk_result(%q: tensor<16x576xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
  // expected-error @+1 {{(qk_c1) requires a result of shape 16x64, but got 'tensor<16x32xf32>'}}
  %s = mla.qk %q, %kt : tensor<16x576xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x32xf32>
  return
}

// -----

func.func @qk_result_type(%q: tensor<16x576xbf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
  // expected-error @+1 {{result #0 must be statically shaped tensor of 32-bit float values, but got 'tensor<16x64xbf16>'}}
  %s = mla.qk %q, %kt : tensor<16x576xbf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xbf16>
  return
}

// -----

func.func @score_rank(%s: tensor<16xf32>, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(score_c1) requires scores of rank 2, but got 'tensor<16xf32>'}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    mla.yield %x : f32
  } : tensor<16xf32>
  return
}

// -----

func.func @score_arguments(%s: tensor<16x64xf32>, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(score_c1) requires a region that takes (i32, i32, i32, i32, f32): request, head, query position, key position, score; but got ('f32')}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%x: f32):
    mla.yield %x : f32
  } : tensor<16x64xf32>
  return
}

// -----

func.func @score_yields_nothing(%s: tensor<16x64xf32>, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(score_c1) requires a region that ends in mla.yield of one f32, the new score}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    mla.yield
  } : tensor<16x64xf32>
  return
}

// -----

func.func @score_yields_i32(%s: tensor<16x64xf32>, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(score_c1) requires a region that ends in mla.yield of one f32, the new score}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    mla.yield %b : i32
  } : tensor<16x64xf32>
  return
}

// -----

func.func @score_store(%s: tensor<16x64xf32>, %item: !mla.item, %t: index, %buf: memref<?xf32>) {
  // expected-error @+1 {{(score_c2) requires score code of elementwise speculatable ops and memref.load, but got 'memref.store'}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    // expected-note @+1 {{this op}}
    memref.store %x, %buf[%t] : memref<?xf32>
    mla.yield %x : f32
  } : tensor<16x64xf32>
  return
}

// -----

func.func @score_division(%s: tensor<16x64xf32>, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(score_c2) requires score code of elementwise speculatable ops and memref.load, but got 'arith.divui'}}
  %0 = mla.score %s at %item[%t] {
  ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
    // expected-note @+1 {{this op}}
    %d = arith.divui %kpos, %b : i32
    %y = arith.uitofp %d : i32 to f32
    mla.yield %y : f32
  } : tensor<16x64xf32>
  return
}

// -----

func.func @mask_rank(%s: tensor<16xf32>, %plan: !mla.plan, %item: !mla.item, %t: index) {
  // expected-error @+1 {{(mask_c1) requires scores of rank 2, but got 'tensor<16xf32>'}}
  %0 = mla.mask %s by %plan at %item[%t] : tensor<16xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// mla.softmax_step, mla.pv, mla.finalize
//===----------------------------------------------------------------------===//

func.func @softmax_rank(%s: tensor<64xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
  // expected-error @+1 {{(softmax_step_c1) requires scores of rank 2, but got 'tensor<64xf32>'}}
  %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<64xf32>, tensor<16xf32> -> tensor<64xf32>
  return
}

// -----

func.func @softmax_p(%s: tensor<16x64xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
  // expected-error @+1 {{(softmax_step_c1) requires p of shape 16x64, but got 'tensor<16x32xf32>'}}
  %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<16x64xf32>, tensor<16xf32> -> tensor<16x32xf32>
  return
}

// -----

func.func @softmax_rows(%s: tensor<16x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error @+1 {{(softmax_step_c1) requires row state of shape 16, but got 'tensor<8xf32>'}}
  %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<16x64xf32>, tensor<8xf32> -> tensor<16x64xf32>
  return
}

// -----

func.func @pv_rank(%p: tensor<64xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                   %o: tensor<16x512xf32>, %a: tensor<16xf32>) {
  // expected-error @+1 {{(pv_c1) requires p of rank 2, but got 'tensor<64xf32>'}}
  %0 = mla.pv %p, %kt, %o rescale(%a)
    : tensor<64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @pv_keys(%p: tensor<16x32xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                   %o: tensor<16x512xf32>, %a: tensor<16xf32>) {
  // expected-error @+1 {{(pv_c1) requires p of shape 16x64, but got 'tensor<16x32xf32>'}}
  %0 = mla.pv %p, %kt, %o rescale(%a)
    : tensor<16x32xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @pv_width(%p: tensor<16x64xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                    %o: tensor<16x576xf32>, %a: tensor<16xf32>) {
  // expected-error @+1 {{(pv_c1) requires o of shape 16x512, but got 'tensor<16x576xf32>'}}
  %0 = mla.pv %p, %kt, %o rescale(%a)
    : tensor<16x64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x576xf32>, tensor<16xf32>
  return
}

// -----

func.func @pv_rows(%p: tensor<16x64xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                   %o: tensor<8x512xf32>, %a: tensor<16xf32>) {
  // expected-error @+1 {{(pv_c1) requires o of shape 16x512, but got 'tensor<8x512xf32>'}}
  %0 = mla.pv %p, %kt, %o rescale(%a)
    : tensor<16x64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<8x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @pv_alpha(%p: tensor<16x64xf32>, %kt: !mla.kv_tile<64x576xbf16, v = 512>,
                    %o: tensor<16x512xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{(pv_c1) requires alpha of shape 16, but got 'tensor<8xf32>'}}
  %0 = mla.pv %p, %kt, %o rescale(%a)
    : tensor<16x64xf32>, !mla.kv_tile<64x576xbf16, v = 512>, tensor<16x512xf32>, tensor<8xf32>
  return
}

// -----

func.func @finalize_rank(%o: tensor<16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
  // expected-error @+1 {{(finalize_c1) requires O of rank 2, but got 'tensor<16xf32>'}}
  %out, %lse = mla.finalize %o, %m, %l : tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @finalize_rows(%o: tensor<16x512xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) {
  // expected-error @+1 {{(finalize_c1) requires row state of shape 16, but got 'tensor<8xf32>'}}
  %out, %lse = mla.finalize %o, %m, %l : tensor<16x512xf32>, tensor<8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// mla.combine, mla.store_partial, mla.store
//===----------------------------------------------------------------------===//

func.func @combine_rank(%item: !mla.item, %n: index, %po: memref<?x16x512xf32>,
                        %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(combine_c1) requires an lse per row, but got 'tensor<16xf32>' and 'tensor<16xf32>'}}
  %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
    : tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @combine_lse(%item: !mla.item, %n: index, %po: memref<?x16x512xf32>,
                       %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(combine_c1) requires an lse per row, but got 'tensor<16x512xf32>' and 'tensor<8xf32>'}}
  %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<8xf32>
  return
}

// -----

func.func @combine_out_slots(%item: !mla.item, %n: index, %po: memref<?x8x512xf32>,
                             %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(combine_c1) requires a buffer of slots of 'tensor<16x512xf32>', but got 'memref<?x8x512xf32>'}}
  %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<?x8x512xf32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @combine_lse_slots(%item: !mla.item, %n: index, %po: memref<?x16x512xf32>,
                             %pl: memref<?x16x1xf32>) {
  // expected-error @+1 {{(combine_c1) requires a buffer of slots of 'tensor<16xf32>', but got 'memref<?x16x1xf32>'}}
  %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<?x16x512xf32>, memref<?x16x1xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @combine_scalar(%item: !mla.item, %n: index, %po: memref<f32>, %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(combine_c1) requires a buffer of slots of 'tensor<16x512xf32>', but got 'memref<f32>'}}
  %out, %lse = mla.combine %item pieces(%n) from(%po, %pl : memref<f32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_partial_rank(%o: tensor<16xf32>, %l: tensor<16xf32>, %item: !mla.item,
                              %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(store_partial_c1) requires an lse per row, but got 'tensor<16xf32>' and 'tensor<16xf32>'}}
  mla.store_partial %o, %l at %item to(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
    : tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_partial_lse(%o: tensor<16x512xf32>, %l: tensor<8xf32>, %item: !mla.item,
                             %po: memref<?x16x512xf32>, %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(store_partial_c1) requires an lse per row, but got 'tensor<16x512xf32>' and 'tensor<8xf32>'}}
  mla.store_partial %o, %l at %item to(%po, %pl : memref<?x16x512xf32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<8xf32>
  return
}

// -----

func.func @store_partial_out_slots(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                                   %po: memref<?x8x512xf32>, %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(store_partial_c1) requires a buffer of slots of 'tensor<16x512xf32>', but got 'memref<?x8x512xf32>'}}
  mla.store_partial %o, %l at %item to(%po, %pl : memref<?x8x512xf32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_partial_lse_slots(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                                   %po: memref<?x16x512xf32>, %pl: memref<?x16x1xf32>) {
  // expected-error @+1 {{(store_partial_c1) requires a buffer of slots of 'tensor<16xf32>', but got 'memref<?x16x1xf32>'}}
  mla.store_partial %o, %l at %item to(%po, %pl : memref<?x16x512xf32>, memref<?x16x1xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_partial_scalar(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                                %po: memref<f32>, %pl: memref<?x16xf32>) {
  // expected-error @+1 {{(store_partial_c1) requires a buffer of slots of 'tensor<16x512xf32>', but got 'memref<f32>'}}
  mla.store_partial %o, %l at %item to(%po, %pl : memref<f32>, memref<?x16xf32>)
    : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_rank(%o: tensor<16xf32>, %l: tensor<16xf32>, %item: !mla.item,
                      %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{(store_c1) requires out of rank 2, but got 'tensor<16xf32>'}}
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>) : tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_columns(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                         %out: memref<?x?x16x576xbf16>) {
  // expected-error @+1 {{(store_c1) requires a destination of 512 columns, but got 'memref<?x?x16x576xbf16>'}}
  mla.store %o, %l at %item to(%out : memref<?x?x16x576xbf16>) : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_scalar(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                        %out: memref<bf16>) {
  // expected-error @+1 {{(store_c1) requires a destination of 512 columns, but got 'memref<bf16>'}}
  mla.store %o, %l at %item to(%out : memref<bf16>) : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_lse(%o: tensor<16x512xf32>, %l: tensor<8xf32>, %item: !mla.item,
                     %out: memref<?x?x16x512xbf16>) {
  // expected-error @+1 {{(store_c1) requires lse of shape 16, but got 'tensor<8xf32>'}}
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>) : tensor<16x512xf32>, tensor<8xf32>
  return
}

// -----

func.func @store_lse_scale(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                           %out: memref<?x?x16x512xbf16>, %s: f32, %e: f32) {
  // expected-error @+1 {{(store_c2) requires lse_scale and lse_empty together, with a destination of lse}}
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>) lse_scale(%s) lse_empty(%e) : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @store_lse_empty(%o: tensor<16x512xf32>, %l: tensor<16xf32>, %item: !mla.item,
                           %out: memref<?x?x16x512xbf16>, %lse: memref<?x?x16xf32>, %e: f32) {
  // expected-error @+1 {{(store_c2) requires lse_scale and lse_empty together}}
  mla.store %o, %l at %item to(%out : memref<?x?x16x512xbf16>, %lse : memref<?x?x16xf32>) lse_empty(%e) : tensor<16x512xf32>, tensor<16xf32>
  return
}

// -----

func.func @merge_heads(%p: memref<?x?x16x64xbf16>, %l: memref<?x?x8xf32>, %out: memref<?x16x64xbf16>,
                       %lse: memref<?x16xf32>, %s: f32, %e: f32) {
  // expected-error @+1 {{(merge_c1) requires parts of n x rows x heads x columns and n x rows x heads, and results of the same rows, heads and columns, but got 'memref<?x?x16x64xbf16>', 'memref<?x?x8xf32>'}}
  mla.merge parts(%p, %l : memref<?x?x16x64xbf16>, memref<?x?x8xf32>)
    to(%out, %lse : memref<?x16x64xbf16>, memref<?x16xf32>) lse_scale(%s) lse_empty(%e)
  return
}

// -----

func.func @merge_dynamic(%p: memref<?x?x?x64xbf16>, %l: memref<?x?x?xf32>, %out: memref<?x?x64xbf16>,
                         %lse: memref<?x?xf32>, %s: f32, %e: f32) {
  // expected-error @+1 {{(merge_c1) requires parts of}}
  mla.merge parts(%p, %l : memref<?x?x?x64xbf16>, memref<?x?x?xf32>)
    to(%out, %lse : memref<?x?x64xbf16>, memref<?x?xf32>) lse_scale(%s) lse_empty(%e)
  return
}

// -----

func.func @merge_types(%p: memref<?x?x16x64xbf16>, %l: memref<?x?x16xf32>, %out: memref<?x16x64xf32>,
                       %lse: memref<?x16xf32>, %s: f32, %e: f32) {
  // expected-error @+1 {{(merge_c2) requires parts and out of one type, with contiguous columns in a multiple of 8, but got 'memref<?x?x16x64xbf16>' and 'memref<?x16x64xf32>'}}
  mla.merge parts(%p, %l : memref<?x?x16x64xbf16>, memref<?x?x16xf32>)
    to(%out, %lse : memref<?x16x64xf32>, memref<?x16xf32>) lse_scale(%s) lse_empty(%e)
  return
}
