// What nobody commits is waited for.
func.func @f() {
  %c0 = arith.constant 0 : index
  %s = mla_gpu.alloc : !mla_gpu.smem<1x64x64xbf16>
  %0 = mla_gpu.pipeline %s[0:64] writer(threads) from("a") to("b") : !mla_gpu.smem<1x64x64xbf16>
  mla_gpu.warp_specialize
  role "a" warps(4) {
  }
  role "b" warps(4) {
    %t = mla_gpu.wait %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
    mla_gpu.release %0[%c0] : !mla_gpu.pipeline<1, !mla_gpu.tile<64x64xbf16>>
  }
  return
}
