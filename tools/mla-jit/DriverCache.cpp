//===- DriverCache.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverCache.h"

#include <cstdlib>

namespace mla_jit {

void disableDriverCache() { setenv("CUDA_CACHE_DISABLE", "1", 1); }

void useDriverCache(const char *directory) {
  setenv("CUDA_CACHE_DISABLE", "0", 1);
  setenv("CUDA_CACHE_PATH", directory, 1);
}

} // namespace mla_jit
