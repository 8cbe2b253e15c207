// Operands of rank 0 are refused by the tile ops' verifiers like any wrong shape.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func @load_q_scalar(%item: !mla.item, %q: memref<bf16>) {
  // expected-error @+1 {{(load_q_c1) requires}}
  %0 = mla.load_q %item from(%q : memref<bf16>) : tensor<16x64xbf16>
  return
}

// -----

func.func @load_kv_scalar(%item: !mla.item, %t: index, %k: memref<bf16>) {
  // expected-error @+1 {{(load_kv_c1) requires}}
  %0 = mla.load_kv %item[%t] from(%k : memref<bf16>) : !mla.kv_tile<64x512xbf16, v = 512>
  return
}

// -----

func.func @qk_scalar(%q: tensor<bf16>, %kt: !mla.kv_tile<64x576xbf16, v = 512>) {
  // expected-error @+1 {{(qk_c1) requires q of}}
  %s = mla.qk %q, %kt : tensor<bf16>, !mla.kv_tile<64x576xbf16, v = 512> -> tensor<16x64xf32>
  return
}
