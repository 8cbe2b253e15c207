//===- ModuleText.h ------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The text of what is compiled, at any level.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_MODULETEXT_H
#define MLA_JIT_SRC_MODULETEXT_H

#include "mla/Target/Contained.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

#include <memory>
#include <optional>
#include <string>

namespace mla_jit {

/// With short names of long types, and the names that values were given. The
/// module has to be right.
std::string textOf(mlir::ModuleOp module);
std::string textOf(const llvm::Module &module);

/// The text of a module as it is when this is made, printed on a thread of its
/// own: that of what one thread does takes as long as LLVM's passes over it.
class TextBeside {
public:
  explicit TextBeside(mlir::ModuleOp module) : copy(module.clone()) {}
  TextBeside(const TextBeside &) = delete;
  ~TextBeside() { llvm::consumeError(wait().takeError()); }

  /// Starts to print; that thread then calls `printed`. Nobody else is to use
  /// the module's context until wait().
  llvm::Error start(llvm::unique_function<void(const std::string &)> printed);
  /// Waits for the text, and takes it; empty if none was started.
  llvm::Expected<std::string> wait();

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  std::optional<mlir::mla::ContainedCall> call;
  std::shared_ptr<std::string> text = std::make_shared<std::string>();
};

} // namespace mla_jit

#endif // MLA_JIT_SRC_MODULETEXT_H
