// Round trips of the ops: what is written is printed, types and layouts by short names.
//
// RUN: mla-opt %s --verify-roundtrip | FileCheck %s
// RUN: mla-opt %s --mlir-print-op-generic | mla-opt | FileCheck %s
// RUN: mla-opt %s --emit-bytecode | mla-opt | FileCheck %s

// CHECK-DAG: ![[$RING:smem[0-9]*]] = !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
// CHECK-DAG: ![[$VECTORS:smem[0-9]*]] = !mla_gpu.smem<3x64xf32>
// CHECK-DAG: ![[$TILE:tile[0-9]*]] = !mla_gpu.tile<64x576xbf16, swizzle = 128>
// CHECK-DAG: ![[$SCALES:tile[0-9]*]] = !mla_gpu.tile<64xf32>
// CHECK-DAG: ![[$KV:pipeline[0-9]*]] = !mla_gpu.pipeline<3, !{{tile[0-9]*}}>
// CHECK-DAG: ![[$MAP:tensor_map[0-9]*]] = !mla_gpu.tensor_map<?x?x576xbf16, box = 64x64, swizzle = 128>
// CHECK-DAG: #[[$S:rows[0-9]*]] = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
// CHECK-DAG: #[[$ROW:slice[0-9]*]] = #mla_gpu.slice<dim = 1, parent = #[[$S]]>
// CHECK-DAG: #[[$LANES:lanes[0-9]*]] = #mla_gpu.lanes<parent = #[[$S]]>
#s = #mla_gpu.mma<m = rows, instr = [64, 64, 16]>
#row = #mla_gpu.slice<dim = 1, parent = #s>
!ring = !mla_gpu.smem<3x64x576xbf16, swizzle = 128>
!tile = !mla_gpu.tile<64x576xbf16, swizzle = 128>
!v = !mla_gpu.tile<64x64xbf16, swizzle = 128>
!kv = !mla_gpu.pipeline<3, !tile>
!p = !mla_gpu.pipeline<3, !v, !mla_gpu.tile<64xf32>>
!turn = !mla_gpu.pipeline<3>
!map = !mla_gpu.tensor_map<?x?x576xbf16, box = 64x64, swizzle = 128>
!s = tensor<64x64xf32, #s>
!row = tensor<64xf32, #row>
!lanes = tensor<64x4xf32, #mla_gpu.lanes<parent = #s>>

// CHECK-LABEL: func.func @pipelines(
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index, %[[MAP_:[a-z0-9]+]]: ![[$MAP]]
func.func @pipelines(%n: index, %map: !map) {
  // CHECK: mla_gpu.grid_wait
  mla_gpu.grid_wait
  // CHECK: mla_gpu.grid_launch_dependents
  mla_gpu.grid_launch_dependents
  // CHECK: %[[R:.*]] = mla_gpu.alloc : ![[$RING]]
  %ring = mla_gpu.alloc : !ring
  // CHECK: %[[V:.*]] = mla_gpu.alloc : ![[$VECTORS]]
  %scales = mla_gpu.alloc : !mla_gpu.smem<3x64xf32>
  // CHECK: %[[RKV:.*]] = mla_gpu.pipeline %[[R]][0:576] writer(tma) from("load") to("math", "other") : ![[$RING]]
  %kv = mla_gpu.pipeline %ring[0:576] writer(tma) from("load") to("math", "other") : !ring
  // CHECK: mla_gpu.pipeline %[[R]][512:576], %[[V]] writer(threads) from("math") to("other") after(%[[RKV]] : {{.*}}) : ![[$RING]], ![[$VECTORS]]
  %p = mla_gpu.pipeline %ring[512:576], %scales writer(threads) from("math") to("other") after(%kv : !kv)
    : !ring, !mla_gpu.smem<3x64xf32>
  // CHECK: mla_gpu.pipeline slots(3) writer(threads) from("math") to("other"){{$}}
  %turn = mla_gpu.pipeline slots(3) writer(threads) from("math") to("other")
  // CHECK: mla_gpu.warp_specialize
  mla_gpu.warp_specialize
  // CHECK-NEXT: role "math"(%[[N]]), "other"(%[[N]]) warps(4) registers(240) {
  role "math"(%n), "other"(%n) warps(4) registers(240) {
  // CHECK-NEXT: ^bb0(%[[K:.*]]: index):
  ^bb0(%k: index):
    // CHECK: %{{.*}} = mla_gpu.wait %[[RKV]][%[[K]]]
    %kt = mla_gpu.wait %kv[%k] : !kv
    // CHECK: mla_gpu.release %[[RKV]][%[[K]]]
    mla_gpu.release %kv[%k] : !kv
    // CHECK: %{{.*}}:2 = mla_gpu.acquire
    %pt, %at = mla_gpu.acquire %p[%k] : !p
    // CHECK: mla_gpu.commit
    mla_gpu.commit %p[%k] : !p
    // CHECK: mla_gpu.acquire %{{.*}}[%[[K]]]
    mla_gpu.acquire %turn[%k] : !turn
  }
  // CHECK: role "load" warps(4) registers(24) {
  role "load" warps(4) registers(24) {
    %dst = mla_gpu.acquire %kv[%n] : !kv
    // CHECK: mla_gpu.tma_load %[[MAP_]][%[[N]], %[[N]], %[[N]]] to %{{.*}} : ![[$MAP]], ![[$TILE]]
    mla_gpu.tma_load %map[%n, %n, %n] to %dst : !map, !tile
    mla_gpu.commit %kv[%n] : !kv
  }
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%kt: !tile, %pt: !v, %first: index, %pool: memref<?x64xbf16>, %out: memref<?x16x64xf32>, %lse: memref<?xf32>) {
  // CHECK: mla_gpu.view %{{.*}}[512:576] : ![[$TILE]]
  %v = mla_gpu.view %kt[512:576] : !tile
  // CHECK: mla_gpu.clear_rows %{{.*}} from %{{.*}} :
  mla_gpu.clear_rows %v from %first : !v
  // CHECK: mla_gpu.clear_rows %{{.*}} from %[[FROM:.*]] to %[[FROM]] :
  mla_gpu.clear_rows %v from %first to %first : !v
  // CHECK: mla_gpu.gather %{{.*}} to %{{.*}} {
  mla_gpu.gather %pool to %pt {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: index):
  ^bb0(%i: index):
    // CHECK-NEXT: mla_gpu.yield %[[I]] : index
    mla_gpu.yield %i : index
  } : memref<?x64xbf16>, !v
  // CHECK: mla_gpu.gather %{{.*}} to %{{.*}} aligned {
  mla_gpu.gather %pool to %pt aligned {
  ^bb0(%i: index):
    mla_gpu.yield %i : index
  } : memref<?x64xbf16>, !v
  // CHECK: mla_gpu.load_shared %{{.*}} : !{{tile[0-9]*}} -> tensor<64x64xbf16, #[[$S]]>
  %x = mla_gpu.load_shared %v : !v -> tensor<64x64xbf16, #s>
  // CHECK: mla_gpu.store_shared %{{.*}} to %{{.*}} : tensor<64x64xbf16, #[[$S]]>, !{{tile[0-9]*}}
  mla_gpu.store_shared %x to %pt : tensor<64x64xbf16, #s>, !v
  %o = arith.extf %x : tensor<64x64xbf16, #s> to !s
  // CHECK: mla_gpu.store_rows %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] count(%{{.*}}) : tensor<64x64xf32, #[[$S]]>, memref<?x16x64xf32>
  mla_gpu.store_rows %o to %out[%first, %first] count(%first) : !s, memref<?x16x64xf32>
  // CHECK: mla_gpu.store_rows %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] count(%{{.*}}) aligned : tensor
  mla_gpu.store_rows %o to %out[%first, %first] count(%first) aligned : !s, memref<?x16x64xf32>
  %m = mla_gpu.row_reduce max %o : !s -> !row
  // CHECK: mla_gpu.store_rows %{{.*}} to %{{.*}}[%{{.*}}] count(%{{.*}}) : tensor<64xf32, #[[$ROW]]>, memref<?xf32>
  mla_gpu.store_rows %m to %lse[%first] count(%first) : !row, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @fragments
func.func @fragments(%q: !v, %kt: !v, %qf: tensor<64x64xbf16, #s>, %x: f32) -> !s {
  // CHECK: %[[T:.*]] = mla_gpu.mma %{{.*}}, %{{.*}} transposed : {{.*}} -> tensor<64x64xf32, #[[$S]]>
  %t = mla_gpu.mma %q, %kt transposed : !v, !v -> !s
  // CHECK: %[[T1:.*]] = mla_gpu.mma %{{.*}}, %{{.*}} transposed acc(%[[T]] : !mla_gpu.inflight<tensor<64x64xf32, #[[$S]]>>) : tensor<64x64xbf16, #[[$S]]>, {{.*}} -> tensor<64x64xf32, #[[$S]]>
  %t1 = mla_gpu.mma %qf, %kt transposed acc(%t : !mla_gpu.inflight<!s>) : tensor<64x64xbf16, #s>, !v -> !s
  // CHECK: {{^ *}}mla_gpu.mma_wait %[[T]] : tensor<64x64xf32, #[[$S]]>
  mla_gpu.mma_wait %t : !s
  // CHECK: %[[W:.*]] = mla_gpu.mma_wait %[[T1]] : tensor<64x64xf32, #[[$S]]>
  %s = mla_gpu.mma_wait %t1 : !s
  // CHECK: mla_gpu.mma %{{.*}}, %{{.*}} acc(%[[W]] : tensor<64x64xf32, #[[$S]]>)
  %t2 = mla_gpu.mma %q, %kt acc(%s : !s) : !v, !v -> !s
  // CHECK: mla_gpu.row_reduce max %[[W]] : tensor<64x64xf32, #[[$S]]> -> tensor<64x4xf32, #[[$LANES]]>
  %lanes = mla_gpu.row_reduce max %s : !s -> !lanes
  // CHECK: mla_gpu.row_reduce sum %{{.*}} : tensor<64x4xf32, #[[$LANES]]> -> tensor<64xf32, #[[$ROW]]>
  %row = mla_gpu.row_reduce sum %lanes : !lanes -> !row
  // CHECK: mla_gpu.broadcast %{{.*}} : f32 -> tensor<64x64xf32, #[[$S]]>
  %all = mla_gpu.broadcast %x : f32 -> !s
  // CHECK: mla_gpu.broadcast %{{.*}} : tensor<64xf32, #[[$ROW]]> -> tensor<64x64xf32, #[[$S]]>
  %rows = mla_gpu.broadcast %row : !row -> !s
  // CHECK: mla_gpu.iota dim(1) : tensor<64x64xi32, #[[$S]]>
  %key = mla_gpu.iota dim(1) : tensor<64x64xi32, #s>
  // CHECK: mla_gpu.convert_layout %{{.*}} : tensor<64xf32, #[[$ROW]]> -> tensor<64xf32, #{{.*}}>
  %conv = mla_gpu.convert_layout %row : !row -> tensor<64xf32, #mla_gpu.slice<dim = 1, parent = <m = rows, instr = [64, 256, 16]>>>
  %grew = arith.cmpf ogt, %row, %row : !row
  // CHECK: %[[O:.*]] = mla_gpu.if_any %{{.*}} else(%{{.*}} : tensor<64x64xf32, #[[$S]]>) {
  %o = mla_gpu.if_any %grew else(%s : !s) {
    // CHECK: mla_gpu.yield %{{.*}} : tensor<64x64xf32, #[[$S]]>
    mla_gpu.yield %rows : !s
  // CHECK: } : tensor<64xi1, #[[$ROW]]>
  } : tensor<64xi1, #row>
  // CHECK: return %[[O]]
  return %o : !s
}
