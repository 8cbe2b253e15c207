// One error for each branch of the verifiers of layouts, by themselves and on tensors.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func private @sizes() attributes {
  // expected-error @+1 {{requires an instruction of M, N and K, but got 2 sizes}}
  a = #mla_gpu.mma<m = rows, instr = [64, 64]>}

// -----

func.func private @m() attributes {
  // expected-error @+1 {{requires an instruction with M = 64 and K = 16, but got M = 16 and K = 16}}
  a = #mla_gpu.mma<m = rows, instr = [16, 8, 16]>}

// -----

func.func private @n_multiple() attributes {
  // expected-error @+1 {{requires N to be a multiple of 8 from 8 to 256, but got 12}}
  a = #mla_gpu.mma<m = keys, instr = [64, 12, 16]>}

// -----

func.func private @n_range() attributes {
  // expected-error @+1 {{requires N to be a multiple of 8 from 8 to 256, but got 264}}
  a = #mla_gpu.mma<m = rows, instr = [64, 264, 16]>}

// -----

func.func private @slice_dim() attributes {
  // expected-error @+1 {{requires dim to be 0 or 1, but got 2}}
  a = #mla_gpu.slice<dim = 2, parent = <m = rows, instr = [64, 64, 16]>>}

// -----

// expected-error @+1 {{requires a matrix for #mla_gpu.mma<m = rows, instr = [64, 64, 16]>, but got 1 dimensions}}
func.func private @mma_rank(tensor<64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>)

// -----

// expected-error @+1 {{requires dimension 0 of #mla_gpu.mma<m = rows, instr = [64, 64, 16]> to be a multiple of 64, but got 16}}
func.func private @mma_rows(tensor<16x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>)

// -----

// expected-error @+1 {{requires dimension 1 of #mla_gpu.mma<m = keys, instr = [64, 16, 16]> to be a multiple of 64, but got 16}}
func.func private @mma_keys(tensor<16x16xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>)

// -----

// expected-error @+1 {{requires a vector for #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>, but got 2 dimensions}}
func.func private @slice_rank(tensor<64x64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 64, 16]>>>)

// -----

// expected-error @+1 {{requires dimension 0 of #mla_gpu.mma<m = keys, instr = [64, 16, 16]> to be a multiple of 16, but got 24}}
func.func private @slice_rows(tensor<24xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>)

// -----

// expected-error @+1 {{requires rows x 4 for #mla_gpu.lanes<parent = <m = rows, instr = [64, 64, 16]>>, the threads that share a row}}
func.func private @lanes(tensor<64x32xf32, #mla_gpu.lanes<parent = <m = rows, instr = [64, 64, 16]>>>)

// -----

// expected-error @+1 {{requires dimension 0 of #mla_gpu.mma<m = rows, instr = [64, 64, 16]> to be a multiple of 64, but got 48}}
func.func private @lanes_rows(tensor<48x4xf32, #mla_gpu.lanes<parent = <m = rows, instr = [64, 64, 16]>>>)
