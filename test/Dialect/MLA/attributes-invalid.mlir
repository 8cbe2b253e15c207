// One error for each branch of the attributes' parsers and verifiers, and of the
// dialect's checks of where its attributes are.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// #mla.schedule
//===----------------------------------------------------------------------===//

func.func private @split() attributes {
  // expected-error @+1 {{requires 'split' to be whole, balanced or row_local, but got 'half'}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = half, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @qk_rank() attributes {
  // expected-error @+1 {{requires 'qk' as rows x columns, but got 1 dimensions}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8, pv = 8x2, kv = direct>}

// -----

func.func private @pv_rank() attributes {
  // expected-error @+1 {{requires 'pv' as rows x columns, but got 3 dimensions}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2x2>}

// -----

func.func private @field_order() attributes {
  // expected-error @+1 {{expected 'block_m'}}
  a = #mla.schedule<host_blocks, block_n = 64, block_m = 16, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @missing_field() attributes {
  // expected-error @+1 {{expected 'split_tiles'}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @kv() attributes {
  // expected-error @+1 {{requires 'kv' to be direct or staged, but got 'copied'}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2, kv = copied>}

// -----

func.func private @block_m() attributes {
  // expected-error @+1 {{requires a positive block_m, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 0, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @block_n() attributes {
  // expected-error @+1 {{requires a positive block_n, but got -64}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = -64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @split_tiles() attributes {
  // expected-error @+1 {{requires a positive split_tiles, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 0, qk = 8x2, pv = 8x2, kv = direct>}

// -----

func.func private @qk_rows() attributes {
  // expected-error @+1 {{requires a positive qk rows, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 0x2, pv = 8x2, kv = direct>}

// -----

func.func private @qk_keys() attributes {
  // expected-error @+1 {{requires a positive qk keys, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x0, pv = 8x2, kv = direct>}

// -----

func.func private @pv_rows() attributes {
  // expected-error @+1 {{requires a positive pv rows, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 0x2, kv = direct>}

// -----

func.func private @pv_vectors() attributes {
  // expected-error @+1 {{requires a positive pv vectors, but got 0}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 8x0, kv = direct>}

// -----

func.func private @qk_rows_divide() attributes {
  // expected-error @+1 {{requires block_m to be a multiple of the rows of qk, but got 16 and 6}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 6x2, pv = 8x2, kv = direct>}

// -----

func.func private @pv_rows_divide() attributes {
  // expected-error @+1 {{requires block_m to be a multiple of the rows of pv, but got 16 and 3}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x2, pv = 3x2, kv = direct>}

// -----

func.func private @cluster() attributes {
  // expected-error @+1 {{requires a cluster of 1 or 2, but got 4}}
  a = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 4>}

// -----

func.func private @alignment() attributes {
  // expected-error @+1 {{requires an alignment of 1 or 16, but got 8}}
  a = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, alignment = 8>}

// -----

func.func private @cluster_splits() attributes {
  // expected-error @+1 {{requires split = balanced with clusters, but got whole}}
  a = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma, cluster = 2>}

// -----

func.func private @qk_keys_divide() attributes {
  // expected-error @+1 {{requires block_n to be a multiple of the keys of qk, but got 64 and 3}}
  a = #mla.schedule<host_blocks, block_m = 16, block_n = 64, split = whole, split_tiles = 16, qk = 8x3, pv = 8x2, kv = direct>}

// -----

//===----------------------------------------------------------------------===//
// #mla.target
//===----------------------------------------------------------------------===//

func.func private @kind() attributes {
  // expected-error @+1 {{requires a target kind of 'host' or 'cuda', but got 'fpga'}}
  a = #mla.target<fpga, cpu = "x86-64-v4", features = "", vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}

// -----

func.func private @chip() attributes {
  // expected-error @+1 {{requires a chip as sm_90a, but got "hopper"}}
  a = #mla.target<cuda, chip = "hopper", smem_bytes = 232448, l2_bytes = 62914560>}

// -----

func.func private @smem_bytes() attributes {
  // expected-error @+1 {{requires positive memory sizes, but got smem_bytes = 0, l2_bytes = 62914560}}
  a = #mla.target<cuda, chip = "sm_90a", smem_bytes = 0, l2_bytes = 62914560>}

// -----

func.func private @cuda_fields() attributes {
  // expected-error @+1 {{expected 'chip'}}
  a = #mla.target<cuda, cpu = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>}

// -----

func.func private @vector_bits() attributes {
  // expected-error @+1 {{requires vector_bits of 128, 256 or 512, but got 64}}
  a = #mla.target<host, cpu = "x86-64-v4", features = "", vector_bits = 64, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}

// -----

func.func private @vector_registers() attributes {
  // expected-error @+1 {{requires vector_registers of at least 8, but got 7}}
  a = #mla.target<host, cpu = "x86-64-v4", features = "", vector_bits = 512, vector_registers = 7, l1_bytes = 32768, l2_bytes = 1048576>}

// -----

func.func private @l1() attributes {
  // expected-error @+1 {{requires positive cache sizes, but got l1_bytes = 0, l2_bytes = 1048576}}
  a = #mla.target<host, cpu = "x86-64-v4", features = "", vector_bits = 512, vector_registers = 32, l1_bytes = 0, l2_bytes = 1048576>}

// -----

func.func private @l2() attributes {
  // expected-error @+1 {{requires positive cache sizes, but got l1_bytes = 32768, l2_bytes = -1}}
  a = #mla.target<host, cpu = "x86-64-v4", features = "", vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = -1>}

// -----

func.func private @cpu_string() attributes {
  // expected-error @+1 {{expected string}}
  a = #mla.target<host, cpu = x86, features = "", vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}

// -----

//===----------------------------------------------------------------------===//
// The kernel's description
//===----------------------------------------------------------------------===//

// expected-error @+2 {{expected ::mlir::mla::ParamKind to be one of: pointer, offset, size, stride, scalar}}
// expected-error @+1 {{failed to parse MLA_Param parameter 'kind'}}
func.func private @param_kind() attributes {a = #mla.param<"q", length>}

// -----

// expected-error @+2 {{expected ::mlir::mla::BufferScope to be one of: worker, slot}}
// expected-error @+1 {{failed to parse MLA_Buffer parameter 'scope'}}
func.func private @buffer_scope() attributes {a = #mla.buffer<"scratch", launch, memref<?x64xi8>>}

// -----

//===----------------------------------------------------------------------===//
// Where the dialect's attributes may be
//===----------------------------------------------------------------------===//

// expected-error @+1 {{'builtin.module' op requires 'mla.target' to be a #mla.target, but got "x86-64-v4"}}
module attributes {mla.target = "x86-64-v4"} {}

// -----

// expected-error @+1 {{'builtin.module' op requires 'mla.kernel' to be a #mla.kernel, but got 1 : i64}}
module attributes {mla.kernel = 1 : i64} {}

// -----

// expected-error @+1 {{'func.func' op requires 'mla.entry' to be an integer, but got "main"}}
func.func private @entry() attributes {mla.entry = "main"}

// -----

// expected-error @+1 {{'func.func' op requires 'mla.schedule' to be a #mla.schedule, but got unit}}
func.func private @schedule() attributes {mla.schedule}

// -----

// expected-error @+1 {{'func.func' op has an attribute 'mla.targt' that the mla dialect does not know}}
func.func private @unknown() attributes {mla.targt = 1 : i64}

// -----

// expected-error @+1 {{requires attributes of argument 1 to be 'mla.name' with a string, but got 'mla.name' = 7 : i64}}
func.func @name_type(%a: i32, %b: i32 {mla.name = 7 : i64}) { return }

// -----

// expected-error @+1 {{requires attributes of argument 0 to be 'mla.name' with a string, but got 'mla.nam' = "q"}}
func.func @name_name(%a: i32 {mla.nam = "q"}) { return }

// -----

// expected-error @+1 {{requires 'mla.tensor_map' of argument 0 to be a #mla.tensor_map, but got "k"}}
func.func @tensor_map_type(%a: i32 {mla.name = "k", mla.tensor_map = "k"}) { return }

// -----

// expected-error @+1 {{requires 'plan' to be inline or shared, but got 'once'}}
func.func private @plan() attributes {mla.schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced, split_tiles = 1, stages = 3, row_blocks = 2, copy = tma, plan = once>}
