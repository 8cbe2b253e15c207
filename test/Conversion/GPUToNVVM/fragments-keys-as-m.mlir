// Fragments with keys as M, by a warpgroup that does all of attention over tiles of 64 keys: 8 packed rows of 2 heads, 128
// columns. The maximum goes over the warps, within a loop and a branch.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s
// RUN: mla-opt %s --mla-gpu-to-nvvm | mla-translate --emit ptx | FileCheck %s --check-prefix=PTX
// RUN: sed 's/ : tensor<8x128xf16, #s>, memref/ aligned&/' %s | mla-opt --mla-convert-gpu-to-nvvm \
// RUN:   | FileCheck %s --check-prefix=ALIGNED --implicit-check-not=': i16, !llvm.ptr<1>'

#s = #mla_gpu.mma<m = keys, instr = [64, 8, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
#lanes = #mla_gpu.lanes<parent = #s>
!k_tile = !mla_gpu.tile<64x128xf16, swizzle = 128>
!q_tile = !mla_gpu.tile<8x128xf16, swizzle = 128>
!p_tile = !mla_gpu.tile<8x64xf16, swizzle = 64>
!k = tensor<64x128xf16, #s>
!q = tensor<8x128xf16, #s>
!s = tensor<8x64xf32, #s>
!o = tensor<8x128xf32, #s>
!row = tensor<8xf32, #row>
!lanes = tensor<8x32xf32, #lanes>

module attributes {
  mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"keys_as_m", []>], workspace = [],
    schedule = #mla.schedule<keys_as_m, block_m = 8, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1,
                             copy = tma>, mask = #mla.none, kv_heads = 1, group = 2>} {
// CHECK-LABEL: llvm.func @keys_as_m(
func.func @keys_as_m(%q: memref<?x2x128xf16> {mla.name = "q"}, %k: memref<?x128xf16> {mla.name = "k"},
                     %out: memref<?x2x128xf16> {mla.name = "out"}, %lse: memref<?x2xf32> {mla.name = "lse"},
                     %part: memref<?x128xf32> {mla.name = "part"}, %rows: i32 {mla.name = "rows"},
                     %keys: i32 {mla.name = "keys"})
    attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  // The half of the scratch that is next: 4 warps x 8 rows x 4 bytes each.
  // CHECK: [[TURN:%[0-9]+]] = llvm.alloca
  // CHECK: llvm.store {{.*}}, [[TURN]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %num_rows = arith.index_cast %rows : i32 to index
  %num_keys = arith.index_cast %keys : i32 to index
  %tiles = arith.ceildivui %num_keys, %c64 : index
  %k_tile = mla_gpu.alloc : !k_tile
  %q_tile = mla_gpu.alloc : !q_tile
  %p_tile = mla_gpu.alloc : !p_tile
  %q1 = arith.constant dense<1.0> : tensor<8x128xf32, #s>
  %qf = arith.truncf %q1 : tensor<8x128xf32, #s> to !q
  %k2 = arith.constant dense<2.0> : tensor<64x128xf32, #s>
  // One group of 8 rows: two matrices of 8 columns of a warp each, transposed; once for each 64 columns.
  // CHECK-COUNT-2: "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$0], {$1, $2};"
  mla_gpu.store_shared %qf to %q_tile : !q, !q_tile
  %o0 = arith.constant dense<0.0> : !o
  %m0 = arith.constant dense<-1.0e30> : !row
  %l0 = arith.constant dense<0.0> : !lanes
  %one = arith.constant dense<1.0> : !row
  %key = mla_gpu.iota dim(1) : tensor<8x64xi32, #s>
  // CHECK: scf.for
  %o, %m, %l = scf.for %i = %c0 to %tiles step %c1 iter_args(%oi = %o0, %mi = %m0, %li = %l0) -> (!o, !row, !lanes) {
    %first = arith.muli %i, %c64 : index
    %left = arith.subi %num_keys, %first : index
    %from = mla_gpu.broadcast %left : index -> tensor<8x64xindex, #s>
    %kf = arith.truncf %k2 : tensor<64x128xf32, #s> to !k
    // 16 rows of the tile are 16 x 128 bytes.
    // CHECK: "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], {$1, $2, $3, $4};"
    // CHECK: "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0+2048], {$1, $2, $3, $4};"
    // CHECK: "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0+6144], {$1, $2, $3, $4};"
    mla_gpu.store_shared %kf to %k_tile : !k, !k_tile
    // A = K, K-major, 64 rows of 128 bytes; B = Q, 8 rows of 128 bytes.
    // CHECK: mov.b32 a_high, 1073741888;\0Amov.b32 b_high, 1073741888;
    // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, a, b, begins, 1, 1, 0, 0;
    // CHECK-SAME: add.u32 low, $4, 6;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $5, 6;
    // CHECK-SAME: add.u32 low, $4, 512;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $5, 64;
    // CHECK-SAME: wgmma.wait_group.sync.aligned 0;
    %ts = mla_gpu.mma %q_tile, %k_tile transposed : !q_tile, !k_tile -> !s
    %s = mla_gpu.mma_wait %ts : !s
    %key_index = arith.index_cast %key : tensor<8x64xi32, #s> to tensor<8x64xindex, #s>
    %kept = mla_gpu.map %s, %key_index, %from {
    ^bb0(%x: f32, %j: index, %end: index):
      %visible = arith.cmpi slt, %j, %end : index
      %none = arith.constant 0xFF800000 : f32
      %y = arith.select %visible, %x, %none : f32
      mla_gpu.yield %y : f32
    } : !s, tensor<8x64xindex, #s>, tensor<8x64xindex, #s> -> !s
    // Two rows a thread: in the thread, over 8 lanes, over 4 warps.
    // CHECK-COUNT-2: nvvm.shfl.sync bfly {{.*}}, %c4_i32
    // CHECK-COUNT-2: nvvm.shfl.sync bfly {{.*}}, %c8_i32
    // CHECK-COUNT-2: nvvm.shfl.sync bfly {{.*}}, %c16_i32
    // CHECK: [[HALF:%[0-9]+]] = llvm.load [[TURN]]
    // CHECK: arith.subi %c128_i32{{.*}}, [[HALF]]
    // CHECK: llvm.store {{.*}}, [[TURN]]
    // CHECK: scf.if
    // CHECK: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
    // CHECK: bar.sync
    // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
    // CHECK-COUNT-6: llvm.intr.maxnum
    %x = mla_gpu.row_reduce max %kept : !s -> !row
    %outgrown = arith.cmpf ogt, %x, %mi : !row
    // CHECK: [[ANY:%[0-9]+]] = nvvm.vote.sync any
    // CHECK: scf.if [[ANY]]
    %mn, %scale = mla_gpu.if_any %outgrown else(%mi, %one : !row, !row) {
      %m1 = arith.maximumf %x, %mi : !row
      %dm = arith.subf %mi, %m1 : !row
      %a = math.exp2 %dm : !row
      mla_gpu.yield %m1, %a : !row, !row
    } : tensor<8xi1, #row>
    %ms = mla_gpu.broadcast %mn : !row -> !s
    %d = arith.subf %kept, %ms : !s
    %p = math.exp2 %d : !s
    %u = mla_gpu.row_reduce sum %p : !s -> !lanes
    %scale_lanes = mla_gpu.broadcast %scale : !row -> !lanes
    %ln = math.fma %li, %scale_lanes, %u : !lanes
    // CHECK-COUNT-2: "cvt.rn.f16x2.f32 $0, $1, $2;"
    %ph = arith.truncf %p : !s to tensor<8x64xf16, #s>
    mla_gpu.store_shared %ph to %p_tile : tensor<8x64xf16, #s>, !p_tile
    %scale_o = mla_gpu.broadcast %scale : !row -> !o
    %scaled = arith.mulf %oi, %scale_o : !o
    // CHECK: fence.proxy.async
    // CHECK: bar.sync
    // A = V, MN-major: 64 columns are 64 x 128 bytes on, 16 keys 16 x 128. B = P, K-major in rows of 64 bytes: 8 x 64 bytes on.
    // CHECK: mov.b32 a_high, 1073741888;\0Amov.b32 b_high, 2147483680;
    // CHECK-SAME: {$0, $1, $2, $3}, a, b, adds, 1, 1, 1, 0;
    // CHECK-SAME: add.u32 low, $16, 512;\0Amov.b64 a, {low, a_high};\0Amov.b64 b, {$17, b_high};
    // CHECK-SAME: {$4, $5, $6, $7}, a, b, adds, 1, 1, 1, 0;
    // CHECK-SAME: add.u32 low, $16, 128;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $17, 2;
    // CHECK-SAME: add.u32 low, $16, 256;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $17, 32;
    // CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,r,r"
    %to = mla_gpu.mma %p_tile, %k_tile acc(%scaled : !o) : !p_tile, !k_tile -> !o
    %on = mla_gpu.mma_wait %to : !o
    scf.yield %on, %mn, %ln : !o, !row, !lanes
  }
  // The same scratch.
  // CHECK: llvm.load [[TURN]]
  %sum = mla_gpu.row_reduce sum %l : !lanes -> !row
  %inv = arith.divf %one, %sum : !row
  %invs = mla_gpu.broadcast %inv : !row -> !o
  %normal = arith.mulf %o, %invs : !o
  %rounded = arith.truncf %normal : !o to tensor<8x128xf16, #s>
  // Lanes 4 apart exchange, and store 2 columns each of one row.
  // CHECK-COUNT-4: "prmt.b32 $0, $1, $2, $3;"
  // CHECK-COUNT-4: llvm.store {{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK-COUNT-8: llvm.store {{.*}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
  // Rows that are promised to be aligned have no other way.
  // ALIGNED-COUNT-4: llvm.store {{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
  mla_gpu.store_rows %rounded to %out[%c0, %c0] count(%num_rows) : tensor<8x128xf16, #s>, memref<?x2x128xf16>
  // A null pointer is asked for.
  // CHECK: llvm.ptrtoint
  // CHECK: scf.if
  // CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<1>
  mla_gpu.store_rows %normal to optional %part[%c0, %c0] count(%num_rows) : !o, memref<?x128xf32>
  %log = math.log2 %sum : !row
  %lse2 = arith.addf %m, %log : !row
  // Rows by four threads, two each.
  // CHECK: arith.cmpi ult, {{.*}}, %c4_i32
  // CHECK-COUNT-2: llvm.store {{.*}} : f32, !llvm.ptr<1>
  mla_gpu.store_rows %lse2 to %lse[%c0] count(%num_rows) : !row, memref<?x2xf32>
  return
}
}

// PTX: .visible .entry keys_as_m(
// PTX-NOT: .local
// PTX-COUNT-16: wgmma.mma_async.sync.aligned.m64n8k16
