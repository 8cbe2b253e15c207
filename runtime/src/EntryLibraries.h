//===- EntryLibraries.h --------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// PTX of a kernel's entries, loaded onto a device: a library for each module,
// assembled side by side.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ENTRYLIBRARIES_H
#define MLA_JIT_SRC_ENTRYLIBRARIES_H

#include "Kernel.h"
#include "cuda/Library.h"

namespace mla_jit {

/// The modules of a text of PTX modules that follow each other.
llvm::SmallVector<llvm::StringRef> splitPTX(llvm::StringRef text);

/// Functions in the order of KernelInfo::entries, and what the assembler said
/// of all modules.
struct LoadedEntries {
  std::vector<std::shared_ptr<const cuda::Function>> functions;
  std::string assemblerLog;
};

/// Assembles and loads the modules of `ptx` on at most `threads` threads, and
/// checks that the entries take what launches will pass. Errors name the stage.
llvm::Expected<LoadedEntries>
loadEntries(const std::shared_ptr<const cuda::Context> &context,
            llvm::StringRef ptx, const KernelInfo &info, unsigned threads);

/// The same of one module that is assembled.
llvm::Expected<LoadedEntries>
loadCubin(const std::shared_ptr<const cuda::Context> &context,
          const std::string &cubin, const KernelInfo &info);

} // namespace mla_jit

#endif // MLA_JIT_SRC_ENTRYLIBRARIES_H
