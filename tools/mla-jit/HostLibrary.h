//===- HostLibrary.h ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// libmla_jit.so as host applications load it. Its build is part of the key of
// every kernel, so what they are to find has to be made by that library.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_HOSTLIBRARY_H
#define MLA_JIT_TOOLS_HOSTLIBRARY_H

#include "mla_jit/mla_jit.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mla_jit {

#define MLA_HOST_FUNCTIONS(X)                                                  \
  X(mla_archive_build)                                                         \
  X(mla_engine_counters)                                                       \
  X(mla_engine_create)                                                         \
  X(mla_engine_destroy)                                                        \
  X(mla_kernel_release)                                                        \
  X(mla_prepare_many)                                                          \
  X(mla_spec_from_text)

struct HostLibrary {
  /// The one at `path`; empty: beside this program (as installed, or as built),
  /// else where the loader finds it. Stays loaded.
  static llvm::Expected<HostLibrary> load(llvm::StringRef path);

#define MLA_HOST_POINTER(name) decltype(&::name) name = nullptr;
  MLA_HOST_FUNCTIONS(MLA_HOST_POINTER)
#undef MLA_HOST_POINTER
  std::string buildId;
};

/// An engine of that library.
class HostEngine {
public:
  static llvm::Expected<HostEngine> create(const HostLibrary &library,
                                           const mla_engine_options &options);

  /// The specs of a list: texts as mla_spec_to_text has them, with an empty
  /// line between; '#' begins a comment. `name` is for messages. They live with
  /// the engine.
  llvm::Expected<std::vector<mla_spec>> readSpecs(llvm::StringRef text,
                                                  llvm::StringRef name) const;
  /// Makes all of them and lets go of them.
  llvm::Error prepare(const std::vector<mla_spec> &specs) const;
  llvm::Error buildArchive(const std::vector<mla_spec> &specs,
                           const std::string &path) const;
  mla_counters counters() const;

private:
  using Handle = std::unique_ptr<mla_engine, decltype(&::mla_engine_destroy)>;
  HostEngine(const HostLibrary &library, Handle handle)
      : library(library), handle(std::move(handle)) {}

  HostLibrary library;
  Handle handle;
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_HOSTLIBRARY_H
