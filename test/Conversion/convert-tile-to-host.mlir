// RUN: mla-opt %s --mla-convert-tile-to-host | FileCheck %s
//
// Nothing of the tile level is left: neither ops nor types of mla, nor tensors.
// RUN: mla-opt %s --mla-convert-tile-to-host | FileCheck %s --check-prefix=GONE
//
// Converting twice changes nothing.
// RUN: mla-opt %s --mla-convert-tile-to-host > %t.once
// RUN: mla-opt %t.once --mla-convert-tile-to-host > %t.twice
// RUN: diff %t.once %t.twice

// Keys that are staged are widened once a tile, not in the blocks.
// RUN: sed 's/kv = direct/kv = staged/' %s | mla-opt --mla-convert-tile-to-host | FileCheck %s --check-prefix=STAGED

// STAGED:         schedule = <{{.*}} kv = staged>
// STAGED-LABEL:   func.func @decode(
// STAGED:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// STAGED:         vector.store {{.*}} : memref<16x24xf32>, vector<8xf32>
// STAGED-NOT:     bf16>
// STAGED:         scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// STAGED-NOT:     arith.extf
// STAGED-COUNT-8: vector.fma
// STAGED-NOT:     arith.extf
// STAGED:         scf.yield

// GONE-NOT: {{mla\.[a-z_]+ %}}
// GONE-NOT: !mla.
// GONE-NOT: mla.init
// GONE-NOT: tensor<

#target = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256, vector_registers = 16,
                      l1_bytes = 32768, l2_bytes = 1048576>
#schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>

// The description: arguments as the caller passes them, entries in order with
// the parameters that their functions will have, and buffers.

// CHECK:      module attributes {mla.kernel = #mla.kernel<
// CHECK-SAME:   arguments = [<"q", memref<?x?x4x24xbf16>>, <"k", memref<?x32x1x24xbf16>>, <"table", memref<?x?xi32>>, <"seq_lens", memref<?xi32>>, <"softmax_scale", f32>, <"out", memref<?x?x4x16xbf16>>],
// CHECK-SAME:   entries = [
// CHECK-SAME:     <"decode", [<"q", pointer>, <"q", pointer>, <"q", offset>, <"q", size>, <"q", size, 1>, <"q", size, 2>, <"q", size, 3>, <"q", stride>, <"q", stride, 1>, <"q", stride, 2>, <"q", stride, 3>,
// CHECK-SAME:       <"seq_lens", pointer>, <"seq_lens", pointer>, <"seq_lens", offset>, <"seq_lens", size>, <"seq_lens", stride>, <"softmax_scale", scalar>,
// CHECK-SAME:       <"worker", scalar>, <"num_workers", scalar>, <"partial_out", pointer>,
// CHECK-SAME:       <"scratch", pointer>, <"scratch", pointer>, <"scratch", offset>, <"scratch", size>, <"scratch", size, 1>, <"scratch", stride>, <"scratch", stride, 1>]>,
// CHECK-SAME:     <"decode_combine", [<"q", pointer>,
// CHECK-SAME:       <"scratch", stride, 1>]>],
// CHECK-SAME:   workspace = [<"partial_out", slot, memref<?x4x16xf32>>, <"partial_lse", slot, memref<?x4xf32>>, <"scratch", worker, memref<?x{{[1-9][0-9]*}}xi8>>],
// CHECK-SAME:   schedule = <host_blocks, block_m = 4, block_n = 16, split = balanced, split_tiles = 8, qk = 4x2, pv = 2x2, kv = direct>,
// CHECK-SAME:   mask = #mla.causal, kv_heads = 1, group = 4>,
// CHECK-SAME:   mla.target = #mla.target<host, cpu = "x86-64-v3",
module attributes {mla.target = #target} {

  // CHECK-LABEL: func.func @decode(
  // CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x4x24xbf16> {mla.name = "q"},
  // CHECK-SAME:    %[[PO:[a-z0-9]+]]: memref<?x4x16xf32> {mla.name = "partial_out"},
  // CHECK-SAME:    %[[SCRATCH:[a-z0-9]+]]: memref<?x?xi8> {mla.name = "scratch"})
  //
  // The scheduler, then rows of q in scratch, as f32.
  // CHECK:         vector.load %[[Q]][{{.*}}] : memref<?x?x4x24xbf16>, vector<8xbf16>
  // CHECK:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
  // CHECK:         vector.store {{.*}} : memref<4x24xf32>, vector<8xf32>
  //
  // Full tiles: a block of 4 x 2 accumulators over the width.
  // CHECK:         scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
  // CHECK-COUNT-8:   vector.fma
  // CHECK-NOT:       vector.fma
  // CHECK:           scf.yield
  //
  // No code of the mask between the scores and their probabilities.
  // CHECK-NOT:     {{arith.cmpi .* : vector<}}
  // CHECK:         arith.mulf {{.*}} : vector<{{[0-9]+}}xf32>
  // CHECK-NOT:     {{arith.cmpi .* : vector<}}
  // CHECK:         math.exp2 {{.*}} : vector<{{[0-9]+}}xf32>
  //
  // Masked tiles: what is out of sight becomes -inf before the softmax.
  // CHECK:         arith.cmpi sle, {{.*}} : vector<{{[0-9]+}}xi32>
  // CHECK:         arith.select {{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xf32>
  // CHECK:         math.exp2 {{.*}} : vector<{{[0-9]+}}xf32>
  // CHECK-LABEL: func.func @decode_combine(
  // CHECK-SAME:    %[[PO:[a-z0-9]+]]: memref<?x4x16xf32> {mla.name = "partial_out"},
  // CHECK:         vector.load %[[PO]][
  // CHECK:         vector.fma
  // CHECK:         arith.truncf {{.*}} : vector<8xf32> to vector<8xbf16>
  func.func @decode(%q: memref<?x?x4x24xbf16> {mla.name = "q"}, %k: memref<?x32x1x24xbf16> {mla.name = "k"},
                    %table: memref<?x?xi32> {mla.name = "table"}, %lens: memref<?xi32> {mla.name = "seq_lens"},
                    %scale: f32 {mla.name = "softmax_scale"}, %out: memref<?x?x4x16xbf16> {mla.name = "out"},
                    %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"},
                    %po: memref<?x4x16xf32> {mla.name = "partial_out"}, %pl: memref<?x4xf32> {mla.name = "partial_lse"})
      attributes {mla.entry = 0 : i64, mla.schedule = #schedule} {
    %c1 = arith.constant 1 : index
    %sq = memref.dim %q, %c1 : memref<?x?x4x24xbf16>
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = balanced split_tiles = 8
    mla.for_work %plan worker(%w) {
    ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
      %qt = mla.load_q %item from(%q : memref<?x?x4x24xbf16>) : tensor<4x24xbf16>
      %o0, %m0, %l0 = mla.init : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      %fb, %fe = mla.full_tiles %plan[%item] from %first to %end
      %f:3 = scf.for %t = %fb to %fe step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0)
          -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {
        %kt = mla.load_kv %item[%t] from(%k : memref<?x32x1x24xbf16>) table(%table : memref<?x?xi32>) : !mla.kv_tile<16x24xbf16, v = 16>
        %s = mla.qk %qt, %kt : tensor<4x24xbf16>, !mla.kv_tile<16x24xbf16, v = 16> -> tensor<4x16xf32>
        %s1 = mla.score %s at %item[%t] {
        ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: i32, %x: f32):
          %y = arith.mulf %x, %scale : f32
          mla.yield %y : f32
        } : tensor<4x16xf32>
        %p, %a, %m1, %l1 = mla.softmax_step %s1, %m, %l : tensor<4x16xf32>, tensor<4xf32> -> tensor<4x16xf32>
        %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<4x16xf32>, !mla.kv_tile<16x24xbf16, v = 16>, tensor<4x16xf32>, tensor<4xf32>
        scf.yield %o1, %m1, %l1 : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      }
      %r:3 = scf.for %t = %fe to %end step %c1 iter_args(%o = %f#0, %m = %f#1, %l = %f#2)
          -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {
        %kt = mla.load_kv %item[%t] from(%k : memref<?x32x1x24xbf16>) table(%table : memref<?x?xi32>) : !mla.kv_tile<16x24xbf16, v = 16>
        %s = mla.qk %qt, %kt : tensor<4x24xbf16>, !mla.kv_tile<16x24xbf16, v = 16> -> tensor<4x16xf32>
        %s1 = mla.mask %s by %plan at %item[%t] : tensor<4x16xf32>
        %p, %a, %m1, %l1 = mla.softmax_step %s1, %m, %l : tensor<4x16xf32>, tensor<4xf32> -> tensor<4x16xf32>
        %o1 = mla.pv %p, %kt, %o rescale(%a) : tensor<4x16xf32>, !mla.kv_tile<16x24xbf16, v = 16>, tensor<4x16xf32>, tensor<4xf32>
        scf.yield %o1, %m1, %l1 : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
      }
      %ot, %lt = mla.finalize %r#0, %r#1, %r#2 : tensor<4x16xf32>, tensor<4xf32>
      scf.if %whole {
        mla.store %ot, %lt at %item to(%out : memref<?x?x4x16xbf16>) : tensor<4x16xf32>, tensor<4xf32>
      } else {
        mla.store_partial %ot, %lt at %item to(%po, %pl : memref<?x4x16xf32>, memref<?x4xf32>) : tensor<4x16xf32>, tensor<4xf32>
      }
    }
    return
  }

  func.func @decode_combine(%q: memref<?x?x4x24xbf16> {mla.name = "q"}, %lens: memref<?xi32> {mla.name = "seq_lens"},
                            %out: memref<?x?x4x16xbf16> {mla.name = "out"},
                            %w: index {mla.name = "worker"}, %n: index {mla.name = "num_workers"},
                            %po: memref<?x4x16xf32> {mla.name = "partial_out"}, %pl: memref<?x4xf32> {mla.name = "partial_lse"})
      attributes {mla.entry = 1 : i64, mla.schedule = #schedule} {
    %c1 = arith.constant 1 : index
    %sq = memref.dim %q, %c1 : memref<?x?x4x24xbf16>
    %plan = mla.plan seq_lens(%lens : memref<?xi32>) queries(%sq) workers(%n) mask(#mla.causal)
      heads = 4 kv_heads = 1 tile = 4 x 16 split = balanced split_tiles = 8
    mla.for_split %plan worker(%w) {
    ^bb0(%item: !mla.item, %pieces: index):
      %ot, %lt = mla.combine %item pieces(%pieces) from(%po, %pl : memref<?x4x16xf32>, memref<?x4xf32>) : tensor<4x16xf32>, tensor<4xf32>
      mla.store %ot, %lt at %item to(%out : memref<?x?x4x16xbf16>) : tensor<4x16xf32>, tensor<4xf32>
    }
    return
  }

  // What is not an entry is left alone.

  // CHECK-LABEL: func.func @other(
  // CHECK-SAME:    %{{[a-z0-9]+}}: index) {
  // CHECK-NEXT:    return
  func.func @other(%x: index) {
    return
  }
}
