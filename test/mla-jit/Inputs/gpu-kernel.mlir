// A kernel of the nvvm level with parameters as the fake driver's: 8, 8 and 4
// bytes. It writes nothing.
module attributes {
  mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<
    arguments = [<"q", memref<?x?x16x576xbf16, strided<[?, ?, ?, 1]>>>,
                 <"k", memref<?x64x1x576xbf16, strided<[?, ?, ?, 1]>>>,
                 <"table", memref<?x?xi32, strided<[?, 1]>>>, <"seq_lens", memref<?xi32>>,
                 <"softmax_scale", f32>, <"num_splits", i32>,
                 <"out", memref<?x?x16x512xbf16, strided<[?, ?, ?, 1]>>>,
                 <"lse", memref<?x?x16xf32, strided<[?, ?, ?]>>>],
    entries = [<"decode_main", [<"q", pointer>, <"work_list", pointer>, <"softmax_scale", scalar>],
                launch = <threads = 192, shared_bytes = 1024, ctas_per_worker = 1, dependent = false>>],
    workspace = [<"work_list", piece, memref<?x8xi32>>],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = balanced,
                             split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>,
    mask = #mla.causal, kv_heads = 1, group = 16>} {
  llvm.func @decode_main(%q: !llvm.ptr<1>, %work: !llvm.ptr<1>, %scale: f32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 192>} {
    llvm.return
  }
}
