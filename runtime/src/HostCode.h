//===- HostCode.h -----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_HOSTCODE_H
#define MLA_JIT_SRC_HOSTCODE_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace mla_jit {

/// Object code that was linked into this process.
class HostCode {
public:
  /// Needs no more of LLVM than its linker: no target has to be set up.
  static llvm::Expected<HostCode> link(llvm::StringRef object,
                                       const std::vector<std::string> &symbols);
  HostCode(HostCode &&);
  HostCode &operator=(HostCode &&);
  ~HostCode();

  /// The address of each symbol that was asked for.
  const std::vector<void *> &addresses() const;

private:
  struct State;
  explicit HostCode(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_HOSTCODE_H
