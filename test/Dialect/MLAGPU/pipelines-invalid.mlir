// One error for each branch of the verifiers of storage, pipelines and roles.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func @alloc_place(%c: i1) {
  scf.if %c {
    // expected-error @+1 {{(alloc_c1) requires to be outside of roles, loops and branches}}
    %0 = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  }
  return
}

// -----

func.func @view_vector(%t: !mla_gpu.tile<64xf32>) {
  // expected-error @+1 {{(view_c1) requires a range of the tile's columns, but got [0:16] of '!mla_gpu.tile<64xf32>'}}
  %0 = mla_gpu.view %t[0:16] : !mla_gpu.tile<64xf32>
  return
}

// -----

func.func @view_range(%t: !mla_gpu.tile<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{(view_c1) requires a range of the tile's columns, but got [16:80]}}
  %0 = mla_gpu.view %t[16:80] : !mla_gpu.tile<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @view_step(%t: !mla_gpu.tile<64x64xbf16>) {
  // expected-error @+1 {{(view_c2) requires multiples of 16, but got [8:24]}}
  %0 = mla_gpu.view %t[8:24] : !mla_gpu.tile<64x64xbf16>
  return
}

// -----

func.func @no_storage() {
  // expected-error @+1 {{(pipeline_c1) requires 'slots' exactly where there is no storage}}
  %0 = mla_gpu.pipeline writer(threads) from("a") to("b")
  return
}

// -----

func.func @storage_and_slots() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  // expected-error @+1 {{(pipeline_c1) requires 'slots' exactly where there is no storage}}
  %0 = mla_gpu.pipeline %s[0:64] slots(2) writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  return
}

// -----

func.func @no_slots() {
  // expected-error @+1 {{(pipeline_c1) requires a positive number of slots, but got 0}}
  %0 = mla_gpu.pipeline slots(0) writer(threads) from("a") to("b")
  return
}

// -----

func.func @stages() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  %t = mla_gpu.alloc : !mla_gpu.smem<3x64xf32>
  // expected-error @+1 {{(pipeline_c1) requires storages of 3 stages, but got '!mla_gpu.smem<2x64x64xbf16>'}}
  %0 = mla_gpu.pipeline %s[0:64], %t writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>, !mla_gpu.smem<3x64xf32>
  return
}

// -----

func.func @range() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  // expected-error @+1 {{(pipeline_c2) requires a range of the columns that there are, but got [0:128]}}
  %0 = mla_gpu.pipeline %s[0:128] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  return
}

// -----

func.func @range_missing() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x64xbf16>
  // expected-error @+1 {{(pipeline_c2) requires a range of the columns that there are, but got [0:0]}}
  %0 = mla_gpu.pipeline %s writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x64xbf16>
  return
}

// -----

func.func @range_of_vector() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64xf32>
  // expected-error @+1 {{(pipeline_c2) requires a range of the columns that there are, but got [0:16]}}
  %0 = mla_gpu.pipeline %s[0:16] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64xf32>
  return
}

// -----

func.func @range_swizzle() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x128xbf16, swizzle = 128>
  // expected-error @+1 {{(pipeline_c2) requires multiples of 64, but got [32:128]}}
  %0 = mla_gpu.pipeline %s[32:128] writer(threads) from("a") to("b") : !mla_gpu.smem<2x64x128xbf16, swizzle = 128>
  return
}

// -----

func.func @ranges() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x128xbf16>
  // expected-error @+1 {{(pipeline_c2) requires a range for each storage}}
  %0 = "mla_gpu.pipeline"(%s) <{begins = array<i64>, ends = array<i64>, from = "a", to = ["b"], writer = 2 : i32, operandSegmentSizes = array<i32: 1, 0>}>
    : (!mla_gpu.smem<2x64x128xbf16>) -> !mla_gpu.pipeline<2>
  return
}

// -----

func.func @readers_twice() {
  // expected-error @+1 {{(pipeline_c3) requires different readers, but got 'b' twice}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b", "b")
  return
}

// -----

func.func @no_readers() {
  // expected-error @+1 {{(pipeline_c3) requires a reader}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to()
  return
}

// -----

func.func @after_elsewhere() {
  %s = mla_gpu.alloc : !mla_gpu.smem<2x64x128xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(tma) from("a") to("b") : !mla_gpu.smem<2x64x128xbf16>
  // expected-error @+1 {{(pipeline_c4) requires 'after' to name a pipeline of 2 stages whose place this one takes}}
  %1 = mla_gpu.pipeline %s[64:128] writer(threads) from("b") to("a")
    after(%0 : !mla_gpu.pipeline<2, !mla_gpu.tile<64x64xbf16>>) : !mla_gpu.smem<2x64x128xbf16>
  return
}

// -----

func.func @turn_writer() {
  // expected-error @+1 {{(pipeline_c5) requires writer(threads) without storage, but got tma}}
  %0 = mla_gpu.pipeline slots(2) writer(tma) from("a") to("b")
  return
}

// -----

func.func @pipeline_place(%c: i1) {
  scf.if %c {
    // expected-error @+1 {{(pipeline_c6) requires to be outside of roles, loops and branches}}
    %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  }
  return
}

// -----

func.func @unknown_pipeline(%p: !mla_gpu.pipeline<2>, %n: index) {
  mla_gpu.warp_specialize
  role "a" warps(1) {
    // expected-error @+1 {{(acquire_c1) requires an mla_gpu.pipeline of the function}}
    mla_gpu.acquire %p[%n] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

func.func @outside(%n: index) {
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  // expected-error @+1 {{(commit_c1) requires to be in a role}}
  mla_gpu.commit %0[%n] : !mla_gpu.pipeline<2>
  return
}

// -----

func.func @acquire_role(%n: index) {
  // expected-note @+1 {{declared here}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "b" warps(1) {
    // expected-error @+1 {{(acquire_c1) requires to be in a role that writes the pipeline, but got 'b'}}
    mla_gpu.acquire %0[%n] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

func.func @commit_role(%n: index) {
  // expected-note @+1 {{declared here}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "b" warps(1) {
    // expected-error @+1 {{(commit_c1) requires to be in a role that writes the pipeline, but got 'b'}}
    mla_gpu.commit %0[%n] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

func.func @wait_role(%n: index) {
  // expected-note @+1 {{declared here}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a"(%0), "c"(%0) warps(1) {
  ^bb0(%p: !mla_gpu.pipeline<2>):
    // expected-error @+1 {{(wait_c1) requires to be in a role that reads the pipeline, but got 'c'}}
    mla_gpu.wait %p[%n] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

func.func @release_role(%n: index) {
  // expected-note @+1 {{declared here}}
  %0 = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(1) {
    // expected-error @+1 {{(release_c1) requires to be in a role that reads the pipeline, but got 'a'}}
    mla_gpu.release %0[%n] : !mla_gpu.pipeline<2>
  }
  return
}

// -----

func.func @no_roles() {
  // expected-error @+1 {{(warp_specialize_c1) requires a name and warps for each of at least one role}}
  mla_gpu.warp_specialize
  return
}

// -----

func.func @same_name() {
  // expected-error @+1 {{(warp_specialize_c1) requires roles of different names, but got 'a' twice}}
  mla_gpu.warp_specialize
  role "a" warps(1) {
  }
  role "a" warps(1) {
  }
  return
}

// -----

func.func @warps() {
  // expected-error @+1 {{(warp_specialize_c1) requires 1 to 16 warps a role, but got 17 for 'a'}}
  mla_gpu.warp_specialize
  role "a" warps(17) {
  }
  return
}

// -----

func.func @all_warps() {
  // expected-error @+1 {{(warp_specialize_c1) requires at most 32 warps, but got 36}}
  mla_gpu.warp_specialize
  role "a", "b", "c" warps(12) {
  }
  return
}

// -----

func.func @some_registers() {
  // expected-error @+1 {{(warp_specialize_c2) requires registers for all roles or none, but got 1 for 2}}
  mla_gpu.warp_specialize
  role "a" warps(4) registers(240) {
  }
  role "b" warps(4) {
  }
  return
}

// -----

func.func @registers_of_a_warp() {
  // expected-error @+1 {{(warp_specialize_c3) requires whole warpgroups for registers, but got warps 4 to 4 for 'b'}}
  mla_gpu.warp_specialize
  role "a" warps(4) registers(240) {
  }
  role "b" warps(1) registers(24) {
  }
  return
}

// -----

func.func @registers_multiple() {
  // expected-error @+1 {{(warp_specialize_c3) requires a multiple of 8 from 24 to 256, but got 100 for 'a'}}
  mla_gpu.warp_specialize
  role "a" warps(4) registers(100) {
  }
  return
}

// -----

func.func @registers_range() {
  // expected-error @+1 {{(warp_specialize_c3) requires a multiple of 8 from 24 to 256, but got 264 for 'a'}}
  mla_gpu.warp_specialize
  role "a" warps(4) registers(264) {
  }
  return
}

// -----

func.func @register_pool() {
  // expected-error @+1 {{(warp_specialize_c4) requires at most 64512 registers (168 for each of 384 threads), but got 66560}}
  mla_gpu.warp_specialize
  role "softmax" warps(4) registers(184) {
  }
  role "left", "right" warps(4) registers(168) {
  }
  return
}

// -----

func.func @mma_warps(%t: !mla_gpu.tile<64x64xbf16, swizzle = 128>) {
  mla_gpu.warp_specialize
  role "load" warps(1) {
  }
  role "math" warps(4) {
    // expected-error @+1 {{(warp_specialize_c5) requires a role of whole warpgroups, but got warps 1 to 4 for 'math'}}
    %0 = mla_gpu.mma %t, %t : !mla_gpu.tile<64x64xbf16, swizzle = 128>, !mla_gpu.tile<64x64xbf16, swizzle = 128>
      -> tensor<64x64xf32, #mla_gpu.mma<m = rows, instr = [64, 64, 16]>>
  }
  return
}

// -----

func.func @nested() {
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(warp_specialize_c6) requires to be in no other role}}
    mla_gpu.warp_specialize
    role "b" warps(4) {
    }
  }
  return
}

// -----

func.func @role_arguments(%n: index) {
  // expected-error @+1 {{(warp_specialize_c7) requires 1 arguments for the regions, but got 0}}
  "mla_gpu.warp_specialize"() <{names = ["a"], warps = array<i64: 4>, registers = array<i64>, sharing = array<i64: 1>}> ({
  ^bb0(%x: index):
    mla_gpu.yield
  }) : () -> ()
  return
}

// -----

func.func @role_argument_types(%n: i32) {
  // expected-error @+1 {{(warp_specialize_c7) requires arguments of the types that the region of 'a' takes}}
  "mla_gpu.warp_specialize"(%n) <{names = ["a"], warps = array<i64: 4>, registers = array<i64>, sharing = array<i64: 1>}> ({
  ^bb0(%x: index):
    mla_gpu.yield
  }) : (i32) -> ()
  return
}

// -----

func.func @yield(%n: index) {
  mla_gpu.warp_specialize
  role "a" warps(4) {
    // expected-error @+1 {{(yield_c1) requires to yield nothing from a role, but got 1}}
    mla_gpu.yield %n : index
  }
  return
}
