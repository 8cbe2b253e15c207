// RUN: mla-opt %s --mla-select-schedule --split-input-file --verify-diagnostics
// RUN: not mla-opt %s --mla-select-schedule='split=half' --split-input-file 2>&1 | FileCheck %s

// CHECK: error: option 'split' requires whole, balanced or row_local, but got 'half'

// Without a target there is nothing to choose by.

func.func @no_target(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                     %scale: f32, %out: memref<?x?x16x64xf32>) {
  // expected-error @+1 {{'mla.decode' op requires a module with 'mla.target' (see mla-attach-target), but got none}}
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

// Given schedules are refused with the reason.

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{'mla.decode' op requires a schedule with a known dataflow, but got 'host_blocs'}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocs, block_m = 4, block_n = 64, split = whole, split_tiles = 1, qk = 4x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: register block 'qk' needs 19 vector registers, but the target has 16}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 64, split = whole, split_tiles = 1, qk = 8x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: register block 'pv' needs 21 vector registers, but the target has 16}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 8, block_n = 64, split = whole, split_tiles = 1, qk = 4x2, pv = 4x4, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: a tile of 1028 x 64 is over the limit of 1024 x 1024}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 1028, block_n = 64, split = whole, split_tiles = 1, qk = 4x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: a tile of 4 x 1032 is over the limit of 1024 x 1024}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 4, block_n = 1032, split = whole, split_tiles = 1, qk = 4x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: register block 'qk' of 3 rows is not a power of two of at most the 8 f32 lanes of a vector}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 24, block_n = 64, split = whole, split_tiles = 1, qk = 3x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{has a schedule that cannot be lowered: block_m = 12 is neither a power of two nor a multiple of the 8 f32 lanes of a vector}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
      schedule = #mla.schedule<host_blocks, block_m = 12, block_n = 64, split = whole, split_tiles = 1, qk = 4x2, pv = 4x2, kv = direct>
    return
  }
}

// -----

// Too few registers for any block.

#host = #mla.target<host, cpu = "x86-64-v3", features = "", vector_bits = 256,
                    vector_registers = 8, l1_bytes = 32768, l2_bytes = 1048576>
module attributes {mla.target = #host} {
  func.func @decode(%q: memref<?x?x16x64xf32>, %k: memref<?x?x1x64xf32>, %lens: memref<?xi32>,
                    %scale: f32, %out: memref<?x?x16x64xf32>) {
    // expected-error @+1 {{'mla.decode' op has no schedule for target 'host'}}
    mla.decode
      q(%q : memref<?x?x16x64xf32>)
      k(%k : memref<?x?x1x64xf32>)
      seq_lens(%lens : memref<?xi32>)
      scale(%scale : f32)
      out(%out : memref<?x?x16x64xf32>)
      head_dim_v = 64
    return
  }
}
