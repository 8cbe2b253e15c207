// One error for each branch of the types' parsers and verifiers.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{requires keys x head_dim, but got 1 dimensions}}
func.func private @rank(!mla.kv_tile<64xbf16, v = 8>)

// -----

// expected-error @+1 {{requires keys x head_dim, but got 3 dimensions}}
func.func private @rank(!mla.kv_tile<2x64x8xbf16, v = 8>)

// -----

// expected-error @+1 {{requires positive sizes, but got 0 x 64}}
func.func private @no_keys(!mla.kv_tile<0x64xbf16, v = 64>)

// -----

// expected-error @+1 {{requires positive sizes, but got 64 x 0}}
func.func private @no_width(!mla.kv_tile<64x0xbf16, v = 1>)

// -----

// expected-error @+1 {{requires 0 < v <= 64 (v is the first columns of k), but got 0}}
func.func private @no_values(!mla.kv_tile<64x64xbf16, v = 0>)

// -----

// expected-error @+1 {{requires 0 < v <= 64 (v is the first columns of k), but got 72}}
func.func private @wide_values(!mla.kv_tile<64x64xbf16, v = 72>)

// -----

// expected-error @+1 {{requires a float element type, but got 'i8'}}
func.func private @element(!mla.kv_tile<64x64xi8, v = 64>)

// -----

// expected-error @+1 {{expected 'v'}}
func.func private @no_v(!mla.kv_tile<64x64xbf16, w = 64>)

// -----

// expected-error @+1 {{expected static shape}}
func.func private @dynamic(!mla.kv_tile<?x64xbf16, v = 64>)
