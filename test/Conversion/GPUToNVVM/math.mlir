// Functions of f32 as the hardware's instructions.
// RUN: mla-opt %s --mla-convert-gpu-to-nvvm --canonicalize --cse | FileCheck %s

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>,
  mla.kernel = #mla.kernel<arguments = [], entries = [#mla.entry<"functions", []>], workspace = [],
    schedule = #mla.schedule<rows_as_m, block_m = 64, block_n = 64, split = whole, split_tiles = 1, stages = 2,
                             row_blocks = 1, copy = tma>, mask = #mla.none, kv_heads = 1, group = 16>} {

// CHECK-LABEL: llvm.func @functions
// CHECK: %[[X:.*]] = llvm.load
// CHECK: llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %[[X]]
// CHECK: %[[E:.*]] = arith.mulf %{{.*}}, %cst{{.*}}
// CHECK: "ex2.approx.ftz.f32 $0, $1;", "=f,f" %[[E]]
// CHECK: "lg2.approx.ftz.f32
// CHECK: %[[L:.*]] = llvm.inline_asm "lg2.approx.ftz.f32
// CHECK: arith.mulf %[[L]], %cst
// 1 - 2 / (2^(2 x log2 e) + 1), as a score may be a hundred times this.
// CHECK: %[[T:.*]] = llvm.inline_asm "ex2.approx.ftz.f32
// CHECK: %[[SUM:.*]] = arith.addf %[[T]], %{{.*}}
// CHECK: %[[INVERSE:.*]] = llvm.inline_asm "rcp.approx.ftz.f32 $0, $1;", "=f,f" %[[SUM]]
// CHECK: math.fma %[[INVERSE]], %{{.*}}, %{{.*}}
// CHECK: "sin.approx.ftz.f32
// CHECK: "cos.approx.ftz.f32
// CHECK: "rsqrt.approx.ftz.f32
// CHECK: "sqrt.approx.ftz.f32
// CHECK: "div.full.f32 $0, $1, $2;", "=f,f,f"
// CHECK: math.absf
// CHECK: llvm.intr.maximum
// CHECK: llvm.intr.minimum
func.func @functions(%x: memref<?xf32> {mla.name = "x"}) attributes {mla.entry = 0, mla_gpu.warps = 1} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<?xf32>
  %1 = math.exp2 %0 : f32
  %2 = math.exp %1 : f32
  %3 = math.log2 %2 : f32
  %4 = math.log %3 : f32
  %5 = math.tanh %4 : f32
  %6 = math.sin %5 : f32
  %7 = math.cos %6 : f32
  %8 = math.rsqrt %7 : f32
  %9 = math.sqrt %8 : f32
  %10 = arith.divf %9, %0 : f32
  %11 = math.absf %10 : f32
  %12 = arith.maximumf %11, %0 : f32
  %13 = arith.minimumf %12, %1 : f32
  memref.store %13, %x[%c0] : memref<?xf32>
  return
}
}
