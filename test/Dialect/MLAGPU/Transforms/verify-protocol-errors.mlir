// One error for each violation that mla-gpu-verify-protocol finds.
//
// RUN: mla-opt %s --split-input-file --mla-gpu-verify-protocol --verify-diagnostics

//===----------------------------------------------------------------------===//
// What is seen without running anything
//===----------------------------------------------------------------------===//

module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>} {
  // expected-error @+1 {{(protocol_c10) requires at most 232448 bytes of shared memory, but got 294912}}
  func.func @memory() {
    %0 = mla_gpu.alloc : !mla_gpu.smem<4x64x576xbf16, swizzle = 128>
    return
  }
}

// -----

func.func @role_name() {
  // expected-error @+1 {{(protocol_c8) requires roles that there are, but got 'lode'}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("lode") to("math")
  mla_gpu.warp_specialize
  role "math" warps(4) {
  }
  role "load" warps(1) {
  }
  return
}

// -----

func.func @overlap() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x128xbf16>
  // expected-note @+1 {{the other pipeline}}
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x128xbf16>
  // expected-error @+1 {{(protocol_c9) shares storage with a pipeline that it is not 'after'}}
  %1 = mla_gpu.pipeline %s[48:128] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x128xbf16>
  mla_gpu.warp_specialize
  role "a", "b" warps(4) {
  }
  return
}

// -----

func.func @two_after() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  // expected-note @+1 {{another one}}
  %1 = mla_gpu.pipeline %s[0:32] writer(threads) from("b") to("a")
    after(%0 : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>) : !mla_gpu.smem<2x64x64xbf16>
  // expected-error @+1 {{(protocol_c9) requires to be the only one that takes the place of its pipeline}}
  %2 = mla_gpu.pipeline %s[32:64] writer(threads) from("b") to("a")
    after(%0 : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>) : !mla_gpu.smem<2x64x64xbf16>
  mla_gpu.warp_specialize
  role "a", "b" warps(4) {
  }
  return
}

// -----

func.func @two_groups_of_roles() {
  mla_gpu.warp_specialize
  role "a" warps(4) {
  }
  // expected-error @+1 {{(protocol_c1) requires one mla_gpu.warp_specialize, directly in the function}}
  mla_gpu.warp_specialize
  role "b" warps(4) {
  }
  return
}

//===----------------------------------------------------------------------===//
// What cannot be followed
//===----------------------------------------------------------------------===//

// -----

func.func @while(%c: i1) {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c1) of role 'a' cannot be followed: requires scf.for and scf.if around pipeline ops}}
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
      scf.yield
    }
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @step(%n: index) {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c1) of role 'a' requires a known step}}
    scf.for %i = %c0 to %n step %n {
      mla_gpu.acquire %0[%i] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @foreign_tile(%t: !mla_gpu.tile<64x64xbf16>) {
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c1) of role 'a' requires a tile of the function's storage}}
    %0 = mla_gpu.load_shared %t : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  }
  return
}

//===----------------------------------------------------------------------===//
// Verbs of one role
//===----------------------------------------------------------------------===//

// -----

func.func @not_for_this_one() {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("c")
  mla_gpu.warp_specialize
  role "a", "b" warps(4) {
    // expected-error @+1 {{(protocol_c2) of role 'b' is not for this role, which does not write the pipeline}}
    mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2>
  }
  role "c" warps(4) {
  }
  return
}

// -----

func.func @order() {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2>
    // expected-error @+1 {{(protocol_c2) of role 'a' requires slots in order, 1 next, but got 0}}
    mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @not_acquired() {
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c2) of role 'a' requires a slot that it holds, but got 0}}
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2>
  }
  role "b" warps(4) {
  }
  return
}

// -----

// Committed on one path only.
func.func @not_committed(%c: i1) { // expected-note {{where this is false}}
  %c0 = arith.constant 0 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c2) of role 'a' requires to commit slot 0 before the role ends}}
    mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
    scf.if %c {
      mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<2>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

// Released in all trips but the third.
func.func @not_released(%n: index) { // expected-note {{where this is 3}}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %i = %c0 to %n step %c1 {
      mla_gpu.acquire %0[%i] : !mla_gpu.pipeline<2>
      mla_gpu.commit %0[%i] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @+1 {{(protocol_c2) of role 'b' requires to release slot 2 before the role ends}}
      mla_gpu.wait %0[%i] : !mla_gpu.pipeline<2>
      %most = arith.cmpi ne, %i, %c2 : index
      scf.if %most {
        mla_gpu.release %0[%i] : !mla_gpu.pipeline<2>
      }
    }
  }
  return
}

// -----

func.func @too_few_slots() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %i = %c0 to %c2 step %c1 {
      // expected-note @+1 {{slot 0 is held from here on}}
      mla_gpu.acquire %0[%i] : !mla_gpu.pipeline<2>
    }
    // expected-error @+1 {{(protocol_c3) of role 'a' requires more than the 2 slots that there are, for slot 2}}
    mla_gpu.acquire %0[%c2] : !mla_gpu.pipeline<2>
  }
  role "b" warps(4) {
  }
  return
}

//===----------------------------------------------------------------------===//
// Accesses of one role
//===----------------------------------------------------------------------===//

// -----

func.func @read_after_release() {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  mla_gpu.warp_specialize
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    // expected-error @+1 {{(protocol_c4) of role 'b' reads slot 0 after it let it go}}
    %x = mla_gpu.load_shared %t : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  }
  role "a" warps(4) {
  }
  return
}

// -----

// The other CTA of the cluster writes as long as this one holds the slot.
func.func @exchange_after_release(%o: tensor<16x512xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>,
                                  %l: tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>) {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<1x16x576xbf16>
  %0 = mla_gpu.pipeline %s[0:576] writer(threads) from("a") to("b") : !mla_gpu.smem<1x16x576xbf16>
  mla_gpu.warp_specialize
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<16x576xbf16>>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<16x576xbf16>>
    // expected-error @+1 {{(protocol_c4) of role 'b' writes slot 0 after it let it go}}
    %x:4 = mla_gpu.exchange %o, %l through %t
      : tensor<16x512xf32, #mla_gpu.mma<m = keys, instr = [64, 16, 16]>>,
        tensor<16xf32, #mla_gpu.slice<dim = 1, parent = <m = keys, instr = [64, 16, 16]>>>, !mla_gpu.tile<16x576xbf16>
  }
  role "a" warps(4) {
  }
  return
}

// -----

func.func @write_after_commit(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64>) {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(tma) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %t = mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    // expected-error @+1 {{(protocol_c4) of role 'a' writes slot 0 after it let it go}}
    mla_gpu.tma_load %m[%c0, %c0] to %t : !mla_gpu.tensor_map<?x64xbf16, box = 64x64>, !mla_gpu.tile<64x64xbf16>
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @other_writer(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64>) {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  // expected-note @+1 {{of this pipeline}}
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %t = mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    // expected-error @+1 {{(protocol_c4) of role 'a' requires a slot that it acquired, of a pipeline with writer(tma)}}
    mla_gpu.tma_load %m[%c0, %c0] to %t : !mla_gpu.tensor_map<?x64xbf16, box = 64x64>, !mla_gpu.tile<64x64xbf16>
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @released_in_flight() {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  mla_gpu.warp_specialize
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
    // expected-note @+1 {{not waited for}}
    %x = mla_gpu.mma %t, %t : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
    // expected-error @+1 {{(protocol_c4) of role 'b' lets slot 0 go while an MMA reads it}}
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>
  }
  role "a" warps(4) {
  }
  return
}

// -----

func.func @written_in_flight(%p: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  %t = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-note @+1 {{not waited for}}
    %x = mla_gpu.mma %t, %t : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
    // expected-error @+1 {{(protocol_c4) of role 'a' writes what an MMA reads}}
    mla_gpu.store_shared %p to %t : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16>
  }
  return
}

// -----

func.func @ends_in_flight() {
  %t = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(protocol_c4) of role 'a' is not waited for before the role ends}}
    %x = mla_gpu.mma %t, %t : !mla_gpu.tile<64x64xbf16>, !mla_gpu.tile<64x64xbf16> -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  }
  return
}

//===----------------------------------------------------------------------===//
// Roles together
//===----------------------------------------------------------------------===//

// -----

func.func @never_read() {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{of this pipeline}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2>
    // expected-error @+1 {{(protocol_c5) hands over slot 0, which role 'b' never waits for}}
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2>
  }
  role "b" warps(4) {
  }
  return
}

// -----

// Without tiles, "a" makes one trip and "b" none.
func.func @at_least_one(%counts: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{of this pipeline}}
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-note @+1 {{where this is 0}}
    %tiles = memref.load %counts[%c0] : memref<?xindex>
    %slots = arith.maxsi %tiles, %c1 : index
    scf.for %k = %c0 to %slots step %c1 {
      mla_gpu.acquire %x[%k] : !mla_gpu.pipeline<2>
      // expected-error @+1 {{(protocol_c5) hands over slot 0, which role 'b' never waits for}}
      mla_gpu.commit %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    %tiles = memref.load %counts[%c0] : memref<?xindex>
    scf.for %k = %c0 to %tiles step %c1 {
      mla_gpu.wait %x[%k] : !mla_gpu.pipeline<2>
      mla_gpu.release %x[%k] : !mla_gpu.pipeline<2>
    }
  }
  return
}

// -----

// Half of what is read was not written for this slot.
func.func @half_written(%m: !mla_gpu.tensor_map<?x64xbf16, box = 64x64>) {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x128xbf16>
  // expected-note @+1 {{of this pipeline}}
  %0 = mla_gpu.pipeline %s[0:128] writer(tma) from("a") to("b") : !mla_gpu.smem<2x64x128xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %t = mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x128xbf16>>
    %half = mla_gpu.view %t[0:64] : !mla_gpu.tile<64x128xbf16>
    mla_gpu.tma_load %m[%c0, %c0] to %half : !mla_gpu.tensor_map<?x64xbf16, box = 64x64>, !mla_gpu.tile<64x64xbf16>
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x128xbf16>>
  }
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x128xbf16>>
    %part = mla_gpu.view %t[32:96] : !mla_gpu.tile<64x128xbf16>
    // expected-error @+1 {{(protocol_c5) of role 'b' reads columns [32:96] of slot 0, which role 'a' has not all written}}
    %x = mla_gpu.load_shared %part : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<2, !mla_gpu.tile<64x128xbf16>>
  }
  return
}

// -----

// "a" wants to be two ahead of a pipeline with one slot, and "b" does not begin before.
func.func @deadlock(%n: index) { // expected-note {{where this is 2}}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(1) writer(threads) from("a") to("b")
  %y = mla_gpu.pipeline slots(1) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @+2 {{(protocol_c6) is never reached: deadlock; role 'a' tries to acquire slot 1}}
      // expected-note @+1 {{before that it acquired slot 0}}
      mla_gpu.acquire %x[%i] : !mla_gpu.pipeline<1>
      // expected-note @+1 {{it last committed slot 0}}
      mla_gpu.commit %x[%i] : !mla_gpu.pipeline<1>
    }
    mla_gpu.acquire %y[%c0] : !mla_gpu.pipeline<1>
    mla_gpu.commit %y[%c0] : !mla_gpu.pipeline<1>
  }
  role "b" warps(4) {
    // expected-note @+1 {{role 'b' waits for slot 0}}
    mla_gpu.wait %y[%c0] : !mla_gpu.pipeline<1>
    mla_gpu.release %y[%c0] : !mla_gpu.pipeline<1>
    scf.for %i = %c0 to %n step %c1 {
      mla_gpu.wait %x[%i] : !mla_gpu.pipeline<1>
      mla_gpu.release %x[%i] : !mla_gpu.pipeline<1>
    }
  }
  return
}

// -----

// P takes the place of columns that another role still reads.
func.func @overwritten(%p: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<1x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b", "c") : !mla_gpu.smem<1x64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    %t = mla_gpu.acquire %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
    mla_gpu.store_shared %p to %t : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16>
    mla_gpu.commit %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
  }
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
    // expected-note @+1 {{the other access}}
    %x = mla_gpu.load_shared %t : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
  }
  role "c" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
    // expected-error @+1 {{(protocol_c7) of role 'c' overwrites what role 'b' reads, and nothing orders the two}}
    mla_gpu.clear_rows %t from %c0 to %c0 : !mla_gpu.tile<64x64xbf16>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
  }
  return
}

// -----

// A tile without a pipeline is one role's.
func.func @shared_tile(%p: tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>) {
  %t = mla_gpu.alloc : !mla_gpu.tile<64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-note @+1 {{the other access}}
    mla_gpu.store_shared %p to %t : tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>, !mla_gpu.tile<64x64xbf16>
  }
  role "b" warps(4) {
    // expected-error @+1 {{(protocol_c7) of role 'b' reads what role 'a' writes, and nothing orders the two}}
    %x = mla_gpu.load_shared %t : !mla_gpu.tile<64x64xbf16> -> tensor<64x64xbf16, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  }
  return
}

// -----

// In a function that a role calls.
func.func private @keep(%pipeline: !mla_gpu.pipeline<2>, %slot: index) {
  // expected-error @+1 {{(protocol_c2) of role 'a' requires to commit slot 0 before the role ends}}
  mla_gpu.acquire %pipeline[%slot] : !mla_gpu.pipeline<2>
  return
}
func.func @called() {
  %c0 = arith.constant 0 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    func.call @keep(%x, %c0) : (!mla_gpu.pipeline<2>, index) -> ()
  }
  role "b" warps(4) {
  }
  return
}
