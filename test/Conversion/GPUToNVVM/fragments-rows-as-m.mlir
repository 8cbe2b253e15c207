// Fragments with rows as M, by a warpgroup that does all of attention over one tile: 64 packed rows of 2 heads, 64 keys, 128
// columns. Q K^T with half of Q in registers and half in shared memory; tiles of all swizzles.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm | FileCheck %s
// RUN: sed 's/ : tensor<64x128xbf16, #o>, memref/ aligned&/' %s | mla-opt --mla-convert-gpu-to-nvvm \
// RUN:   | FileCheck %s --check-prefix=ALIGNED --implicit-check-not=': i16, !llvm.ptr<1>'
// RUN: mla-opt %s --mla-gpu-to-nvvm | mla-translate --emit ptx | FileCheck %s --check-prefix=PTX

#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#o = #mla_gpu.mma<m = rows, instr = [64, 128, 16]>
#q = #mla_gpu.mma<m = rows, instr = [64, 16, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
#orow = #mla_gpu.slice<dim = 1, parent = #o>
#lanes = #mla_gpu.lanes<parent = #s>
!k_tile = !mla_gpu.tile<64x128xbf16, swizzle = 128>
!half = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!half64 = !mla_gpu.tile<64x64xbf16, swizzle = 64>
!p_tile = !mla_gpu.tile<64x64xbf16, swizzle = 32>
!v_tile = !mla_gpu.tile<64x128xbf16, swizzle = 64>
!q = tensor<64x128xbf16, #q>
!half_q = tensor<64x64xbf16, #q>
!s = tensor<64x64xf32, #s>
!o = tensor<64x128xf32, #o>
!row = tensor<64xf32, #row>
!orow = tensor<64xf32, #orow>
!lanes = tensor<64x4xf32, #lanes>

module attributes {
  mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"rows_as_m", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2, row_blocks = 1,
                             copy = tma>, mask = #mla.none, kv_heads = 1, group = 2>} {
// CHECK-LABEL: llvm.func @rows_as_m(
func.func @rows_as_m(%q: memref<?x2x128xbf16> {mla.name = "q"}, %k: memref<?x128xbf16> {mla.name = "k"},
                     %out: memref<?x2x128xbf16> {mla.name = "out"}, %lse: memref<?x2xf32> {mla.name = "lse"},
                     %part: memref<?x128xf32> {mla.name = "part"}, %rows: i32 {mla.name = "rows"},
                     %keys: i32 {mla.name = "keys"})
    attributes {mla.entry = 0 : i64, mla_gpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %num_rows = arith.index_cast %rows : i32 to index
  %num_keys = arith.index_cast %keys : i32 to index
  %k_tile = mla_gpu.alloc : !k_tile
  %q_tile = mla_gpu.alloc : !half64
  %p_tile = mla_gpu.alloc : !p_tile
  %v_tile = mla_gpu.alloc : !v_tile
  %sums = mla_gpu.alloc : !mla_gpu.tile<64xf32>

  %x = arith.constant dense<1.0> : tensor<64x128xf32, #q>
  %kf = arith.truncf %x : tensor<64x128xf32, #q> to !q
  %y = arith.constant dense<2.0> : tensor<64x128xf32, #q>
  %qf = arith.truncf %y : tensor<64x128xf32, #q> to !q
  // Swizzle of 128 bytes: 64 columns are 4 steps by xor, the next 64 are 64 x 128 bytes on.
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};"
  // CHECK: arith.xori {{.*}}, %c32_i32
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+8192], {$1, $2, $3, $4};"
  mla_gpu.store_shared %kf to %k_tile : !q, !k_tile
  // Of 64: two steps, then 64 x 64 bytes on.
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+4096], {$1, $2, $3, $4};"
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+12288], {$1, $2, $3, $4};"
  mla_gpu.store_shared %kf to %v_tile : !q, !v_tile
  %stage = mla_gpu.alloc : !k_tile
  mla_gpu.store_shared %qf to %stage : !q, !k_tile
  %left = mla_gpu.view %stage[0:64] : !k_tile
  %right = mla_gpu.view %stage[64:128] : !k_tile
  // CHECK: bar.sync
  // CHECK-COUNT-8: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4
  %ql = mla_gpu.load_shared %left : !half -> !half_q
  %qr = mla_gpu.load_shared %right : !half -> !half_q
  mla_gpu.store_shared %qr to %q_tile : !half_q, !half64

  // A in registers, B K-major: the high halves are swizzle << 30 | 8 rows / 16 bytes; steps of 16 columns are 2 units of 16
  // bytes. Without acc, the first instruction overwrites.
  %kl = mla_gpu.view %k_tile[0:64] : !k_tile
  %kr = mla_gpu.view %k_tile[64:128] : !k_tile
  // CHECK: mov.b32 b_high, 1073741888;\0Awgmma.fence.sync.aligned;
  // CHECK-SAME: mov.b64 b, {$48, b_high};
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, {{[^{]*}}, $31}, {$32, $33, $34, $35}, b, begins, 1, 1, 0;
  // CHECK-SAME: add.u32 low, $48, 2;
  // CHECK-SAME: {$36, $37, $38, $39}, b, adds, 1, 1, 0;
  // CHECK-SAME: add.u32 low, $48, 6;
  // CHECK-SAME: wgmma.commit_group.sync.aligned;\0A}"
  %t0 = mla_gpu.mma %ql, %kl transposed : !half_q, !half -> !s
  // The tile that was just stored takes a fence and a barrier.
  // CHECK: fence.proxy.async
  // CHECK: bar.sync
  // A in a tile with swizzle 64: 32 columns, then 64 x 64 bytes on; K's second 64 columns are 64 x 128 bytes on.
  // CHECK: mov.b32 a_high, 2147483680;\0Amov.b32 b_high, 1073741888;
  // CHECK-SAME: mov.b64 a, {$64, a_high};\0Aadd.u32 low, $65, 512;\0Amov.b64 b, {low, b_high};
  // CHECK-SAME: a, b, adds, 1, 1, 0, 0;
  // CHECK-SAME: add.u32 low, $64, 2;
  // CHECK-SAME: add.u32 low, $64, 256;
  // CHECK-SAME: add.u32 low, $64, 258;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $65, 518;
  // CHECK-SAME: "=f,{{.*}},=f,0,1,{{.*}},31,r,r"
  %t1 = mla_gpu.mma %q_tile, %kr transposed acc(%t0 : !mla_gpu.inflight<!s>) : !half64, !half -> !s
  // One group was issued after %t0.
  // CHECK: "wgmma.wait_group.sync.aligned 1;", "" :
  mla_gpu.mma_wait %t0 : !s
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,{{.*}},0,
  %s = mla_gpu.mma_wait %t1 : !s

  %key = mla_gpu.iota dim(1) : tensor<64x64xindex, #s>
  %limit = mla_gpu.broadcast %num_keys : index -> tensor<64x64xindex, #s>
  %visible = arith.cmpi slt, %key, %limit : tensor<64x64xindex, #s>
  %none = arith.constant dense<0xFF800000> : !s
  %kept = arith.select %visible, %s, %none : tensor<64x64xi1, #s>, !s
  // The thread's 16 values of each of two rows, then two exchanges in the quad.
  // CHECK-COUNT-30: llvm.intr.maxnum
  // CHECK: nvvm.shfl.sync bfly {{.*}}, %c1_i32
  // CHECK: nvvm.shfl.sync bfly {{.*}}, %c2_i32
  %m = mla_gpu.row_reduce max %kept : !s -> !row
  %ms = mla_gpu.broadcast %m : !row -> !s
  %d = arith.subf %kept, %ms : !s
  // CHECK-COUNT-32: "ex2.approx.ftz.f32 $0, $1;"
  %p = math.exp2 %d : !s
  %lanes = mla_gpu.row_reduce sum %p : !s -> !lanes
  %l = mla_gpu.row_reduce sum %lanes : !lanes -> !row
  // CHECK-COUNT-16: "cvt.rn.bf16x2.f32 $0, $1, $2;"
  %pb = arith.truncf %p : !s to tensor<64x64xbf16, #s>
  // Of 32: each step is 64 x 32 bytes on.
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};"
  // CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+2048], {$1, $2, $3, $4};"
  mla_gpu.store_shared %pb to %p_tile : tensor<64x64xbf16, #s>, !p_tile
  // All lanes of a quad store the vector: one access.
  // CHECK-NOT: scf.if
  // CHECK-COUNT-2: llvm.store {{.*}} : f32, !llvm.ptr<3>
  mla_gpu.store_shared %l to %sums : !row, !mla_gpu.tile<64xf32>

  // B MN-major: 32 columns are 64 x 64 bytes apart (256 units, in the low half), 16 keys are 1024 bytes on. Waited for at once.
  // CHECK: arith.constant 16777216 : i32
  // CHECK: mov.b32 a_high, 3221225488;\0Amov.b32 b_high, 2147483680;
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, a, b, begins, 1, 1, 0, 1;
  // CHECK-SAME: add.u32 low, $64, 128;\0Amov.b64 a, {low, a_high};\0Aadd.u32 low, $65, 64;
  // CHECK-SAME: wgmma.commit_group.sync.aligned;\0Awgmma.wait_group.sync.aligned 0;\0A}"
  %to = mla_gpu.mma %p_tile, %v_tile : !p_tile, !v_tile -> !o
  %o = mla_gpu.mma_wait %to : !o
  // CHECK-NOT: wgmma
  %lo = mla_gpu.load_shared %sums : !mla_gpu.tile<64xf32> -> !orow
  %one = arith.constant dense<1.0> : !orow
  // CHECK-COUNT-2: "rcp.approx.ftz.f32 $0, $1;"
  %inv = arith.divf %one, %lo : !orow
  %invs = mla_gpu.broadcast %inv : !orow -> !o
  %normal = arith.mulf %o, %invs : !o
  %rounded = arith.truncf %normal : !o to tensor<64x128xbf16, #o>
  // 8 groups of 16 columns x 2 rows, each stored after its exchange, without a branch.
  // CHECK: scf.if
  // CHECK: nvvm.shfl.sync bfly {{.*}}, %c1_i32
  // CHECK-NOT: nvvm.shfl.sync bfly
  // CHECK: "@$0 st.global.v2.b32 [$1+0], {$2, $3};", "b,l,r,r" [[EXISTS0:%[0-9]+]], [[ROW0:%[0-9]+]],
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl.sync bfly
  // CHECK: "@$0 st.global.v2.b32 [$1+0], {$2, $3};", "b,l,r,r"
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl.sync bfly
  // CHECK: "@$0 st.global.v2.b32 [$1+32], {$2, $3};", "b,l,r,r" [[EXISTS0]], [[ROW0]],
  // CHECK: [$1+224], {$2
  // CHECK: [$1+224], {$2
  // CHECK: else
  // CHECK-COUNT-64: llvm.store {{.*}} : i16, !llvm.ptr<1>
  // Rows that are promised to be aligned are not asked for, and have no other way.
  // ALIGNED-COUNT-2: "rcp.approx.ftz.f32
  // ALIGNED-NOT: scf.if
  // ALIGNED-COUNT-16: st.global.v2.b32
  mla_gpu.store_rows %rounded to %out[%c0, %c0] count(%num_rows) : tensor<64x128xbf16, #o>, memref<?x2x128xbf16>
  // A quad's registers are 32 bytes of a row.
  // CHECK: "@$0 st.global.v2.f32 [$1+0], {$2, $3};", "b,l,f,f"
  // CHECK: "@$0 st.global.v2.f32 [$1+32], {$2, $3};", "b,l,f,f"
  mla_gpu.store_rows %normal to optional %part[%c0, %c0] count(%num_rows) : !o, memref<?x128xf32>
  %log = math.log2 %l : !row
  %lse2 = arith.addf %m, %log : !row
  mla_gpu.store_rows %lse2 to %lse[%c0] count(%num_rows) : !row, memref<?x2xf32>
  return
}
}

// PTX: .visible .entry rows_as_m(
// PTX-NOT: .local
// PTX-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16
// PTX: wgmma.wait_group.sync.aligned 1;
// PTX-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16
