//===- FakeCudaOld.cpp - A driver from before CUDA 12 ---------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Says that it is new, but has no cuGetProcAddress_v2.
//
//===----------------------------------------------------------------------===//

extern "C" [[gnu::visibility("default")]] int cuDriverGetVersion(int *version) {
  *version = 12000;
  return 0;
}
