// Many rows, rows as M: 64 packed (query, head) rows a CTA. One warpgroup does Q K^T and softmax with Q in registers, two
// do P V for half of O's columns each, and load what they read. Q comes through the ring like a tile of keys; P takes the
// place of its own tile's rope columns. 576/512 bf16, pages of 64, causal, whole items.
//
// RUN: mla-opt %s --mla-gpu-verify-protocol --verify-roundtrip | FileCheck %s
// RUN: mla-opt %s --mla-gpu-verify-protocol --remarks-filter=mla_gpu --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=BARRIERS

// CHECK-LABEL: func.func @rows_as_m
// CHECK: role "softmax" warps(4) registers(184)
// CHECK: role "left" warps(4) registers(160)
// CHECK: role "right" warps(4) registers(160)

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#o = #mla_gpu.mma<m = rows, instr = [64, 256, 16]>
#q = #mla_gpu.mma<m = rows, instr = [64, 16, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
#orow = #mla_gpu.slice<dim = 1, parent = #o>
#lanes = #mla_gpu.lanes<parent = #s>
!map = !mla_gpu.tensor_map<?x?x576xbf16, box = 64x64, swizzle = 128>
!ring = !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
!half = !mla_gpu.tile<64x256xbf16, swizzle = 128>
!q64 = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!k112 = !mla_gpu.tile<64x112xbf16, swizzle = 128>
!k128 = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!k16 = !mla_gpu.tile<64x16xbf16, swizzle = 128>
!q16 = !mla_gpu.tile<64x16xbf16, swizzle = 32>
!kv = !mla_gpu.pipeline<3, !half>
!rope = !mla_gpu.pipeline<3, !q64>
!p = !mla_gpu.pipeline<3, !q64, !mla_gpu.tile<64xf32>>
!go = !mla_gpu.pipeline<3>
!s = tensor<64x64xf32, #s>
!pb = tensor<64x64xbf16, #s>
!o = tensor<64x256xf32, #o>
!row = tensor<64xf32, #row>
!lanes = tensor<64x4xf32, #lanes>
!work = memref<?x6xindex>  // items: request, first tile, tiles, keys and keys that all rows see (from the first tile on), first row

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>} {
// What comes next in the ring, by item and turn of the item: Q, then its pages. Outer coordinate, row, is it Q; the turn after.
func.func private @turn(%work: !work, %table: memref<?x?xi32>, %i: index, %j: index) -> (index, index, i1, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %b = memref.load %work[%i, %c0] : !work
  %tiles = memref.load %work[%i, %c2] : !work
  %row0 = memref.load %work[%i, %c5] : !work
  %is_q = arith.cmpi eq, %j, %c0 : index
  %outer = scf.if %is_q -> index {
    scf.yield %b : index
  } else {
    %first = memref.load %work[%i, %c1] : !work
    %t = arith.addi %first, %j : index
    %t1 = arith.subi %t, %c1 : index
    %id = memref.load %table[%b, %t1] : memref<?x?xi32>
    %page = arith.index_cast %id : i32 to index
    scf.yield %page : index
  }
  %row = arith.select %is_q, %row0, %c0 : index
  %more = arith.cmpi ult, %j, %tiles : index
  %j1 = arith.addi %j, %c1 : index
  %i1 = arith.addi %i, %c1 : index
  %jn = arith.select %more, %j1, %c0 : index
  %in = arith.select %more, %i, %i1 : index
  return %outer, %row, %is_q, %in, %jn : index, index, i1, index, index
}

func.func @rows_as_m(%kv: !map, %q: !map, %table: memref<?x?xi32>, %work: !work, %items: memref<?xindex>,
                     %out: memref<?x512xbf16>, %lse: memref<?xf32>, %scale_log2: f32, %heads: i32, %rows: index, %cta: index) {
  // ---- setup
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %ring = mla_gpu.alloc : !ring
  %scales = mla_gpu.alloc : !mla_gpu.smem<3x64xf32>
  %q_rope = mla_gpu.alloc : !q64  // Q columns 512-575 and 496-511; the others fit the registers
  %q_last = mla_gpu.alloc : !q16
  %left = mla_gpu.pipeline %ring[0:256] writer(tma) from("left") to("softmax", "left") : !ring
  %right = mla_gpu.pipeline %ring[256:512] writer(tma) from("right") to("softmax", "right") : !ring
  %rope = mla_gpu.pipeline %ring[512:576] writer(tma) from("right") to("softmax") : !ring
  %p = mla_gpu.pipeline %ring[512:576], %scales writer(threads) from("softmax") to("left", "right") after(%rope : !rope)
    : !ring, !mla_gpu.smem<3x64xf32>
  %go = mla_gpu.pipeline slots(3) writer(threads) from("softmax") to("left", "right")  // P V may queue behind Q K^T
  %next_cta = arith.addi %cta, %c1 : index
  %begin = memref.load %items[%cta] : memref<?xindex>
  %end = memref.load %items[%next_cta] : memref<?xindex>

  mla_gpu.warp_specialize
  // ---- Q K^T and softmax
  role "softmax" warps(4) registers(184) {
    %none = arith.constant dense<0xFF800000> : !s
    %zero = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %m0 = arith.constant dense<-1.0e30> : !row  // finite: a row that sees no key keeps l = 0 and no NaN
    %l0 = arith.constant dense<0.0> : !lanes
    %slack = arith.constant dense<8.0> : !lanes
    %row = mla_gpu.iota dim(0) : tensor<64xi32, #row>
    %key = mla_gpu.iota dim(1) : tensor<64x64xi32, #s>
    %scale = mla_gpu.broadcast %scale_log2 : f32 -> !s
    %scale_lanes = mla_gpu.broadcast %scale_log2 : f32 -> !lanes
    %heads_row = mla_gpu.broadcast %heads : i32 -> tensor<64xi32, #row>
    %done = scf.for %i = %begin to %end step %c1 iter_args(%n = %c0) -> (index) {
      %tiles = memref.load %work[%i, %c2] : !work
      %keys = memref.load %work[%i, %c3] : !work
      %free = memref.load %work[%i, %c4] : !work
      %row0 = memref.load %work[%i, %c5] : !work
      // Q: to registers, and what does not fit to its own place; then its slot goes on without a P.
      %ql = mla_gpu.wait %left[%n] : !kv
      %q0 = mla_gpu.load_shared %ql : !half -> tensor<64x256xbf16, #q>
      mla_gpu.release %left[%n] : !kv
      %qr = mla_gpu.wait %right[%n] : !kv
      %qr1 = mla_gpu.view %qr[0:112] : !half
      %qr2 = mla_gpu.view %qr[112:240] : !half
      %qr3 = mla_gpu.view %qr[240:256] : !half
      %q1 = mla_gpu.load_shared %qr1 : !k112 -> tensor<64x112xbf16, #q>
      %q2 = mla_gpu.load_shared %qr2 : !k128 -> tensor<64x128xbf16, #q>
      %q3 = mla_gpu.load_shared %qr3 : !k16 -> tensor<64x16xbf16, #q>
      mla_gpu.store_shared %q3 to %q_last : tensor<64x16xbf16, #q>, !q16
      mla_gpu.release %right[%n] : !kv
      %qp = mla_gpu.wait %rope[%n] : !rope
      %q4 = mla_gpu.load_shared %qp : !q64 -> tensor<64x64xbf16, #q>
      mla_gpu.store_shared %q4 to %q_rope : tensor<64x64xbf16, #q>, !q64
      mla_gpu.release %rope[%n] : !rope
      %no_p:2 = mla_gpu.acquire %p[%n] : !p
      // The first key that a row does not see. Row r of the block is query (row0 + r) / heads.
      %keys32 = arith.index_cast %keys : index to i32
      %free32 = arith.index_cast %free : index to i32
      %keys_row = mla_gpu.broadcast %keys32 : i32 -> tensor<64xi32, #row>
      %free_row = mla_gpu.broadcast %free32 : i32 -> tensor<64xi32, #row>
      %query = arith.divsi %row, %heads_row : tensor<64xi32, #row>
      %own = arith.addi %free_row, %query : tensor<64xi32, #row>
      %limit = arith.minsi %own, %keys_row : tensor<64xi32, #row>
      %n1 = arith.addi %n, %c1 : index
      %last = arith.addi %n, %tiles : index
      %next = arith.addi %last, %c1 : index
      %state:2 = scf.for %k = %n1 to %next step %c1 iter_args(%m = %m0, %l = %l0) -> (!row, !lanes) {
        %before = arith.subi %k, %c1 : index
        %kl = mla_gpu.wait %left[%k] : !kv
        %t0 = mla_gpu.mma %q0, %kl transposed : tensor<64x256xbf16, #q>, !half -> !s
        mla_gpu.commit %p[%before] : !p  // was stored long ago: published here, off the critical path
        %kr = mla_gpu.wait %right[%k] : !kv
        %kp = mla_gpu.wait %rope[%k] : !rope
        %k1 = mla_gpu.view %kr[0:112] : !half
        %k2 = mla_gpu.view %kr[112:240] : !half
        %k3 = mla_gpu.view %kr[240:256] : !half
        %t1 = mla_gpu.mma %q1, %k1 transposed acc(%t0 : !mla_gpu.inflight<!s>) : tensor<64x112xbf16, #q>, !k112 -> !s
        %t2 = mla_gpu.mma %q_rope, %kp transposed acc(%t1 : !mla_gpu.inflight<!s>) : !q64, !q64 -> !s
        %t3 = mla_gpu.mma %q_last, %k3 transposed acc(%t2 : !mla_gpu.inflight<!s>) : !q16, !k16 -> !s
        %t4 = mla_gpu.mma %q2, %k2 transposed acc(%t3 : !mla_gpu.inflight<!s>) : tensor<64x128xbf16, #q>, !k128 -> !s
        mla_gpu.mma_wait %t3 : !s  // the last eight steps still run when the P V of the tile before gets going
        mla_gpu.acquire %go[%before] : !go
        mla_gpu.commit %go[%before] : !go
        %s = mla_gpu.mma_wait %t4 : !s
        mla_gpu.release %left[%k] : !kv
        mla_gpu.release %right[%k] : !kv
        mla_gpu.release %rope[%k] : !rope
        // Mask, on the tiles that need one.
        %j = arith.subi %k, %n1 : index
        %first = arith.muli %j, %c64 : index
        %past = arith.addi %first, %c64 : index
        %masked = arith.cmpi ugt, %past, %free : index
        %s1 = scf.if %masked -> (!s) {
          %first32 = arith.index_cast %first : index to i32
          %first_row = mla_gpu.broadcast %first32 : i32 -> tensor<64xi32, #row>
          %limit_here = arith.subi %limit, %first_row : tensor<64xi32, #row>
          %limits = mla_gpu.broadcast %limit_here : tensor<64xi32, #row> -> tensor<64x64xi32, #s>
          %visible = arith.cmpi slt, %key, %limits : tensor<64x64xi32, #s>
          %kept = arith.select %visible, %s, %none : tensor<64x64xi1, #s>, !s
          scf.yield %kept : !s
        } else {
          scf.yield %s : !s
        }
        // A new reference only if some row has outgrown it by 2^8.
        %x = mla_gpu.row_reduce max %s1 : !s -> !lanes
        %x1 = arith.mulf %x, %scale_lanes : !lanes
        %m_lanes = mla_gpu.broadcast %m : !row -> !lanes
        %bound = arith.addf %m_lanes, %slack : !lanes
        %grew = arith.cmpf ogt, %x1, %bound : !lanes
        %ref:3 = mla_gpu.if_any %grew else(%m, %one, %l : !row, !row, !lanes) {
          %x2 = mla_gpu.row_reduce max %x1 : !lanes -> !row
          %m1 = arith.maximumf %m, %x2 : !row
          %d = arith.subf %m, %m1 : !row
          %alpha = math.exp2 %d : !row
          %alphas = mla_gpu.broadcast %alpha : !row -> !lanes
          %l1 = arith.mulf %l, %alphas : !lanes
          mla_gpu.yield %m1, %alpha, %l1 : !row, !row, !lanes
        } : tensor<64x4xi1, #lanes>
        %ms = mla_gpu.broadcast %ref#0 : !row -> !s
        %neg = arith.negf %ms : !s
        %e = math.fma %s1, %scale, %neg : !s
        %pf = math.exp2 %e : !s
        %u = mla_gpu.row_reduce sum %pf : !s -> !lanes
        %l2 = arith.addf %ref#2, %u : !lanes
        // The last tile's P and scale also normalise: O needs no row sums.
        %is_last = arith.cmpi eq, %k, %last : index
        %out_p:2 = scf.if %is_last -> (!s, !row) {
          %sum = mla_gpu.row_reduce sum %l2 : !lanes -> !row
          %empty = arith.cmpf oeq, %sum, %zero : !row
          %divisor = arith.select %empty, %one, %sum : tensor<64xi1, #row>, !row
          %inv = arith.divf %one, %divisor : !row
          %invs = mla_gpu.broadcast %inv : !row -> !s
          %pn = arith.mulf %pf, %invs : !s
          %an = arith.mulf %ref#1, %inv : !row
          scf.yield %pn, %an : !s, !row
        } else {
          scf.yield %pf, %ref#1 : !s, !row
        }
        %pb = arith.truncf %out_p#0 : !s to !pb
        %ps:2 = mla_gpu.acquire %p[%k] : !p
        mla_gpu.store_shared %pb to %ps#0 : !pb, !q64
        mla_gpu.store_shared %out_p#1 to %ps#1 : !row, !mla_gpu.tile<64xf32>
        scf.yield %ref#0, %l2 : !row, !lanes
      }
      mla_gpu.commit %p[%last] : !p
      mla_gpu.acquire %go[%last] : !go
      mla_gpu.commit %go[%last] : !go
      %sum = mla_gpu.row_reduce sum %state#1 : !lanes -> !row
      %log = math.log2 %sum : !row
      %lse2 = arith.addf %state#0, %log : !row
      %ln2 = arith.constant dense<0.693147182> : !row
      %natural = arith.mulf %lse2, %ln2 : !row
      mla_gpu.store_rows %natural to %lse[%row0] count(%rows) : !row, memref<?xf32>
      scf.yield %next : index
    }
  }
  // ---- P V of half the columns, and the loads of these columns
  role "left" warps(4) registers(160) {
    %o0 = arith.constant dense<0.0> : !o
    %one = arith.constant dense<1.0> : tensor<64xf32, #orow>
    %ahead:2 = scf.for %a = %c0 to %c3 step %c1 iter_args(%ai = %begin, %aj = %c0) -> (index, index) {
      %is_work = arith.cmpi ult, %ai, %end : index
      %to:2 = scf.if %is_work -> (index, index) {
        %t:5 = func.call @turn(%work, %table, %ai, %aj) : (!work, memref<?x?xi32>, index, index) -> (index, index, i1, index, index)
        %map = arith.select %t#2, %q, %kv : !map
        %dst = mla_gpu.acquire %left[%a] : !kv
        mla_gpu.tma_load %map[%t#0, %t#1, %c0] to %dst : !map, !half
        mla_gpu.commit %left[%a] : !kv
        scf.yield %t#3, %t#4 : index, index
      } else {
        scf.yield %ai, %aj : index, index
      }
      scf.yield %to#0, %to#1 : index, index
    }
    %done:3 = scf.for %i = %begin to %end step %c1 iter_args(%n = %c0, %bi = %ahead#0, %bj = %ahead#1) -> (index, index, index) {
      %tiles = memref.load %work[%i, %c2] : !work
      %keys = memref.load %work[%i, %c3] : !work
      %row0 = memref.load %work[%i, %c5] : !work
      %last = arith.addi %n, %tiles : index
      %next = arith.addi %last, %c1 : index
      %state:3 = scf.for %k = %n to %next step %c1 iter_args(%o = %o0, %ai = %bi, %aj = %bj) -> (!o, index, index) {
        %v = mla_gpu.wait %left[%k] : !kv
        %ps:2 = mla_gpu.wait %p[%k] : !p
        %is_tile = arith.cmpi ugt, %k, %n : index
        %o1 = scf.if %is_tile -> (!o) {
          %alpha = mla_gpu.load_shared %ps#1 : !mla_gpu.tile<64xf32> -> tensor<64xf32, #orow>
          %some = arith.cmpf une, %alpha, %one : tensor<64xf32, #orow>
          %scaled = mla_gpu.if_any %some else(%o : !o) {
            %as = mla_gpu.broadcast %alpha : tensor<64xf32, #orow> -> !o
            %o2 = arith.mulf %o, %as : !o
            mla_gpu.yield %o2 : !o
          } : tensor<64xi1, #orow>
          %j = arith.subi %k, %n : index
          %past = arith.muli %j, %c64 : index
          %over = arith.subi %keys, %past : index
          %left_keys = arith.addi %over, %c64 : index
          mla_gpu.clear_rows %v from %left_keys : !half
          mla_gpu.wait %go[%k] : !go
          %to = mla_gpu.mma %ps#0, %v acc(%scaled : !o) : !q64, !half -> !o
          %o3 = mla_gpu.mma_wait %to : !o
          scf.yield %o3 : !o
        } else {
          mla_gpu.wait %go[%k] : !go
          scf.yield %o : !o
        }
        mla_gpu.release %left[%k] : !kv
        mla_gpu.release %p[%k] : !p
        mla_gpu.release %go[%k] : !go
        // The slot's next content, three turns on.
        %k3 = arith.addi %k, %c3 : index
        %is_work = arith.cmpi ult, %ai, %end : index
        %ahead2:2 = scf.if %is_work -> (index, index) {
          %t:5 = func.call @turn(%work, %table, %ai, %aj) : (!work, memref<?x?xi32>, index, index) -> (index, index, i1, index, index)
          %map = arith.select %t#2, %q, %kv : !map
          %dst = mla_gpu.acquire %left[%k3] : !kv
          mla_gpu.tma_load %map[%t#0, %t#1, %c0] to %dst : !map, !half
          mla_gpu.commit %left[%k3] : !kv
          scf.yield %t#3, %t#4 : index, index
        } else {
          scf.yield %ai, %aj : index, index
        }
        scf.yield %o1, %ahead2#0, %ahead2#1 : !o, index, index
      }
      %rounded = arith.truncf %state#0 : !o to tensor<64x256xbf16, #o>
      mla_gpu.store_rows %rounded to %out[%row0, %c0] count(%rows) : tensor<64x256xbf16, #o>, memref<?x512xbf16>
      scf.yield %next, %state#1, %state#2 : index, index, index
    }
  }
  role "right" warps(4) registers(160) {
    %o0 = arith.constant dense<0.0> : !o
    %one = arith.constant dense<1.0> : tensor<64xf32, #orow>
    %ahead:2 = scf.for %a = %c0 to %c3 step %c1 iter_args(%ai = %begin, %aj = %c0) -> (index, index) {
      %is_work = arith.cmpi ult, %ai, %end : index
      %to:2 = scf.if %is_work -> (index, index) {
        %t:5 = func.call @turn(%work, %table, %ai, %aj) : (!work, memref<?x?xi32>, index, index) -> (index, index, i1, index, index)
        %map = arith.select %t#2, %q, %kv : !map
        %dst = mla_gpu.acquire %right[%a] : !kv
        mla_gpu.tma_load %map[%t#0, %t#1, %c256] to %dst : !map, !half
        mla_gpu.commit %right[%a] : !kv
        %dst_rope = mla_gpu.acquire %rope[%a] : !rope
        mla_gpu.tma_load %map[%t#0, %t#1, %c512] to %dst_rope : !map, !q64
        mla_gpu.commit %rope[%a] : !rope
        scf.yield %t#3, %t#4 : index, index
      } else {
        scf.yield %ai, %aj : index, index
      }
      scf.yield %to#0, %to#1 : index, index
    }
    %done:3 = scf.for %i = %begin to %end step %c1 iter_args(%n = %c0, %bi = %ahead#0, %bj = %ahead#1) -> (index, index, index) {
      %tiles = memref.load %work[%i, %c2] : !work
      %keys = memref.load %work[%i, %c3] : !work
      %row0 = memref.load %work[%i, %c5] : !work
      %last = arith.addi %n, %tiles : index
      %next = arith.addi %last, %c1 : index
      %state:3 = scf.for %k = %n to %next step %c1 iter_args(%o = %o0, %ai = %bi, %aj = %bj) -> (!o, index, index) {
        %v = mla_gpu.wait %right[%k] : !kv
        %ps:2 = mla_gpu.wait %p[%k] : !p
        %is_tile = arith.cmpi ugt, %k, %n : index
        %o1 = scf.if %is_tile -> (!o) {
          %alpha = mla_gpu.load_shared %ps#1 : !mla_gpu.tile<64xf32> -> tensor<64xf32, #orow>
          %some = arith.cmpf une, %alpha, %one : tensor<64xf32, #orow>
          %scaled = mla_gpu.if_any %some else(%o : !o) {
            %as = mla_gpu.broadcast %alpha : tensor<64xf32, #orow> -> !o
            %o2 = arith.mulf %o, %as : !o
            mla_gpu.yield %o2 : !o
          } : tensor<64xi1, #orow>
          %j = arith.subi %k, %n : index
          %past = arith.muli %j, %c64 : index
          %over = arith.subi %keys, %past : index
          %left_keys = arith.addi %over, %c64 : index
          mla_gpu.clear_rows %v from %left_keys : !half
          mla_gpu.wait %go[%k] : !go
          %to = mla_gpu.mma %ps#0, %v acc(%scaled : !o) : !q64, !half -> !o
          %o3 = mla_gpu.mma_wait %to : !o
          scf.yield %o3 : !o
        } else {
          mla_gpu.wait %go[%k] : !go
          scf.yield %o : !o
        }
        mla_gpu.release %right[%k] : !kv
        mla_gpu.release %p[%k] : !p
        mla_gpu.release %go[%k] : !go
        // The slot's next content, three turns on.
        %k3 = arith.addi %k, %c3 : index
        %is_work = arith.cmpi ult, %ai, %end : index
        %ahead2:2 = scf.if %is_work -> (index, index) {
          %t:5 = func.call @turn(%work, %table, %ai, %aj) : (!work, memref<?x?xi32>, index, index) -> (index, index, i1, index, index)
          %map = arith.select %t#2, %q, %kv : !map
          %dst = mla_gpu.acquire %right[%k3] : !kv
          mla_gpu.tma_load %map[%t#0, %t#1, %c256] to %dst : !map, !half
          mla_gpu.commit %right[%k3] : !kv
          %dst_rope = mla_gpu.acquire %rope[%k3] : !rope
          mla_gpu.tma_load %map[%t#0, %t#1, %c512] to %dst_rope : !map, !q64
          mla_gpu.commit %rope[%k3] : !rope
          scf.yield %t#3, %t#4 : index, index
        } else {
          scf.yield %ai, %aj : index, index
        }
        scf.yield %o1, %ahead2#0, %ahead2#1 : !o, index, index
      }
      %rounded = arith.truncf %state#0 : !o to tensor<64x256xbf16, #o>
      mla_gpu.store_rows %rounded to %out[%row0, %c256] count(%rows) : tensor<64x256xbf16, #o>, memref<?x512xbf16>
      scf.yield %next, %state#1, %state#2 : index, index, index
    }
  }
  return
}
}
