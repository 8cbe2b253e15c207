//===- RuntimeCheck.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Checks of the runtime on a GPU, through the C interface: what one is, and
// where they are.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_RUNTIMECHECK_H
#define MLA_JIT_TOOLS_RUNTIMECHECK_H

#include "mla_jit/mla_jit.hpp"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <mutex>

namespace mla_jit {

class RuntimeHost;

/// A check under way. It keeps the first thing that went wrong; the steps of
/// RuntimeHost.h do nothing from then on. Any thread may report.
class Check {
public:
  bool ok() const;
  void fail(const llvm::Twine &what);
  /// This machine cannot say: no failure.
  void skip(const llvm::Twine &why);
  /// What the report says of a check that is right.
  void note(const llvm::Twine &what);

  bool require(bool holds, const llvm::Twine &what);
  bool require(llvm::Error error);
  bool require(const mla::Status &status, const llvm::Twine &what);
  /// The call was refused, with that code.
  bool requireCode(const mla::Status &status, mla_code code,
                   const llvm::Twine &what);
  /// The value, or (after a failure) one made by default.
  template <typename T> T get(llvm::Expected<T> value) {
    if (!require(value.takeError()))
      return T();
    return std::move(*value);
  }
  template <typename T> T get(mla::Result<T> value, const llvm::Twine &what) {
    if (value)
      return std::move(*value);
    require(value.status(), what);
    return T();
  }

  enum class Outcome { Right, Wrong, Skipped };
  Outcome outcome() const { return result; }
  const std::string &text() const { return message; }

private:
  mutable std::mutex mutex;
  Outcome result = Outcome::Right;
  std::string message;
};

struct RuntimeCase {
  const char *name;
  const char *what; ///< is right
  void (*run)(Check &check, RuntimeHost &host);
};

llvm::ArrayRef<RuntimeCase> runtimeGraphCases();
llvm::ArrayRef<RuntimeCase> runtimeStreamCases();
llvm::ArrayRef<RuntimeCase> runtimeWorkspaceCases();
llvm::ArrayRef<RuntimeCase> runtimeMemoryCases();
llvm::ArrayRef<RuntimeCase> runtimeContextCases();
llvm::ArrayRef<RuntimeCase> runtimeProcessCases();

/// What a process of its own does for one of runtimeProcessCases().
llvm::Error runRuntimeChild(llvm::StringRef name, int device);

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_RUNTIMECHECK_H
