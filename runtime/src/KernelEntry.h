//===- KernelEntry.h --------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A compiled kernel as an entry of the cache: the text of each stage, the code,
// and all that a launch needs to know of it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_KERNELENTRY_H
#define MLA_JIT_SRC_KERNELENTRY_H

#include "Compiler.h"
#include "cache/Entry.h"

namespace mla_jit {

/// The code is object code; or PTX, and the cubin if there is one. The text of
/// each stage on the way is compressed.
cache::Result<cache::Entry> makeEntry(const CompileResult &compiled,
                                      const cache::CacheKey &key,
                                      std::string_view buildId);

/// The inverse; without the stages, which stay in the entry.
llvm::Expected<CompileResult> readEntry(const cache::Entry &entry);

/// Stages whose text or code the entry has.
std::vector<std::string_view> stagesOf(const cache::Entry &entry);
/// That of one of them.
llvm::Expected<std::string> readStage(const cache::Entry &entry,
                                      std::string_view stage);

} // namespace mla_jit

#endif // MLA_JIT_SRC_KERNELENTRY_H
