//===- PublicEngine.h -----------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What flags say, as the C interface takes it.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PUBLICENGINE_H
#define MLA_JIT_TOOLS_PUBLICENGINE_H

#include "mla_jit/Engine.h"
#include "mla_jit/mla_jit.hpp"
#include "llvm/Support/Error.h"

#include <mutex>

namespace mla_jit {

/// A spec with the text that it points to.
class PublicSpec {
public:
  explicit PublicSpec(const Spec &spec);
  PublicSpec(const PublicSpec &) = delete;
  const mla_spec &get() const { return spec; }

private:
  mla_spec spec;
  std::string scoreMod, schedule;
};

/// An engine of the C interface, and the whole text of what it failed with: a
/// status has room for a part.
class PublicEngine {
public:
  static llvm::Expected<std::unique_ptr<PublicEngine>>
  create(const EngineOptions &options);

  mla::Engine &operator*() { return *engine; }
  mla::Engine *operator->() { return &*engine; }

  template <typename T> llvm::Expected<T> toExpected(mla::Result<T> result) {
    if (result)
      return std::move(*result);
    return toError(result.status());
  }

private:
  PublicEngine() = default;
  static void keep(void *self, const mla_log *event);
  llvm::Error toError(const mla::Status &status);

  std::mutex mutex;
  std::string lastFailure;
  std::optional<mla::Engine> engine; // goes first: it calls keep()
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PUBLICENGINE_H
