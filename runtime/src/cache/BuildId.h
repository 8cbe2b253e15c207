//===- BuildId.h - Which build of a library this is -------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CACHE_BUILDID_H
#define MLA_JIT_SRC_CACHE_BUILDID_H

#include "Result.h"

namespace mla_jit::cache {

/// The build-id note of the executable or shared library that `address` is in,
/// as hexadecimal digits: the linker's hash of its content. The same bytes have
/// the same one wherever and whenever they were installed.
Result<std::string> buildIdOf(const void *address);

} // namespace mla_jit::cache

#endif // MLA_JIT_SRC_CACHE_BUILDID_H
