// Round trips of the types.
//
// RUN: mla-opt %s | mla-opt | FileCheck %s
// RUN: mla-opt %s --emit-bytecode | mla-opt | FileCheck %s

// CHECK: func.func private @plan(!mla.plan)
func.func private @plan(!mla.plan)

// CHECK: func.func private @item(!mla.item)
func.func private @item(!mla.item)

// CHECK: func.func private @kv_tile(!mla.kv_tile<64x576xbf16, v = 512>, !mla.kv_tile<16x64xf16, v = 64>, !mla.kv_tile<1x8xf32, v = 1>)
func.func private @kv_tile(!mla.kv_tile<64x576xbf16, v = 512>, !mla.kv_tile<16x64xf16, v = 64>, !mla.kv_tile<1x8xf32, v = 1>)
