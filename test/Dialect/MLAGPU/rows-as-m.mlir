// Many rows, rows as M: 64 packed (query, head) rows a CTA. One warpgroup does Q K^T and softmax with Q in registers, two do
// P V for half of O's columns each and load what they read. Q comes through the ring like a tile of keys; P takes the place
// of its own tile's rope columns. 576/512 bf16, pages of 64. Run and checked by examples.test.
// RUN: mla-opt %s --mla-gpu-verify-protocol --verify-roundtrip -o /dev/null

#schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 3, row_blocks = 1, copy = tma>
#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#o = #mla_gpu.mma<m = rows, instr = [64, 256, 16]>
#q = #mla_gpu.mma<m = rows, instr = [64, 16, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
#lanes = #mla_gpu.lanes<parent = #s>
!map = !mla_gpu.tensor_map<?x?x576xbf16, box = 64x64, swizzle = 128>
!ring = !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
!half = !mla_gpu.tile<64x256xbf16, swizzle = 128>
!t64 = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!t112 = !mla_gpu.tile<64x112xbf16, swizzle = 128>
!t128 = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!t16 = !mla_gpu.tile<64x16xbf16, swizzle = 128>
!q16 = !mla_gpu.tile<64x16xbf16, swizzle = 32>
!v64 = !mla_gpu.tile<64xf32>
!kv = !mla_gpu.pipeline<3, !half>
!rope = !mla_gpu.pipeline<3, !t64>
!p = !mla_gpu.pipeline<3, !t64, !v64>
!go = !mla_gpu.pipeline<3>
!s = tensor<64x64xf32, #s>
!o = tensor<64x256xf32, #o>
!row = tensor<64xf32, #row>
!orow = tensor<64xf32, #mla_gpu.slice<dim = 1, parent = #o>>
!lanes = tensor<64x4xf32, #lanes>
!list = memref<?xindex>

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"rows_as_m", []>], workspace = [], schedule = #schedule,
    mask = #mla.none, kv_heads = 1, group = 16>} {
// Turns of the CTA's ring are Q and then the pages of keys of each item. Item i: first turn (and, for the last, the end), 64 x
// turn where its keys end, first row of the result. Turn: outer coordinate of the box and its first row, -1 for keys.
func.func @rows_as_m(
    %kv_map: !map {mla.name = "k", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 3], box = 64x64, swizzle = 128>},
    %q_map: !map {mla.name = "q", mla.tensor_map = #mla.tensor_map<dims = [0, 1, 2], box = 64x64, swizzle = 128>},
    %turn_of: !list {mla.name = "turn_of"}, %end_of: !list {mla.name = "end_of"}, %row_of: !list {mla.name = "row_of"},
    %items32: i32 {mla.name = "items"}, %outer_of: !list {mla.name = "outer_of"}, %box_row_of: !list {mla.name = "box_row_of"},
    %scale_log2: f32 {mla.name = "scale_log2"}, %out: memref<?x512xbf16> {mla.name = "out"},
    %lse: memref<?xf32> {mla.name = "lse"}, %rows32: i32 {mla.name = "rows"}) attributes {mla.entry = 0} {
  // ---- setup
  %items = arith.index_cast %items32 : i32 to index   %rows = arith.index_cast %rows32 : i32 to index
  %c0 = arith.constant 0 : index   %c1 = arith.constant 1 : index   %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index   %c256 = arith.constant 256 : index   %c512 = arith.constant 512 : index
  %ring = mla_gpu.alloc : !ring   %scales = mla_gpu.alloc : !mla_gpu.smem<3x64xf32>
  %q_rope = mla_gpu.alloc : !t64  // Q columns 512-575 and 496-511; the others fit the registers
  %q_last = mla_gpu.alloc : !q16
  %left = mla_gpu.pipeline %ring[0:256] writer(tma) from("left") to("softmax", "left") : !ring
  %right = mla_gpu.pipeline %ring[256:512] writer(tma) from("right") to("softmax", "right") : !ring
  %rope = mla_gpu.pipeline %ring[512:576] writer(tma) from("right") to("softmax") : !ring
  %p = mla_gpu.pipeline %ring[512:576], %scales writer(threads) from("softmax") to("left", "right") after(%rope : !rope)
    : !ring, !mla_gpu.smem<3x64xf32>
  %go = mla_gpu.pipeline slots(3) writer(threads) from("softmax") to("left", "right")
  %turns = memref.load %turn_of[%items] : !list

  mla_gpu.warp_specialize
  // ---- Q K^T and softmax
  role "softmax" warps(4) registers(184) {
    %none = arith.constant dense<0xFF800000> : !s   %one = arith.constant dense<1.0> : !row
    %m0 = arith.constant dense<-1.0e30> : !row  // finite: a row that sees no key keeps l = 0 and no NaN
    %l0 = arith.constant dense<0.0> : !lanes
    %tiny = arith.constant dense<1.0e-30> : !row   %slack = arith.constant dense<8.0> : !lanes
    %key = mla_gpu.iota dim(1) : tensor<64x64xindex, #s>
    %scale = mla_gpu.broadcast %scale_log2 : f32 -> !s   %scale_lanes = mla_gpu.broadcast %scale_log2 : f32 -> !lanes
    scf.for %i = %c0 to %items step %c1 {
      %n = memref.load %turn_of[%i] : !list   %i1 = arith.addi %i, %c1 : index   %next = memref.load %turn_of[%i1] : !list
      %end = memref.load %end_of[%i] : !list
      // Q to registers, and what does not fit to its own place. Its slot goes on without a P.
      %ql = mla_gpu.wait %left[%n] : !kv   %qr = mla_gpu.wait %right[%n] : !kv   %qp = mla_gpu.wait %rope[%n] : !rope
      %qr1 = mla_gpu.view %qr[0:112] : !half   %qr2 = mla_gpu.view %qr[112:240] : !half   %qr3 = mla_gpu.view %qr[240:256] : !half
      %q0 = mla_gpu.load_shared %ql : !half -> tensor<64x256xbf16, #q>
      %q1 = mla_gpu.load_shared %qr1 : !t112 -> tensor<64x112xbf16, #q>
      %q2 = mla_gpu.load_shared %qr2 : !t128 -> tensor<64x128xbf16, #q>
      %q3 = mla_gpu.load_shared %qr3 : !t16 -> tensor<64x16xbf16, #q>
      %q4 = mla_gpu.load_shared %qp : !t64 -> tensor<64x64xbf16, #q>
      mla_gpu.store_shared %q3 to %q_last : tensor<64x16xbf16, #q>, !q16
      mla_gpu.store_shared %q4 to %q_rope : tensor<64x64xbf16, #q>, !t64
      mla_gpu.release %left[%n] : !kv   mla_gpu.release %right[%n] : !kv   mla_gpu.release %rope[%n] : !rope
      %no_p:2 = mla_gpu.acquire %p[%n] : !p
      %first = arith.addi %n, %c1 : index   %last = arith.subi %next, %c1 : index
      %m_end, %l_end = scf.for %k = %first to %next step %c1 iter_args(%m = %m0, %l = %l0) -> (!row, !lanes) {
        %before = arith.subi %k, %c1 : index
        %kl = mla_gpu.wait %left[%k] : !kv
        %t0 = mla_gpu.mma %q0, %kl transposed : tensor<64x256xbf16, #q>, !half -> !s
        mla_gpu.commit %p[%before] : !p  // stored long ago: published here, off the critical path
        %kr = mla_gpu.wait %right[%k] : !kv   %kp = mla_gpu.wait %rope[%k] : !rope
        %k1 = mla_gpu.view %kr[0:112] : !half   %k2 = mla_gpu.view %kr[112:240] : !half   %k3 = mla_gpu.view %kr[240:256] : !half
        %t1 = mla_gpu.mma %q1, %k1 transposed acc(%t0 : !mla_gpu.inflight<!s>) : tensor<64x112xbf16, #q>, !t112 -> !s
        %t2 = mla_gpu.mma %q_rope, %kp transposed acc(%t1 : !mla_gpu.inflight<!s>) : !t64, !t64 -> !s
        %t3 = mla_gpu.mma %q_last, %k3 transposed acc(%t2 : !mla_gpu.inflight<!s>) : !q16, !t16 -> !s
        %t4 = mla_gpu.mma %q2, %k2 transposed acc(%t3 : !mla_gpu.inflight<!s>) : tensor<64x128xbf16, #q>, !t128 -> !s
        mla_gpu.mma_wait %t3 : !s  // P V of the tile before queues behind the last eight steps
        mla_gpu.acquire %go[%before] : !go   mla_gpu.commit %go[%before] : !go
        %s = mla_gpu.mma_wait %t4 : !s
        mla_gpu.release %left[%k] : !kv   mla_gpu.release %right[%k] : !kv   mla_gpu.release %rope[%k] : !rope
        %is_last = arith.cmpi eq, %k, %last : index
        %s1 = scf.if %is_last -> (!s) {  // only the last tile can have keys past the end
          %begin = arith.muli %k, %c64 : index   %here = arith.subi %end, %begin : index
          %limit = mla_gpu.broadcast %here : index -> tensor<64x64xindex, #s>
          %visible = arith.cmpi slt, %key, %limit : tensor<64x64xindex, #s>
          %kept = arith.select %visible, %s, %none : tensor<64x64xi1, #s>, !s
          scf.yield %kept : !s
        } else { scf.yield %s : !s }
        // A new reference only if some row has outgrown the old one by 2^8.
        %x = mla_gpu.row_reduce max %s1 : !s -> !lanes
        %x1 = arith.mulf %x, %scale_lanes : !lanes
        %ml = mla_gpu.broadcast %m : !row -> !lanes   %bound = arith.addf %ml, %slack : !lanes
        %grew = arith.cmpf ogt, %x1, %bound : !lanes
        %m2, %alpha, %l1 = mla_gpu.if_any %grew else(%m, %one, %l : !row, !row, !lanes) {
          %x2 = mla_gpu.row_reduce max %x1 : !lanes -> !row
          %m1 = arith.maximumf %m, %x2 : !row
          %d = arith.subf %m, %m1 : !row   %a = math.exp2 %d : !row
          %as = mla_gpu.broadcast %a : !row -> !lanes   %la = arith.mulf %l, %as : !lanes
          mla_gpu.yield %m1, %a, %la : !row, !row, !lanes
        } : tensor<64x4xi1, #lanes>
        %ms = mla_gpu.broadcast %m2 : !row -> !s   %neg = arith.negf %ms : !s
        %e = math.fma %s1, %scale, %neg : !s
        %pf = math.exp2 %e : !s
        %u = mla_gpu.row_reduce sum %pf : !s -> !lanes
        %l2 = arith.addf %l1, %u : !lanes
        %pn, %an = scf.if %is_last -> (!s, !row) {  // the last P and scale also normalise: P V needs no row sums
          %sum = mla_gpu.row_reduce sum %l2 : !lanes -> !row
          %some = arith.maximumf %sum, %tiny : !row   %inv = arith.divf %one, %some : !row
          %invs = mla_gpu.broadcast %inv : !row -> !s
          %pi = arith.mulf %pf, %invs : !s   %ai = arith.mulf %alpha, %inv : !row
          scf.yield %pi, %ai : !s, !row
        } else { scf.yield %pf, %alpha : !s, !row }
        %pb = arith.truncf %pn : !s to tensor<64x64xbf16, #s>
        %p_here, %scale_here = mla_gpu.acquire %p[%k] : !p
        mla_gpu.store_shared %pb to %p_here : tensor<64x64xbf16, #s>, !t64
        mla_gpu.store_shared %an to %scale_here : !row, !v64
        scf.yield %m2, %l2 : !row, !lanes
      }
      mla_gpu.commit %p[%last] : !p
      mla_gpu.acquire %go[%last] : !go   mla_gpu.commit %go[%last] : !go
      %sum = mla_gpu.row_reduce sum %l_end : !lanes -> !row   %row = memref.load %row_of[%i] : !list
      %log = math.log2 %sum : !row   %lse2 = arith.addf %m_end, %log : !row
      %ln2 = arith.constant dense<0.693147182> : !row   %natural = arith.mulf %lse2, %ln2 : !row
      mla_gpu.store_rows %natural to %lse[%row] count(%rows) : !row, memref<?xf32>
    }
  }
  // ---- P V of half the columns, and the loads of these columns
  role "left"(%left, %c0), "right"(%right, %c256) warps(4) registers(160) {
  ^bb0(%half: !kv, %column: index):
    %o0 = arith.constant dense<0.0> : !o
    %one = arith.constant dense<1.0> : !orow
    %with_rope = arith.cmpi ne, %column, %c0 : index
    %fill = arith.subi %c0, %c3 : index  // the first item begins with three turns that only load
    %done = scf.for %i = %c0 to %items step %c1 iter_args(%from = %fill) -> (index) {
      %n = memref.load %turn_of[%i] : !list   %i1 = arith.addi %i, %c1 : index   %next = memref.load %turn_of[%i1] : !list
      %end = memref.load %end_of[%i] : !list   %row = memref.load %row_of[%i] : !list
      %o_end = scf.for %k = %from to %next step %c1 iter_args(%o = %o0) -> (!o) {
        %is_turn = arith.cmpi sge, %k, %n : index
        %o3 = scf.if %is_turn -> (!o) {
          %p_here, %scale_here = mla_gpu.wait %p[%k] : !p   %v = mla_gpu.wait %half[%k] : !kv   mla_gpu.wait %go[%k] : !go
          %is_tile = arith.cmpi ne, %k, %n : index
          %o2 = scf.if %is_tile -> (!o) {
            %alpha = mla_gpu.load_shared %scale_here : !v64 -> !orow
            %changed = arith.cmpf une, %alpha, %one : !orow
            %o1 = mla_gpu.if_any %changed else(%o : !o) {
              %alphas = mla_gpu.broadcast %alpha : !orow -> !o
              %scaled = arith.mulf %o, %alphas : !o
              mla_gpu.yield %scaled : !o
            } : tensor<64xi1, #mla_gpu.slice<dim = 1, parent = #o>>
            %begin = arith.muli %k, %c64 : index   %here = arith.subi %end, %begin : index
            mla_gpu.clear_rows %v from %here : !half
            %to = mla_gpu.mma %p_here, %v acc(%o1 : !o) : !t64, !half -> !o
            %sum = mla_gpu.mma_wait %to : !o
            scf.yield %sum : !o
          } else { scf.yield %o : !o }
          mla_gpu.release %half[%k] : !kv   mla_gpu.release %p[%k] : !p   mla_gpu.release %go[%k] : !go
          scf.yield %o2 : !o
        } else { scf.yield %o : !o }
        // What the slot holds next.
        %k3 = arith.addi %k, %c3 : index   %more = arith.cmpi slt, %k3, %turns : index
        scf.if %more {
          %outer = memref.load %outer_of[%k3] : !list   %box_row = memref.load %box_row_of[%k3] : !list
          %is_q = arith.cmpi sge, %box_row, %c0 : index
          %map = arith.select %is_q, %q_map, %kv_map : !map
          %y = arith.maxsi %box_row, %c0 : index
          %dst = mla_gpu.acquire %half[%k3] : !kv
          mla_gpu.tma_load %map[%outer, %y, %column] to %dst : !map, !half
          mla_gpu.commit %half[%k3] : !kv
          scf.if %with_rope {
            %dst_rope = mla_gpu.acquire %rope[%k3] : !rope
            mla_gpu.tma_load %map[%outer, %y, %c512] to %dst_rope : !map, !t64
            mla_gpu.commit %rope[%k3] : !rope
          }
        }
        scf.yield %o3 : !o
      }
      // ---- finish
      %rounded = arith.truncf %o_end : !o to tensor<64x256xbf16, #o>
      mla_gpu.store_rows %rounded to %out[%row, %column] count(%rows) : tensor<64x256xbf16, #o>, memref<?x512xbf16>
      scf.yield %next : index
    }
  }
  return
}
}
