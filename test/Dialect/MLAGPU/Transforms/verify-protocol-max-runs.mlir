// The number of runs is bounded by an option.
//
// RUN: mla-opt %s --pass-pipeline="builtin.module(func.func(mla-gpu-verify-protocol{max-runs=5}))" --verify-diagnostics

// expected-error @+1 {{(protocol_c1) requires more than 5 runs: raise max-runs}}
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = mla_gpu.pipeline slots(2) writer(threads) from("a") to("b")
  mla_gpu.warp_specialize
  role "a" warps(4) {
    scf.for %i = %c0 to %n step %c1 {
      mla_gpu.acquire %x[%i] : !mla_gpu.pipeline<2>
      mla_gpu.commit %x[%i] : !mla_gpu.pipeline<2>
    }
  }
  role "b" warps(4) {
    scf.for %i = %c0 to %n step %c1 {
      mla_gpu.wait %x[%i] : !mla_gpu.pipeline<2>
      mla_gpu.release %x[%i] : !mla_gpu.pipeline<2>
    }
  }
  return
}
