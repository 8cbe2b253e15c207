//===- DriverCache.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The driver's own cache of what it assembled, for measurements. To be called
// before the first engine asks the driver for a device: it reads the
// environment once.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_DRIVERCACHE_H
#define MLA_JIT_TOOLS_DRIVERCACHE_H

namespace mla_jit {

/// Nothing is taken out of it, or kept.
void disableDriverCache();
/// It is in that directory, whatever the user's settings are.
void useDriverCache(const char *directory);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_DRIVERCACHE_H
