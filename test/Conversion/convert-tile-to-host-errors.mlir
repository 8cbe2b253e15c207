// RUN: mla-opt %s --mla-convert-tile-to-host --split-input-file --verify-diagnostics

// What the module and its entries need.

// expected-error @+1 {{requires a host 'mla.target' (see mla-attach-target)}}
module {
  func.func @no_target(%lens: memref<?xi32> {mla.name = "seq_lens"},
                       %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                       %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                       %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  // expected-error @+1 {{requires an 'mla.schedule' to be lowered to the host}}
  func.func @no_schedule(%lens: memref<?xi32> {mla.name = "seq_lens"},
                         %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                         %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                         %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  // expected-error @+1 {{requires an mla.plan to be lowered to the host}}
  func.func @no_plan(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                     %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                     %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @other_plan(%lens: memref<?xi32> {mla.name = "seq_lens"},
                        %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                        %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                        %n: index {mla.name = "num_workers"}, %other: !mla.plan {mla.name = "other"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    // expected-error @+1 {{'mla.for_work' op requires a plan that mla.plan makes in the same function}}
    mla.for_work %other worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @main(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                  %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                  %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    }
    return
  }

  // expected-error @+1 {{requires an 'mla.schedule' to be lowered to the host}}
  func.func @second(%lens: memref<?xi32> {mla.name = "seq_lens"}, %w: index {mla.name = "worker"},
                    %n: index {mla.name = "num_workers"}) attributes {mla.entry = 1 : i64} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_split %plan worker(%w) {
    ^bb0(%item: !mla.item, %pieces: index):
    }
    return
  }
}

// -----

// Values that are updated in place have a single use.

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @score_uses(%lens: memref<?xi32> {mla.name = "seq_lens"},
                        %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                        %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                        %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
      %kt = mla.load_kv %item[%first] from(%k : memref<?x?x1x16xf32>) : !mla.kv_tile<16x16xf32, v = 16>
      // expected-note @+1 {{this value}}
      %s = mla.qk %qt, %kt : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16> -> tensor<4x16xf32>
      // expected-error @+1 {{'mla.score' op requires values that it updates in place to have a single use, but one has 2}}
      %s1 = mla.score %s at %item[%first] {
      ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
        mla.yield %x : f32
      } : tensor<4x16xf32>
      %s2 = mla.mask %s by %plan at %item[%first] : tensor<4x16xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @mask_uses(%lens: memref<?xi32> {mla.name = "seq_lens"},
                       %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                       %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                       %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
      %kt = mla.load_kv %item[%first] from(%k : memref<?x?x1x16xf32>) : !mla.kv_tile<16x16xf32, v = 16>
      // expected-note @+1 {{this value}}
      %s = mla.qk %qt, %kt : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16> -> tensor<4x16xf32>
      // expected-error @+1 {{'mla.mask' op requires values that it updates in place to have a single use, but one has 2}}
      %s1 = mla.mask %s by %plan at %item[%first] : tensor<4x16xf32>
      %s2 = mla.mask %s by %plan at %item[%first] : tensor<4x16xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @softmax_uses(%lens: memref<?xi32> {mla.name = "seq_lens"},
                          %q: memref<?x?x4x16xf32> {mla.name = "q"},
                          %k: memref<?x?x1x16xf32> {mla.name = "k"},
                          %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                          %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
      %kt = mla.load_kv %item[%first] from(%k : memref<?x?x1x16xf32>) : !mla.kv_tile<16x16xf32, v = 16>
      %s = mla.qk %qt, %kt : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16> -> tensor<4x16xf32>
      // expected-note @+1 {{this value}}
      %o, %m, %l = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      // expected-error @+1 {{'mla.softmax_step' op requires values that it updates in place to have a single use, but one has 2}}
      %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<4x16xf32>, tensor<4xf32> -> tensor<4x16xf32>
      %out1, %lse = mla.finalize %o, %m, %l1 : tensor<4x16xf32>, tensor<4xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @pv_uses(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                     %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                     %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x16xf32>) : tensor<4x16xf32>
      %kt = mla.load_kv %item[%first] from(%k : memref<?x?x1x16xf32>) : !mla.kv_tile<16x16xf32, v = 16>
      %s = mla.qk %qt, %kt : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16> -> tensor<4x16xf32>
      // expected-note @+1 {{this value}}
      %o, %m, %l = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      %p, %a, %m1, %l1 = mla.softmax_step %s, %m, %l : tensor<4x16xf32>, tensor<4xf32> -> tensor<4x16xf32>
      // expected-error @+1 {{'mla.pv' op requires values that it updates in place to have a single use, but one has 2}}
      %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<4x16xf32>, !mla.kv_tile<16x16xf32, v = 16>, tensor<4x16xf32>, tensor<4xf32>
      %out1, %lse = mla.finalize %o, %m1, %l1 : tensor<4x16xf32>, tensor<4xf32>
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @finalize_uses(%lens: memref<?xi32> {mla.name = "seq_lens"},
                           %q: memref<?x?x4x16xf32> {mla.name = "q"},
                           %k: memref<?x?x1x16xf32> {mla.name = "k"},
                           %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                           %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-note @+1 {{this value}}
      %o, %m, %l = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      // expected-error @+1 {{'mla.finalize' op requires values that it updates in place to have a single use, but one has 2}}
      %o1, %lse = mla.finalize %o, %m, %l : tensor<4x16xf32>, tensor<4xf32>
      %o2, %lse2 = mla.finalize %o, %m, %l : tensor<4x16xf32>, tensor<4xf32>
    }
    return
  }
}

// -----

// Control flow and ops inside of the work loop.

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @carried(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                     %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                     %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'scf.for' op requires loop-carried values of tile tensors, but got 'index'}}
      %x = scf.for %t = %first to %end step %n iter_args(%i = %first) -> (index) {
        scf.yield %i : index
      }
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @swapped(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                     %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                     %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %o, %m, %l = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      %x, %y, %z = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      // expected-error @+1 {{'scf.for' op requires to yield each loop-carried value in its own place}}
      %r:2 = scf.for %t = %first to %end step %n iter_args(%i = %m, %j = %y) -> (tensor<4xf32>, tensor<4xf32>) {
        scf.yield %j, %i : tensor<4xf32>, tensor<4xf32>
      }
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @if_results(%lens: memref<?xi32> {mla.name = "seq_lens"},
                        %q: memref<?x?x4x16xf32> {mla.name = "q"}, %k: memref<?x?x1x16xf32> {mla.name = "k"},
                        %out: memref<?x?x4x16xf32> {mla.name = "out"}, %w: index {mla.name = "worker"},
                        %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'scf.if' op requires no results to be lowered to the host}}
      %x = scf.if %whole -> (index) {
        scf.yield %first : index
      } else {
        scf.yield %end : index
      }
    }
    return
  }
}

// -----

module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  func.func @nested(%lens: memref<?xi32> {mla.name = "seq_lens"}, %q: memref<?x?x4x16xf32> {mla.name = "q"},
                    %k: memref<?x?x1x16xf32> {mla.name = "k"}, %out: memref<?x?x4x16xf32> {mla.name = "out"},
                    %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"})
      attributes {mla.entry = 0 : i64, mla.schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = whole, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>} {
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%n) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = whole split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      // expected-error @+1 {{'mla.for_work' op has no lowering to the host}}
      mla.for_work %plan worker(%w) {
      ^bb0(%item2: !mla.item, %first2: index, %end2: index, %whole2: i1):
      }
    }
    return
  }
}
