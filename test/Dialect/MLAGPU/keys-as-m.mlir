// Few rows, keys as M: S^T = K Q^T and O^T = V^T P^T, so that 16 rows need no padding to 64. One consumer warpgroup, one
// warp that loads keys, one that loads the next item's Q. 576/512 bf16, pages of 64, causal, whole and split items. Run and
// checked by examples.test.
// RUN: mla-opt %s --mla-gpu-verify-protocol --verify-roundtrip -o /dev/null

#schedule = #mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = balanced, split_tiles = 1, stages = 2, row_blocks = 1, copy = tma>
#s = #mla_gpu.mma<m = keys, instr = [64, 16, 16]>  // scores rows x keys, and O rows x columns of V
#row = #mla_gpu.slice<dim = 1, parent = #s>        // a value a row
#lanes = #mla_gpu.lanes<parent = #s>               // a value a row and thread
!map_kv = !mla_gpu.tensor_map<?x64x576xbf16, box = 64x576, swizzle = 128>
!map_q = !mla_gpu.tensor_map<?x?x576xbf16, box = 16x576, swizzle = 128>
!tile = !mla_gpu.tile<64x576xbf16, swizzle = 128>
!q_tile = !mla_gpu.tile<16x576xbf16, swizzle = 128>
!p_tile = !mla_gpu.tile<16x64xbf16, swizzle = 128>
!v_tile = !mla_gpu.tile<64x512xbf16, swizzle = 128>
!kv = !mla_gpu.pipeline<2, !tile>
!q = !mla_gpu.pipeline<1, !q_tile>
!s = tensor<16x64xf32, #s>
!o = tensor<16x512xf32, #s>
!row = tensor<16xf32, #row>
!lanes = tensor<16x32xf32, #lanes>
// Items: request, first tile, tiles, keys and keys that all rows see (both from the first tile on), destination, whole.
!work = memref<?x7xindex>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"keys_as_m", []>], workspace = [], schedule = #schedule,
    mask = #mla.causal, kv_heads = 1, group = 16>} {
func.func @keys_as_m(
    %map_kv: !map_kv {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 3], box = 64x576, swizzle = 128>},
    %map_q: !map_q {mla.name = "q", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 2], box = 16x576, swizzle = 128>},
    %table: memref<?x?xi32> {mla.name = "table"}, %work: !work {mla.name = "work"},
    %items: memref<?xindex> {mla.name = "items"}, %out: memref<?x512xbf16> {mla.name = "out"},
    %lse: memref<?xf32> {mla.name = "lse"}, %part_o: memref<?x512xf32> {mla.name = "partial_out"},
    %part_lse: memref<?xf32> {mla.name = "partial_lse"}, %scale_log2: f32 {mla.name = "scale_log2"},
    %heads: i32 {mla.name = "heads"}, %rows32: i32 {mla.name = "rows"}, %cta: index {mla.name = "worker"})
    attributes {mla.entry = 0} {
  // ---- setup
  %rows = arith.index_cast %rows32 : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %ring = mla_gpu.alloc : !mla_gpu.smem<2x64x576xbf16, swizzle = 128>
  %q_buffer = mla_gpu.alloc : !mla_gpu.smem<1x16x576xbf16, swizzle = 128>
  %p = mla_gpu.alloc : !p_tile
  %kv = mla_gpu.pipeline %ring[0:576] writer(tma) from("load") to("math") : !mla_gpu.smem<2x64x576xbf16, swizzle = 128>
  %q = mla_gpu.pipeline %q_buffer[0:576] writer(tma) from("load_q") to("math") : !mla_gpu.smem<1x16x576xbf16, swizzle = 128>
  mla_gpu.grid_wait
  mla_gpu.grid_launch_dependents
  %next_cta = arith.addi %cta, %c1 : index
  %begin = memref.load %items[%cta] : memref<?xindex>
  %end = memref.load %items[%next_cta] : memref<?xindex>

  mla_gpu.warp_specialize
  // ---- consumer
  role "math" warps(4) {
    %none = arith.constant dense<0xFF800000> : !s
    %zero = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %o0 = arith.constant dense<0.0> : !o
    %m0 = arith.constant dense<-1.0e30> : !row  // finite: a row that sees no key keeps l = 0 and no NaN
    %l0 = arith.constant dense<0.0> : !lanes
    %row = mla_gpu.iota dim(0) : tensor<16xi32, #row>
    %key = mla_gpu.iota dim(1) : tensor<16x64xi32, #s>
    %scale = mla_gpu.broadcast %scale_log2 : f32 -> !s
    %scale_row = mla_gpu.broadcast %scale_log2 : f32 -> !row
    %heads_row = mla_gpu.broadcast %heads : i32 -> tensor<16xi32, #row>
    %query = arith.divsi %row, %heads_row : tensor<16xi32, #row>
    %done = scf.for %i = %begin to %end step %c1 iter_args(%n = %c0) -> (index) {
      %tiles = memref.load %work[%i, %c2] : !work
      %keys = memref.load %work[%i, %c3] : !work
      %free = memref.load %work[%i, %c4] : !work
      // The first key that a row does not see.
      %keys32 = arith.index_cast %keys : index to i32
      %free32 = arith.index_cast %free : index to i32
      %keys_row = mla_gpu.broadcast %keys32 : i32 -> tensor<16xi32, #row>
      %free_row = mla_gpu.broadcast %free32 : i32 -> tensor<16xi32, #row>
      %own = arith.addi %free_row, %query : tensor<16xi32, #row>
      %limit = arith.minsi %own, %keys_row : tensor<16xi32, #row>
      %k = arith.subi %i, %begin : index
      %qt = mla_gpu.wait %q[%k] : !q
      %state:3 = scf.for %j = %c0 to %tiles step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0) -> (!o, !row, !lanes) {
        %slot = arith.addi %n, %j : index
        %kt = mla_gpu.wait %kv[%slot] : !kv
        %ts = mla_gpu.mma %qt, %kt transposed : !q_tile, !tile -> !s
        %s = mla_gpu.mma_wait %ts : !s
        // Mask, on the tiles that need one.
        %first = arith.muli %j, %c64 : index
        %past = arith.addi %first, %c64 : index
        %masked = arith.cmpi ugt, %past, %free : index
        %s1 = scf.if %masked -> (!s) {
          %first32 = arith.index_cast %first : index to i32
          %first_row = mla_gpu.broadcast %first32 : i32 -> tensor<16xi32, #row>
          %limit_here = arith.subi %limit, %first_row : tensor<16xi32, #row>
          %limits = mla_gpu.broadcast %limit_here : tensor<16xi32, #row> -> tensor<16x64xi32, #s>
          %visible = arith.cmpi slt, %key, %limits : tensor<16x64xi32, #s>
          %kept = arith.select %visible, %s, %none : tensor<16x64xi1, #s>, !s
          scf.yield %kept : !s
        } else {
          scf.yield %s : !s
        }
        // Online softmax in base 2; sums stay apart by thread until the end.
        %x = mla_gpu.row_reduce max %s1 : !s -> !row
        %x1 = arith.mulf %x, %scale_row : !row
        %m1 = arith.maximumf %m, %x1 : !row
        %d = arith.subf %m, %m1 : !row
        %alpha = math.exp2 %d : !row
        %ms = mla_gpu.broadcast %m1 : !row -> !s
        %neg = arith.negf %ms : !s
        %e = math.fma %s1, %scale, %neg : !s
        %pf = math.exp2 %e : !s
        %alphas = mla_gpu.broadcast %alpha : !row -> !lanes
        %u = mla_gpu.row_reduce sum %pf : !s -> !lanes
        %l1 = math.fma %l, %alphas, %u : !lanes
        %pb = arith.truncf %pf : !s to tensor<16x64xbf16, #s>
        mla_gpu.store_shared %pb to %p : tensor<16x64xbf16, #s>, !p_tile
        %grew = arith.cmpf une, %alpha, %one : !row
        %o1 = mla_gpu.if_any %grew else(%o : !o) {
          %as = mla_gpu.broadcast %alpha : !row -> !o
          %scaled = arith.mulf %o, %as : !o
          mla_gpu.yield %scaled : !o
        } : tensor<16xi1, #row>
        %v = mla_gpu.view %kt[0:512] : !tile
        %left = arith.subi %keys, %first : index
        mla_gpu.clear_rows %v from %left : !v_tile
        %to = mla_gpu.mma %p, %v acc(%o1 : !o) : !p_tile, !v_tile -> !o
        %o2 = mla_gpu.mma_wait %to : !o
        mla_gpu.release %kv[%slot] : !kv
        scf.yield %o2, %m1, %l1 : !o, !row, !lanes
      }
      mla_gpu.release %q[%k] : !q

      // ---- finish: normalised rows and their log-sum-exp
      %dest = memref.load %work[%i, %c5] : !work
      %whole = memref.load %work[%i, %c6] : !work
      %sum = mla_gpu.row_reduce sum %state#2 : !lanes -> !row
      %empty = arith.cmpf oeq, %sum, %zero : !row
      %divisor = arith.select %empty, %one, %sum : tensor<16xi1, #row>, !row
      %inv = arith.divf %one, %divisor : !row
      %invs = mla_gpu.broadcast %inv : !row -> !o
      %normal = arith.mulf %state#0, %invs : !o
      %log = math.log2 %sum : !row
      %lse2 = arith.addf %state#1, %log : !row
      %is_whole = arith.cmpi ne, %whole, %c0 : index
      scf.if %is_whole {
        %rounded = arith.truncf %normal : !o to tensor<16x512xbf16, #s>
        mla_gpu.store_rows %rounded to %out[%dest, %c0] count(%rows) : tensor<16x512xbf16, #s>, memref<?x512xbf16>
        %ln2 = arith.constant dense<0.693147182> : !row
        %natural = arith.mulf %lse2, %ln2 : !row
        mla_gpu.store_rows %natural to %lse[%dest] count(%rows) : !row, memref<?xf32>
      } else {
        mla_gpu.store_rows %normal to %part_o[%dest, %c0] count(%rows) : !o, memref<?x512xf32>
        mla_gpu.store_rows %lse2 to %part_lse[%dest] count(%rows) : !row, memref<?xf32>
      }
      %n1 = arith.addi %n, %tiles : index
      scf.yield %n1 : index
    }
  }
  // ---- producers
  role "load" warps(1) {
    %done = scf.for %i = %begin to %end step %c1 iter_args(%n = %c0) -> (index) {
      %b = memref.load %work[%i, %c0] : !work
      %first = memref.load %work[%i, %c1] : !work
      %tiles = memref.load %work[%i, %c2] : !work
      scf.for %j = %c0 to %tiles step %c1 {
        %slot = arith.addi %n, %j : index
        %t = arith.addi %first, %j : index
        %id = memref.load %table[%b, %t] : memref<?x?xi32>  // on its way while the slot becomes free
        %page = arith.index_cast %id : i32 to index
        %dst = mla_gpu.acquire %kv[%slot] : !kv
        mla_gpu.tma_load %map_kv[%page, %c0, %c0] to %dst : !map_kv, !tile
        mla_gpu.commit %kv[%slot] : !kv
      }
      %n1 = arith.addi %n, %tiles : index
      scf.yield %n1 : index
    }
  }
  role "load_q" warps(1) {
    scf.for %i = %begin to %end step %c1 {
      %k = arith.subi %i, %begin : index
      %b = memref.load %work[%i, %c0] : !work
      %dst = mla_gpu.acquire %q[%k] : !q
      mla_gpu.tma_load %map_q[%b, %c0, %c0] to %dst : !map_q, !q_tile
      mla_gpu.commit %q[%k] : !q
    }
  }
  return
}
}
